// Made by “make types” from src/varfocus/app/wire.py. Do not edit.

export type Value = number | string | boolean | null;

export type Kind = "number" | "whole" | "choice" | "switch" | "text";

export type Place = [number, number, number, number];

export type Point = [number, number];

export type Outline = [boolean, [number, number][]];

export type StrokeTool = "paint" | "set-depth" | "fill-depth" | "smooth-depth" | "erase-depth";

export type ShapeKind = "line" | "step" | "region" | "point";

export type LevelBy = "none" | "points" | "polynomial";

/** A parameter of a method. */
export interface Parameter {
  name: string;
  type: "number" | "whole" | "choice" | "switch" | "text";
  choices: string[] | null;
  default: number | string | boolean | null;
  about: string;
  /** Heading; empty for parameters of the method itself. */
  group: string;
}

/** A method with its parameters. */
export interface Method {
  name: string;
  about: string;
  /** The parameter that deserves a slider. */
  knob: string;
  parameters: Parameter[];
}

/** A frame of the stack, in order of focus. */
export interface FrameInfo {
  id: number;
  name: string;
  included: boolean;
  focus: number | null;
  /** Why it is left out whatever the user says; empty if it is not. */
  problem: string;
}

/** A map of a result. */
export interface MapInfo {
  unit: string;
  /** Values that the first and last colour stand for. */
  range: [number, number];
}

/** A change by hand, in pixels of the frames. */
export interface Stroke {
  tool: "paint" | "set-depth" | "fill-depth" | "smooth-depth" | "erase-depth";
  /** Along the brush, or the corners of an outline. */
  points: [number, number][];
  /** Of the brush; an outline has none. */
  radius?: number;
  /** Pixels inside of the edge over which it fades in. */
  feather?: number;
  /** Of "paint" the number of a frame; of "set-depth" the depth in frames. */
  frame?: number;
  /** Paint from this version. */
  result?: number;
  /** Paint from this slab. */
  slab?: number;
  /** Of the smoothing. */
  sigma?: number;
}

/** Neighbouring frames, fused. */
export interface Slab {
  file: string;
  first: string;
  last: string;
  /** Another number for other slabs. */
  made: number;
}

/** What the sketch of a result said, to be compared with it. */
export interface Sketched {
  sure: number;
  range: [number, number];
}

/** A result, at preview size or in full. */
export interface ResultInfo {
  version: number;
  preview: boolean;
  /** Written, so that it can be measured and downloaded. */
  saved: boolean;
  /** Made earlier, and opened. */
  opened: boolean;
  /** What was written. */
  files: string[];
  width: number;
  height: number;
  /** Left, top, width and height that the maps cover, in pixels of the frames. */
  place: [number, number, number, number];
  unit: string;
  method: string;
  parameters: Record<string, number | string | boolean | null>;
  maps: Record<string, MapInfo>;
  warnings: string[];
  seconds: number | null;
  /** Share of pixels with a confidence of at least 0.9. */
  sure: number;
  /** Grows with every change of the strokes. */
  revision: number;
  strokes: Stroke[];
  slabs: Slab[];
  /** Share of pixels with a confidence below 0.5, which are not measured. */
  unsure: number;
  /** Share of pixels without a depth. */
  unknown: number;
  command?: string;
  /** What the user calls it; empty if nothing. */
  name: string;
  /** Never forgotten. */
  pinned: boolean;
  /** When, in seconds since 1970. */
  made: number;
  /** Numbers of the frames it was made of, in order; empty if nobody knows. */
  frames: number[];
  sketched: Sketched | null;
  /** Which depths are near: seen, or by convention. */
  near: "small" | "large";
  near_seen: boolean;
  /** How far each frame was moved, and the standard error of that, in pixels. */
  motion: ([number | null, number | null])[] | null;
}

/** What is being done. */
export interface Busy {
  version: number;
  stage: string;
  done: number;
  total: number;
}

/** Which pixels count. */
export interface Mask {
  /** Whether the inside counts, and the corners. */
  outlines: [boolean, [number, number][]][];
  /** Drawn over one that came with a result. */
  base: boolean;
}

/** A file that can be downloaded. */
export interface Product {
  name: string;
  about: string;
  /** Made on request, of any result. */
  made: boolean;
}

/** Size of a pixel in the scene. */
export interface PixelSize {
  x: number;
  y: number;
  unit: string;
}

/** What is subtracted before measuring. */
export interface Level {
  by: "none" | "points" | "polynomial";
  degree: number;
  points: [number, number][];
}

/** Something to measure. */
export interface Shape {
  kind: "line" | "step" | "region" | "point";
  points: [number, number][];
  name: string;
  width: number;
}

/** All that is measured. */
export interface Measurements {
  varfocus_measurements: number;
  level: Level;
  shapes: Shape[];
}

/** How far a stack of the queue is. */
export interface QueueBusy {
  stage: string;
  done: number;
  total: number;
  /** In full size; else its sketch is being made. */
  full: boolean;
}

/** A stack that waits for its turn, or had it. */
export interface QueueEntry {
  /** Of the session that has its frames and results. */
  name: string;
  title: string;
  /** That it is reconstructed by. */
  method: string;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  /** Why it failed; else empty. */
  message: string;
  busy: QueueBusy | null;
}

/** Everything that the page needs to show the current state. */
export interface State {
  varfocus: string;
  /** Side of a tile in pixels. */
  tile: number;
  methods: Method[];
  formats: string;
  palettes: string[];
  products: Product[];
  /** Name of the folder where the work is kept. */
  session: string;
  /** Session whose frames were replaced, and which can still be had back; or empty. */
  replaced: string;
  /** What the page remembered when it was last open. */
  choices: Record<string, unknown> | null;
  /** Which depths are near, if the user has said. */
  near: "small" | "large" | null;
  source: string;
  /** What files are named after. */
  title: string;
  frames: FrameInfo[];
  width: number;
  height: number;
  dtype: string;
  unit: string;
  pixel: PixelSize | null;
  /** Width and height of frames at preview size. */
  preview: [number, number] | null;
  mask: Mask | null;
  results: ResultInfo[];
  measurements: Measurements | null;
  busy: Busy | null;
  queue: QueueEntry[];
}

/** Work that was kept. */
export interface SessionInfo {
  name: string;
  title: string;
  frames: number;
  results: number;
  /** When last, in seconds since 1970. */
  changed: number;
}

/** Depth of one result minus that of another. */
export interface DifferenceInfo {
  /** Name of the map; another one for other strokes on either. */
  map: string;
  unit: string;
  range: [number, number];
  /** Share of pixels where both are equal. */
  same: number;
  /** Pixels where both have a depth. */
  known: number;
}

/** What the depth of one pixel rests on. */
export interface Curve {
  focus: number[];
  contrast: number[];
  model_focus: number[];
  model: number[];
  depth: number | null;
  uncertainty: number | null;
  confidence: number;
  unit: string;
  note: string;
}

/** Height along a line. */
export interface Profile {
  distance: number[];
  height: (number | null)[];
  /** Column of each sample in the map; the middle of the first pixel is 0. */
  x: number[];
  /** Row of each sample. */
  y: number[];
  distance_unit: string;
  unit: string;
}

/** What came out of a measurement, in words. */
export interface Measured {
  name: string;
  kind: "line" | "step" | "region" | "point";
  rows: [string, string][];
  /** Why there is nothing; else empty. */
  problem: string;
  profile: Profile | null;
}

/** What came out of all measurements. */
export interface Table {
  measured: Measured[];
  /** What was subtracted, in words. */
  level: string;
}

/** Something changed: ask for the state. */
export interface StateEvent {
  kind: "state";
}

/** Nothing is being done any more. */
export interface IdleEvent {
  kind: "idle";
}

/** A reconstruction has begun. */
export interface BusyEvent {
  kind: "busy";
  version: number;
  stage: string;
  done: number;
  total: number;
}

/** How far a job is. */
export interface ProgressEvent {
  kind: "progress";
  id: number;
  stage: string;
  done: number;
  total: number;
}

/** A result is here; with a sketch come its maps, named in this order. */
export interface ResultEvent {
  kind: "result";
  result: ResultInfo;
  busy: Busy | null;
  sketch?: string[];
}

/** The files of a result are written. */
export interface SavedEvent {
  kind: "saved";
  version: number;
  files: string[];
}

/** The queue has changed. */
export interface QueueEvent {
  kind: "queue";
  queue: QueueEntry[];
}

/** Something could not be done. */
export interface FailedEvent {
  kind: "failed";
  /** The result that will not come, if it was one. */
  version?: number;
  message: string;
}

export type Event = StateEvent | IdleEvent | BusyEvent | ProgressEvent | ResultEvent | SavedEvent | QueueEvent | FailedEvent;
