// The server, as the page sees it: typed requests, and one socket for what happens.

export interface Parameter {
  name: string;
  type: "number" | "whole" | "choice" | "switch" | "text";
  choices: string[] | null;
  default: number | string | boolean | null;
  about: string;
  /** Heading; empty for parameters of the method itself. */
  group: string;
}

export interface Method {
  name: string;
  about: string;
  knob: string;
  parameters: Parameter[];
}

export interface FrameInfo {
  id: number;
  name: string;
  included: boolean;
  focus: number | null;
}

export interface MapInfo {
  unit: string;
  range: [number, number];
}

export type Values = Record<string, number | string | boolean | null>;

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
  parameters: Values;
  maps: Record<string, MapInfo>;
  warnings: string[];
  seconds: number | null;
  sure: number;
  command?: string;
}

export interface Busy {
  version: number;
  stage: string;
  done: number;
  total: number;
}

/** Whether the inside counts, and the corners. */
export type Outline = [boolean, [number, number][]];

export interface Mask {
  outlines: Outline[];
  /** Drawn over one that came with a result. */
  base: boolean;
}

export interface State {
  varfocus: string;
  tile: number;
  methods: Method[];
  formats: string;
  palettes: string[];
  products: Product[];
  source: string;
  frames: FrameInfo[];
  width: number;
  height: number;
  dtype: string;
  unit: string;
  pixel: { x: number; y: number; unit: string } | null;
  preview: [number, number] | null;
  mask: Mask | null;
  results: ResultInfo[];
  busy: Busy | null;
}

export interface Product {
  name: string;
  about: string;
  /** Made on request, of any result. */
  made: boolean;
}

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

export type Event =
  | { kind: "state" }
  | { kind: "idle" }
  | ({ kind: "busy" } & Busy)
  | { kind: "progress"; id: number; stage: string; done: number; total: number }
  | { kind: "result"; result: ResultInfo; busy: Busy | null; maps?: Map<string, ArrayBuffer> }
  | { kind: "saved"; version: number; files: string[] }
  | { kind: "failed"; version?: number; message: string };

export class Refusal extends Error {}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  // Overtaken by a newer request of our own, which brings the answer: as if it had been aborted.
  if (response.status === 409) throw new DOMException("overtaken", "AbortError");
  let message = `${response.status} ${response.statusText}`;
  try {
    message = ((await response.json()) as { message: string }).message;
  } catch {
    // Not one of our own answers: the status has to do.
  }
  throw new Refusal(message);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await checked(await fetch(path, signal ? { signal } : {}));
  return (await response.json()) as T;
}

export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const response = await checked(
    await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    }),
  );
  return (await response.json()) as T;
}

export async function bytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await checked(await fetch(path, signal ? { signal } : {}))).arrayBuffer();
}

/** Send one file as it is; reports how far it got. */
export function upload(file: File, progress: (share: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `/api/upload?name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 0);
    request.onerror = () => reject(new Refusal(`${file.name} could not be sent`));
    request.onload = () => {
      if (request.status < 300) return resolve();
      let message = `${file.name}: ${request.status}`;
      try {
        message = (JSON.parse(request.responseText) as { message: string }).message;
      } catch {
        // Not one of our own answers.
      }
      reject(new Refusal(message));
    };
    request.send(file);
  });
}

/** A sketch with its maps: length of the text, the text, and the maps one after the other. */
function unpacked(message: ArrayBuffer): Event {
  const length = new DataView(message).getUint32(0, true);
  const event = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, length))) as Event & { kind: "result"; sketch: string[] };
  const size = event.result.width * event.result.height * 4;
  event.maps = new Map(event.sketch.map((name, k) => [name, message.slice(4 + length + k * size, 4 + length + (k + 1) * size)]));
  return event;
}

/** Listen to the server for ever; connects again when the connection is lost. */
export function listen(hear: (event: Event) => void, connected: (yes: boolean) => void): void {
  const socket = new WebSocket(`ws://${location.host}/api/events`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => connected(true);
  socket.onmessage = (message) =>
    hear(typeof message.data === "string" ? (JSON.parse(message.data) as Event) : unpacked(message.data as ArrayBuffer));
  socket.onclose = () => {
    connected(false);
    setTimeout(() => listen(hear, connected), 1000);
  };
}
