// What the page knows, in one place: a model, pure steps from one to the next, and who is told.

import type { Event } from "./api";
import type { Busy, DifferenceInfo, Level, Mask, ResultInfo, Shape, State, Stroke, StrokeTool } from "./wire";
import type { View as ImageView } from "./viewer/layout";

export const MAPS = ["fused", "depth", "confidence", "uncertainty", "index", "slab", "frame", "difference"] as const;
export type MapName = (typeof MAPS)[number];

export const VIEWS = ["1", "2", "3", "4", "wipe", "3d"] as const;
export type ViewName = (typeof VIEWS)[number];

export const TOOLS = ["probe", "line", "step", "region", "point", "crop", "mask", "retouch"] as const;
export type Tool = (typeof TOOLS)[number];

export type Rectangle = [x: number, y: number, width: number, height: number];

export interface PaneChoice {
  map: MapName;
  /** Version of the result; 0 follows the current one. */
  result: number;
}

/** What is painted from: the chosen frame, another result, or a slab of this one. */
export type PaintSource = { from: "frame" } | { from: "result"; version: number } | { from: "slab"; slab: number };

export interface Brush {
  tool: StrokeTool;
  outline: boolean;
  /** In pixels of the frames. */
  radius: number;
  /** Share of the radius that fades. */
  softness: number;
  /** Of the smoothing, in pixels. */
  sigma: number;
  source: PaintSource;
}

/** What the user chose; survives a reload of the page. */
export interface Choices {
  view: ViewName;
  panes: PaneChoice[];
  tool: Tool;
  /** How the maps were shown before retouching arranged them. */
  before: { view: ViewName; panes: PaneChoice[] } | null;
  /** Version of the result that everything speaks of; 0 is the newest. */
  current: number;
  /** Version of the result that the current one is compared with; 0 for none. */
  compared: number;
  /** Whether the panels at the sides are open; null as the window's width suggests. */
  left: boolean | null;
  right: boolean | null;
  /** Hatch depths that are unsure. */
  hatched: boolean;
  palettes: Record<string, string>;
  ranges: Record<string, [number, number]>;
  pixel: [number, number] | null;
  place: ImageView | null;
  controls: unknown;
  crop: Rectangle | null;
  /** What is measured. */
  shapes: Shape[];
  level: Level;
  brush: Brush;
  /** The session they were made in. */
  session: string;
  /** The opened result whose parameters were taken over. */
  adopted: number;
}

export const FIRST_CHOICES: Choices = {
  view: "2",
  panes: [
    { map: "fused", result: 0 },
    { map: "depth", result: 0 },
    { map: "confidence", result: 0 },
    { map: "frame", result: 0 },
  ],
  tool: "probe",
  before: null,
  current: 0,
  compared: 0,
  left: null,
  right: null,
  hatched: true,
  palettes: { confidence: "gray", difference: "RdBu_r" },
  ranges: {},
  pixel: null,
  place: null,
  controls: null,
  crop: null,
  shapes: [],
  level: { by: "none", degree: 1, points: [] },
  brush: { tool: "paint", outline: false, radius: 20, softness: 0.5, sigma: 4, source: { from: "frame" } },
  session: "",
  adopted: 0,
};

/** The maps of the newest sketch, which came with the news of it. */
export interface Sketch {
  version: number;
  maps: Map<string, ArrayBuffer>;
}

/** The version of work that is done here: files are sent. */
export const SENDING = -1;

export interface Model {
  server: State;
  sketch: Sketch | null;
  /** Depth of one result minus another, by both versions and revisions. */
  differences: Record<string, DifferenceInfo>;
  /** What else goes on: files are sent, or frames are read. */
  aside: Busy | null;
  online: boolean;
  choices: Choices;
}

export type Action =
  | { do: "load"; state: State }
  | { do: "hear"; event: Event }
  | { do: "online"; yes: boolean }
  | { do: "aside"; busy: Busy | null }
  | { do: "mask"; mask: Mask | null }
  | { do: "strokes"; version: number; strokes: Stroke[] }
  | { do: "near"; near: "small" | "large" }
  | { do: "difference"; key: string; info: DifferenceInfo }
  | { do: "choose"; choices: Partial<Choices> };

export function reduce(model: Model, action: Action): Model {
  const next = step(model, action);
  // What is painted from may have gone with the result that had it: a pane beside the result is never without a picture.
  return paintable(next) ? next : { ...next, choices: { ...next.choices, brush: FROM_FRAME(next.choices.brush) } };
}

function step(model: Model, action: Action): Model {
  switch (action.do) {
    case "load":
      return { ...model, server: action.state, choices: fitting(model.choices, action.state) };
    case "hear":
      return heard(model, action.event);
    case "online":
      return action.yes
        ? { ...model, online: true }
        : { ...model, online: false, aside: null, server: interrupted(model.server) };
    case "aside":
      return { ...model, aside: action.busy };
    case "mask":
      return { ...model, server: { ...model.server, mask: action.mask } };
    case "strokes": {
      const results = model.server.results.map((r) =>
        r.version === action.version ? { ...r, strokes: action.strokes } : r,
      );
      return { ...model, server: { ...model.server, results } };
    }
    case "near":
      return { ...model, server: { ...model.server, near: action.near } };
    case "difference":
      return { ...model, differences: { ...model.differences, [action.key]: action.info } };
    case "choose":
      return { ...model, choices: { ...model.choices, ...action.choices } };
  }
}

const FROM_FRAME = (brush: Brush): Brush => ({ ...brush, source: { from: "frame" } });

/** Whether the current result has what is painted from. */
function paintable(model: Model): boolean {
  const { source } = model.choices.brush;
  if (source.from === "slab") return source.slab < (current(model)?.slabs.length ?? 0);
  return source.from === "frame" || model.server.results.some((r) => r.version === source.version && !r.preview);
}

/** What of the choices still makes sense; of another session, those that were made there. */
function fitting(choices: Choices, state: State): Choices {
  const known = (version: number): boolean => state.results.some((r) => r.version === version);
  const same = choices.session === state.session;
  const there = same ? choices : { ...choices, ...NOTHING_CHOSEN, ...(state.choices as Partial<Choices> | null) };
  return {
    ...there,
    session: state.session,
    panes: there.panes.map((pane) => (known(pane.result) ? pane : { ...pane, result: 0 })),
    current: known(there.current) ? there.current : 0,
    compared: known(there.compared) ? there.compared : 0,
  };
}

/** What belongs to the frames it was chosen on. */
const NOTHING_CHOSEN: Partial<Choices> = {
  current: 0,
  compared: 0,
  pixel: null,
  place: null,
  crop: null,
  ranges: {},
  shapes: [],
  level: FIRST_CHOICES.level,
  brush: FIRST_CHOICES.brush,
  tool: "probe",
};

/** Nothing is known of what was going on: better no progress than a frozen one. */
function interrupted(server: State): State {
  const queue = server.queue.map((e) => (e.state === "running" ? { ...e, state: "waiting" as const, busy: null } : e));
  return { ...server, busy: null, queue };
}

function heard(model: Model, event: Event): Model {
  const { server } = model;
  switch (event.kind) {
    case "state":
      return model; // the state itself is asked for
    case "busy":
      return { ...model, server: { ...server, busy: event } };
    case "idle":
      return { ...model, aside: null, server: { ...server, busy: null } };
    case "progress": {
      const busy = { ...event, version: event.id };
      if (server.busy) return event.id === server.busy.version ? { ...model, server: { ...server, busy } } : model;
      return { ...model, aside: event.done < event.total ? busy : null };
    }
    case "result": {
      const { result } = event;
      const others = server.results.filter((r) => r.version !== result.version && !r.preview);
      const results = [...others, result].sort((a, b) => a.version - b.version);
      const sketch = event.maps ? { version: result.version, maps: event.maps } : null;
      return { ...model, sketch, aside: null, server: { ...server, results, busy: event.busy } };
    }
    case "saved": {
      const results = server.results.map((r) =>
        r.version === event.version ? { ...r, saved: true, files: event.files } : r,
      );
      const busy = server.busy?.version === event.version ? null : server.busy;
      return { ...model, aside: null, server: { ...server, results, busy } };
    }
    case "queue":
      return { ...model, server: { ...server, queue: event.queue } };
    case "failed":
      return { ...model, aside: null, server: { ...server, busy: null } };
  }
}

// What follows from the model

export function newest(model: Model): ResultInfo | undefined {
  return model.server.results.at(-1);
}

/** The result that readout, curve, measurement, surface, legend and downloads speak of. */
export function current(model: Model): ResultInfo | undefined {
  return model.server.results.find((r) => r.version === model.choices.current) ?? newest(model);
}

/** What the panes show: without a result there are frames only. */
export function shownPanes(model: Model): PaneChoice[] {
  const { view, panes } = model.choices;
  const count = view === "wipe" ? 2 : view === "3d" ? 1 : Number(view);
  return panes.slice(0, newest(model) ? count : 1);
}

export function resultOf(model: Model, choice: PaneChoice): ResultInfo | undefined {
  return model.server.results.find((r) => r.version === choice.result) ?? current(model);
}

/** The result that the current one is compared with. */
export function compared(model: Model): ResultInfo | undefined {
  const { compared: version } = model.choices;
  return version === current(model)?.version ? undefined : model.server.results.find((r) => r.version === version);
}

/** The current result minus the compared one, both as retouched now, and what is known of it. */
export function difference(
  model: Model,
): { key: string; versions: [number, number]; info: DifferenceInfo | undefined } | null {
  const [a, b] = [current(model), compared(model)];
  if (!a || !b || a.preview || b.preview) return null;
  const key = `${a.version}@${a.revision}-${b.version}@${b.revision}`;
  return { key, versions: [a.version, b.version], info: model.differences[key] };
}

/** Which depths of a result are near: what the user says, or what was seen. */
export function near(model: Model, result: ResultInfo): "small" | "large" {
  return model.server.near ?? result.near;
}

/** Whether a result was made of other frames than those that are chosen now, or in another order. */
export function outdated(model: Model, result: ResultInfo | undefined): boolean {
  if (!result?.frames.length || !model.server.frames.length) return false;
  const now = model.server.frames.filter((f) => f.included).map((f) => f.id);
  return now.length !== result.frames.length || now.some((id, k) => id !== result.frames[k]);
}

/** Where a result lies, if it is not all of the frames. */
export function partOf(model: Model, result: ResultInfo | undefined): Rectangle | null {
  const { width, height, frames } = model.server;
  const place = result?.place;
  if (!place || !frames.length) return null;
  const smaller =
    place[2] < width - (2 * place[2]) / result.width || place[3] < height - (2 * place[3]) / result.height;
  return smaller ? place : null;
}

/** What is shown as progress. */
export function busy(model: Model): Busy | null {
  return model.server.busy ?? model.aside;
}

/** The model, and whoever wants to know of a part of it. */
export class Store {
  private watchers: ((model: Model) => void)[] = [];

  constructor(private model: Model) {}

  get(): Model {
    return this.model;
  }

  dispatch(action: Action): void {
    const next = reduce(this.model, action);
    if (next === this.model) return;
    this.model = next;
    // A watcher may change the model in turn: the others hear of what it is now, never of what it was.
    for (const watcher of this.watchers) watcher(this.model);
  }

  choose(choices: Partial<Choices>): void {
    this.dispatch({ do: "choose", choices });
  }

  /** Show something now, and again whenever one of the parts that it depends on is another. */
  watch(parts: (model: Model) => unknown[], show: (model: Model) => void): void {
    let before = parts(this.model);
    this.watchers.push((model) => {
      const now = parts(model);
      if (now.every((part, k) => Object.is(part, before[k]))) return;
      before = now;
      show(model);
    });
    show(this.model);
  }
}
