// The page: holds the state, and updates its parts.

import "./style.css";
import { bytes, get, listen, post, Refusal, upload, type Curve, type Event, type Product, type ResultInfo, type State, type Values } from "./api";
import { Area, type Rectangle } from "./area";
import { Colours } from "./colours";
import { Controls } from "./controls";
import { byId, el, short } from "./dom";
import { Measure, TOOLS } from "./measure";
import { Newest } from "./newest";
import { Pixel } from "./pixel";
import { Strip } from "./strip";
import type { Surface } from "./surface";
import { Viewer, type Source } from "./viewer";

const MAPS: Record<string, string> = {
  fused: "All in focus",
  depth: "Depth",
  confidence: "Confidence",
  uncertainty: "Standard error",
  index: "Frame number",
  frame: "Single frame",
};
const VIEWS = [
  ["1", "One", "One map"],
  ["2", "Two", "Two maps that move together"],
  ["3", "Three", "Three maps that move together"],
  ["4", "Four", "Four maps that move together"],
  ["wipe", "Wipe", "Two maps under a curtain"],
  ["3d", "3-D", "The surface under the all-in-focus image"],
] as const;
const DEPTHS: Record<string, string> = { uint8: "8 bit", uint16: "16 bit", float32: "float" };
type View = (typeof VIEWS)[number][0];

interface PaneChoice {
  map: string;
  /** 0 is the newest. */
  version: number;
}

/** What survives a reload of the page. */
interface Kept {
  view: View;
  panes: PaneChoice[];
  palettes: Record<string, string>;
  ranges: Record<string, [number, number]>;
  pixel: [number, number] | null;
  place: { x: number; y: number; scale: number } | null;
  controls: unknown;
  crop: Rectangle | null;
  /** First frame, which shows whether these are the same frames. */
  frames: number;
  /** The opened result whose parameters were taken over. */
  adopted: number;
}

/** Milliseconds without a new sketch after which the numbers follow. */
const RESTING = 120;

const KEY = `varfocus-${location.port}`;
const kept: Kept = {
  view: "2",
  panes: [{ map: "fused", version: 0 }, { map: "depth", version: 0 }, { map: "confidence", version: 0 }, { map: "frame", version: 0 }],
  palettes: { confidence: "gray" },
  ranges: {},
  pixel: null,
  place: null,
  controls: null,
  crop: null,
  frames: 0,
  adopted: 0,
  ...(JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Kept>),
};

let state: State;
let viewer: Viewer;
let surface: Surface | null = null;
const palettes = new Map<string, Uint8Array>();

const areaPlace = el("div", { id: "area" });
const controls = new Controls(byId("controls"), areaPlace);
const area = new Area(areaPlace);
const strip = new Strip(byId("strip"));
const sections = ["colours", "pixel", "measure", "take"].map((id) => el("section", { id: `${id}-section` }));
const nothing = el("p", { class: "nothing muted small" }, "Colours, contrast curves, measurements and files appear here as soon as there is a result.");
byId("inspector").append(nothing, ...sections);
const colours = new Colours(sections[0]!);
const pixel = new Pixel(sections[1]!);
const measure = new Measure(sections[2]!, () => newest()?.version ?? null);
const take = sections[3]!;

let keeping = 0;

/** Remember what survives a reload, a little later: writing takes longer than drawing. */
function keep(): void {
  if (!keeping) keeping = window.setTimeout(keepNow, 200);
}

function keepNow(): void {
  clearTimeout(keeping);
  keeping = 0;
  kept.controls = controls.save();
  kept.crop = area.box;
  sessionStorage.setItem(KEY, JSON.stringify(kept));
}

addEventListener("pagehide", keepNow);

function newest(): ResultInfo | undefined {
  return state.results.at(-1);
}

// Words for people

function say(text: string, kind: "bad" | "note" = "bad"): void {
  const box = el("div", { class: kind === "note" ? "message note" : "message" }, el("span", { class: "grow" }, text));
  const close = el("button", { type: "button", "aria-label": "Close", onclick: () => box.remove() }, "×");
  box.append(close);
  byId("messages").append(box);
  if (kind === "note") setTimeout(() => box.remove(), 4000);
}

async function attempt(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    say(error instanceof Refusal ? error.message : `The page lost its server: ${String(error)}`);
  }
}

// Panes

function paneChoices(): PaneChoice[] {
  const count = kept.view === "wipe" ? 2 : kept.view === "3d" ? 1 : Number(kept.view);
  return kept.panes.slice(0, newest() ? count : 1); // without a result there are frames only
}

function resultOf(choice: PaneChoice): ResultInfo | undefined {
  return state.results.find((r) => r.version === choice.version) ?? newest();
}

function frameSource(): Source | null {
  const frame = strip.current();
  if (!frame || !state.preview) return null;
  return {
    key: `frame/${frame.id}`,
    kind: "picture",
    width: state.width,
    height: state.height,
    tile: (level, column, row, signal) => bytes(`/api/frames/${frame.id}/${level}/${column}/${row}`, signal),
    range: [0, 1],
    palette: "gray",
  };
}

function sourceOf(choice: PaneChoice): Source | null {
  if (choice.map === "frame" || !newest()) return frameSource();
  const result = resultOf(choice)!;
  const map = result.maps[choice.map];
  if (choice.map !== "fused" && !map) return null;
  const grade = result.preview ? "preview" : "full";
  return {
    key: `${result.version}/${choice.map}/${grade}`,
    kind: choice.map === "fused" ? "picture" : "map",
    width: result.width,
    height: result.height,
    place: result.place,
    tile: (level, column, row, signal) => tileOf(result, choice.map, level, column, row, signal),
    range: kept.ranges[choice.map] ?? map?.range ?? [0, 1],
    palette: kept.palettes[choice.map] ?? "viridis",
  };
}

/** The maps of the newest sketch, which came with the news of it. */
let sketch: { version: number; maps: Map<string, ArrayBuffer> } | null = null;

function tileOf(result: ResultInfo, map: string, level: number, column: number, row: number, signal?: AbortSignal): Promise<ArrayBuffer> {
  const here = result.preview && sketch?.version === result.version ? sketch.maps.get(map) : undefined;
  if (here) return Promise.resolve(here);
  const grade = result.preview ? "preview" : "full";
  return bytes(`/api/results/${result.version}/${map}/${grade}/${level}/${column}/${row}`, signal);
}

/** Where a result lies, if it is not all of the frames. */
function partOf(result: ResultInfo | undefined): ResultInfo["place"] | null {
  const place = result?.place;
  return place && state.frames.length && (place[2] < state.width - 2 * place[2] / result.width || place[3] < state.height - 2 * place[3] / result.height) ? place : null;
}

function showPanes(): void {
  if (!viewer) return;
  const choices = paneChoices();
  const sources = choices.map(sourceOf);
  if (state.width) viewer.setImage(state.width, state.height);
  const drawing = measure.tool === "crop" || measure.tool === "mask";
  const part = drawing ? null : (area.box ?? partOf(newest()));
  viewer.setTarget(part && { x: part[0], y: part[1], width: part[2], height: part[3] });
  const under = area.box || drawing ? frameSource() : null; // what lies around
  if (kept.view === "wipe" && newest()) viewer.setPanes([{ source: sources[0] ?? null, other: sources[1] ?? null, under }]);
  else viewer.setPanes(sources.map((source) => ({ source, under })));
  showHeads();
}

let heads = "";

function showHeads(): void {
  const rects = viewer.rects();
  const offered = state.results.filter((r) => !r.preview).map((r) => [r.version, Object.keys(r.maps)]);
  const signature = JSON.stringify([kept.view, state.width, paneChoices(), rects, offered, Object.keys(newest()?.maps ?? {})]);
  if (signature === heads) return; // a list that is open stays open
  heads = signature;
  document.querySelectorAll(".pane-head").forEach((head) => head.remove());
  if ((kept.view === "3d" && newest()) || !state.width) return;
  paneChoices().forEach((choice, k) => {
    const wipe = kept.view === "wipe" && !!newest();
    const rect = rects[wipe ? 0 : k]!;
    const available = Object.keys(MAPS).filter((m) => m === "frame" || m === "fused" || newest()?.maps[m]);
    const map = el("select", { "aria-label": `Shown in pane ${k + 1}`, class: "pane-map" },
      ...(newest() ? available : ["frame"]).map((m) => el("option", { value: m, selected: m === choice.map }, MAPS[m]!)));
    map.addEventListener("change", () => {
      choice.map = map.value;
      refresh();
    });
    const head = el("div", { class: "pane-head" }, map);
    if (choice.map !== "frame" && state.results.length > 1) {
      const version = el("select", { "aria-label": "Result", class: "pane-result" },
        el("option", { value: 0, selected: choice.version === 0 }, "newest"),
        ...state.results.filter((r) => !r.preview).map((r) => el("option", { value: r.version, selected: r.version === choice.version }, title(r))));
      version.addEventListener("change", () => {
        choice.version = Number(version.value);
        refresh();
      });
      head.append(version);
    }
    byId("panes").append(head);
    const right = wipe && k === 1;
    head.style.top = `${rect.y + 8}px`;
    head.style.left = right ? "auto" : `${rect.x + 8}px`;
    head.style.right = right ? "8px" : "auto";
  });
}

function title(result: ResultInfo): string {
  const knob = state.methods.find((m) => m.name === result.method)?.knob ?? "";
  const value = result.parameters[knob];
  return `${result.method} · ${knob === "alpha" ? "α" : knob} ${typeof value === "number" ? short(value, 3) : String(value)}`;
}

function decorate(context: CanvasRenderingContext2D, rects: { x: number; y: number; width: number; height: number }[]): void {
  rects.forEach((rect) => {
    context.save();
    context.beginPath();
    context.rect(rect.x, rect.y, rect.width, rect.height);
    context.clip();
    area.draw(context, (x, y) => viewer.toScreen(rect, x, y));
    measure.draw(context, (x, y) => viewer.toScreen(rect, x, y));
    for (const [point, radius] of [[kept.pixel, 9], [hover, 5]] as const) {
      if (!point) continue;
      const [x, y] = viewer.toScreen(rect, point[0] + 0.5, point[1] + 0.5);
      for (const [style, width] of [["rgb(0 0 0 / 65%)", 3], ["#fff", 1.25]] as const) {
        context.strokeStyle = style;
        context.lineWidth = width;
        context.beginPath();
        context.moveTo(x - radius, y);
        context.lineTo(x + radius, y);
        context.moveTo(x, y - radius);
        context.lineTo(x, y + radius);
        context.stroke();
      }
    }
    if (kept.view === "wipe" && newest()) {
      const x = rect.x + rect.width * viewer.divider;
      context.fillStyle = "#fff";
      context.fillRect(x - 1, rect.y, 2, rect.height);
      context.beginPath();
      context.arc(x, rect.y + rect.height / 2, 9, 0, 7);
      context.fill();
    }
    context.restore();
  });
}

let hover: [number, number] | null = null;

function read(pane: number, x: number, y: number): void {
  const inside = pane >= 0 && x >= 0 && y >= 0 && x < state.width && y < state.height;
  hover = inside ? [Math.floor(x), Math.floor(y)] : null;
  const words: string[] = [];
  if (hover) {
    words.push(`${hover[0]}, ${hover[1]}`);
    const seen = new Set<string>();
    for (const choice of paneChoices()) {
      const source = sourceOf(choice);
      if (!source || seen.has(source.key)) continue;
      seen.add(source.key);
      const value = viewer.value(source, x, y);
      if (!value) continue;
      const unit = resultOf(choice)?.maps[choice.map]?.unit ?? "";
      words.push(source.kind === "map" ? `${MAPS[choice.map]} ${short(value[0])} ${unit}`.trim() : "");
    }
  }
  byId("readout").textContent = words.filter(Boolean).join("  ·  ");
  viewer.redraw();
}

// Colours: of the first pane that shows a map

function colouredPane(): PaneChoice | undefined {
  return paneChoices().find((c) => c.map !== "fused" && c.map !== "frame") ?? { map: "depth", version: 0 };
}

async function showColours(): Promise<void> {
  const choice = colouredPane();
  const source = choice && newest() ? sourceOf(choice) : null;
  sections[0]!.hidden = !source;
  if (!choice || !source || source.kind !== "map") return;
  const levels = Math.max(Math.ceil(Math.log2(Math.max(source.width, source.height) / state.tile)), 0);
  try {
    const values = new Float32Array(await source.tile(levels, 0, 0, new AbortController().signal));
    const unit = resultOf(choice)?.maps[choice.map]?.unit ?? "";
    colours.setValues(MAPS[choice.map]!, unit, values, source.range, source.palette);
  } catch {
    // A newer result has replaced this one; its own call follows.
  }
}

colours.ranged = (range) => {
  const choice = colouredPane();
  if (!choice) return;
  if (range) kept.ranges[choice.map] = range;
  else delete kept.ranges[choice.map];
  refresh();
};
colours.coloured = (name) => {
  const choice = colouredPane();
  if (choice) kept.palettes[choice.map] = name;
  refresh();
};

// One pixel

let probing: AbortController | null = null;

async function probe(): Promise<void> {
  const result = newest();
  if (!kept.pixel || !result) return;
  probing?.abort();
  probing = new AbortController();
  const { signal } = probing;
  const [x, y] = kept.pixel;
  await attempt(async () => {
    const curve = await get<Curve>(`/api/results/${result.version}/curve?x=${x}&y=${y}`, signal);
    pixel.show(x, y, curve);
  });
}

// Three dimensions

async function showSurface(): Promise<void> {
  const result = newest();
  const relief = kept.view === "3d" && !!result;
  byId("surface").hidden = !relief;
  byId("panes").hidden = relief;
  byId("tools").hidden = relief || !state.width;
  if (kept.view !== "3d" || !result) return;
  const made = surface ?? new (await import("./surface")).Surface(byId("surface"));
  surface = made;
  const top = Math.max(Math.ceil(Math.log2(Math.max(result.width, result.height) / state.tile)), 0);
  await attempt(async () => {
    const depth = new Float32Array(await tileOf(result, "depth", top, 0, 0));
    const columns = Math.ceil(result.width / 2 ** top);
    const range = result.maps["depth"]!.range;
    const common = state.pixel && state.pixel.unit === result.unit;
    made.show({
      depth,
      columns,
      rows: depth.length / columns,
      aspect: result.height / result.width,
      proportion: common ? (range[1] - range[0]) / (state.pixel!.x * result.place[2]) : null,
      range,
      unit: result.unit,
      picture: await composed(result, Math.max(top - 2, 0)),
    });
  });
}

/** A level of the all-in-focus image as one picture. */
async function composed(result: ResultInfo, level: number): Promise<HTMLCanvasElement> {
  const canvas = el("canvas", { width: Math.ceil(result.width / 2 ** level), height: Math.ceil(result.height / 2 ** level) });
  const context = canvas.getContext("2d")!;
  const jobs: Promise<void>[] = [];
  for (let row = 0; row * state.tile < canvas.height; row++) {
    for (let column = 0; column * state.tile < canvas.width; column++) {
      jobs.push(
        tileOf(result, "fused", level, column, row).then((buffer) => {
          const width = Math.min(state.tile, canvas.width - column * state.tile);
          const data = new ImageData(new Uint8ClampedArray(buffer), width, buffer.byteLength / 4 / width);
          context.putImageData(data, column * state.tile, row * state.tile);
        }),
      );
    }
  }
  await Promise.all(jobs);
  return canvas;
}

// Downloads

function showTake(): void {
  const result = newest();
  take.hidden = !result;
  if (!result) return;
  const link = (product: Product): HTMLElement =>
    el("a", { class: "download", href: `/api/results/${result.version}/products/${product.name}`, download: product.name, title: product.about, "data-product": product.name }, product.name);
  const files = state.products.filter((p) => !p.made && result.files.includes(p.name));
  const made = state.products.filter((p) => p.made);
  const command = result.command;
  take.replaceChildren(
    el("h2", {}, "Take away"),
    ...(result.saved
      ? [
          el("div", { class: "downloads" }, ...files.map(link)),
          el("h3", {}, "For other programs"),
          el("div", { class: "downloads" }, ...made.map(link)),
        ]
      : [el("p", { class: "small muted" }, state.busy || result.preview ? "The files are written when the reconstruction in full size has finished." : "Writing the files …")]),
    command ? el("h3", {}, command.includes("\n") ? "The same with two commands" : "The same with one command") : "",
    command ? el("code", { class: "command", id: "command" }, command) : "",
    command
      ? el("button", { type: "button", onclick: () => {
          void navigator.clipboard.writeText(command).then(() => say("The command was copied.", "note"));
        } }, "Copy")
      : result.preview ? "" : el("p", { class: "small muted" }, "No single command names these frames in this order; run.json has every parameter."),
    command && result.parameters["mask"] ? el("p", { class: "small muted" }, "mask.png is the file above.") : "",
  );
}

// All together

function refresh(): void {
  keep();
  showPanes();
  void showColours();
  void showSurface();
  showTake();
}

let resting = 0;

/** Show the numbers once sketches stop coming: drawing them takes time from the next sketch. */
function showRestLater(): void {
  clearTimeout(resting);
  resting = window.setTimeout(() => {
    controls.setResult(newest() ?? null, partOf(newest()));
    refresh();
  }, RESTING);
}

/** Offer what can be done now. */
function showSections(): void {
  for (const section of sections) section.hidden = !newest();
  nothing.hidden = !!newest() || !state.frames.length;
  document.querySelectorAll<HTMLButtonElement>(".tools button").forEach((button) => {
    const tool = button.dataset["tool"];
    button.disabled = tool === "crop" || tool === "mask" ? !state.frames.length : tool !== undefined && tool !== "probe" && !newest();
  });
  document.querySelectorAll<HTMLButtonElement>("#views button").forEach((button) => (button.disabled = !newest()));
}

function showState(): void {
  const named = state.source.split(/[/\\]/).filter(Boolean).slice(-2).join("/");
  byId("source").textContent = state.frames.length
    ? [named, `${state.frames.length} frames`, `${state.width} × ${state.height}`, DEPTHS[state.dtype] ?? state.dtype].filter(Boolean).join(" · ")
    : "";
  byId("source").title = byId("source").textContent;
  byId("welcome").hidden = state.frames.length > 0 || state.results.length > 0 || state.busy !== null;
  byId("strip").hidden = state.frames.length === 0;
  showSections();
  controls.enable(state.frames.filter((f) => f.included).length >= 3);
  controls.setBusy(state.busy);
  if (state.frames[0] && state.frames.every((f) => f.id !== kept.frames)) { // other frames than before
    const first = kept.frames === 0;
    [kept.frames, kept.pixel, kept.place] = [state.frames[0].id, first ? kept.pixel : null, first ? kept.place : null];
    area.setBox(null, false);
    pixel.clear();
    measure.choose("probe");
  }
  area.setFrames(state.width, state.height, state.mask);
  adopt(newest());
  controls.setResult(newest() ?? null, partOf(newest()));
  strip.setFrames(state.frames, state.preview);
  refresh();
}

let showAll = showState;

async function load(): Promise<void> {
  state = await get<State>("/api/state");
  showAll();
}

const requests = new Newest<Values>(
  async ({ body, settled }) => (await post<{ version: number }>("/api/solve", { parameters: body, settled })).version,
  (error) => void attempt(() => Promise.reject(error as Error)),
);

/** Reconstruct with what is chosen now. */
function solve(settled: boolean, parameters: Values = controls.parameters()): void {
  requests.ask(area.box ? { ...parameters, crop: area.box.join(",") } : parameters, settled);
}

controls.changed = (parameters, settled, asked) => {
  keep();
  if (asked || newest()) solve(settled, parameters);
};
area.changed = () => viewer?.redraw();
area.cropped = () => {
  refresh();
  if (newest()) solve(true);
};
area.masked = (mask) => void attempt(async () => {
  await post("/api/mask", mask);
  if (newest()) solve(true);
});
controls.cancelled = () => {
  requests.cancel();
  void attempt(() => post("/api/cancel"));
};
strip.arranged = (order, excluded) => void attempt(() => post("/api/arrange", { order, excluded }));
strip.scrubbed = () => {
  if (newest() && !paneChoices().some((c) => c.map === "frame")) {
    const last = paneChoices().at(-1);
    if (last && kept.view !== "3d") last.map = "frame";
  }
  showPanes();
};
measure.changed = () => {
  area.choose(measure.tool);
  if (viewer) showPanes();
  document.querySelectorAll<HTMLElement>(".tools button").forEach((b) =>
    b.setAttribute("aria-pressed", String(b.dataset["tool"] === measure.tool)));
};

function hear(event: Event): void {
  if (!state) return;
  switch (event.kind) {
    case "state":
      void attempt(load);
      break;
    case "busy":
      state.busy = event;
      controls.setBusy(event);
      break;
    case "idle":
      requests.cancel();
      state.busy = null;
      controls.setBusy(null);
      break;
    case "progress":
      if (state.busy && event.id === state.busy.version) controls.setBusy({ ...event, version: event.id });
      else if (!state.busy) controls.setBusy(event.done < event.total ? { ...event, version: event.id } : null);
      break;
    case "result": {
      if (!requests.result(event.result.version)) break;
      sketch = event.maps ? { version: event.result.version, maps: event.maps } : null;
      state.results = state.results.filter((r) => r.version !== event.result.version && !r.preview);
      state.results.push(event.result);
      state.results.sort((a, b) => a.version - b.version);
      state.busy = event.busy;
      showSections();
      adopt(event.result);
      controls.setBusy(state.busy);
      showPanes(); // first what is waited for
      showRestLater();
      if (!event.result.preview) void probe(); // while a slider moves the worker has better to do
      break;
    }
    case "saved": {
      const saved = state.results.find((r) => r.version === event.version);
      if (saved) [saved.saved, saved.files] = [true, event.files];
      showTake();
      void measure.ask();
      break;
    }
    case "failed":
      if (!requests.failed(event.version)) break;
      state.busy = null;
      controls.setBusy(null);
      say(event.message);
  }
}

// Opening frames

async function send(files: File[]): Promise<void> {
  const images = files.filter((f) => f.size > 0);
  if (!images.length) return;
  await attempt(async () => {
    await post("/api/clear");
    const failures: string[] = [];
    for (const [k, file] of images.entries()) {
      const show = (share: number): void =>
        controls.setBusy({ version: -1, stage: `sending ${file.name}`, done: k + share, total: images.length });
      show(0);
      try {
        await upload(file, show);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        failures.push(error.message);
      }
    }
    controls.setBusy(null);
    for (const message of failures) say(message);
    await post("/api/uploaded");
    await load();
  });
}

function setUpOpening(): void {
  byId("formats").textContent = state.formats;
  const input = byId<HTMLInputElement>("files");
  for (const id of ["open", "choose"]) byId(id).addEventListener("click", () => input.click());
  for (const id of ["example", "try"]) byId(id).addEventListener("click", () => void attempt(() => post("/api/example")));
  input.addEventListener("change", () => void send([...(input.files ?? [])]).then(() => (input.value = "")));
  let depth = 0;
  addEventListener("dragenter", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    depth++;
    byId("drop").hidden = false;
  });
  addEventListener("dragleave", () => {
    depth = Math.max(depth - 1, 0);
    byId("drop").hidden = depth === 0;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    byId("drop").hidden = true;
    if (event.dataTransfer?.files.length) void send([...event.dataTransfer.files]);
  });
}

function setUpViews(): void {
  const group = byId("views");
  const buttons = VIEWS.map(([view, words, about], k) => {
    const button = el("button", { type: "button", role: "radio", "data-view": view, title: about }, words);
    button.addEventListener("click", () => {
      kept.view = view;
      mark();
      refresh();
    });
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = buttons[(k + step + buttons.length) % buttons.length]!;
      next.click();
      next.focus();
    });
    return button;
  });
  const mark = (): void =>
    buttons.forEach((b) => {
      const chosen = b.dataset["view"] === kept.view;
      b.setAttribute("aria-checked", String(chosen));
      b.tabIndex = chosen ? 0 : -1; // one stop of the tab key, as with any choice
    });
  group.append(...buttons);
  mark();
  byId("tools").append(
    el("div", { class: "tools", role: "toolbar", "aria-label": "Tools" },
      ...TOOLS.map(([tool, words, about]) =>
        el("button", { type: "button", "data-tool": tool, title: about, class: tool === "line" || tool === "crop" ? "apart" : "", "aria-pressed": String(tool === measure.tool), onclick: () => measure.choose(tool) }, words)),
      el("button", { type: "button", class: "apart", title: "Show everything (key 0); every pixel with key 1", onclick: () => viewer.fit() }, "Fit")),
  );
}

function setUpTheme(): void {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (theme: string): void => {
    root.dataset["theme"] = theme;
    viewer.unknownColour = theme === "dark" ? [0.16, 0.19, 0.2] : [0.75, 0.77, 0.78];
    viewer.redraw();
    pixel.redraw();
  };
  set(localStorage.getItem("varfocus-theme") ?? (dark.matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    const next = root.dataset["theme"] === "dark" ? "light" : "dark";
    localStorage.setItem("varfocus-theme", next);
    set(next);
  });
}

/** Continue where a result that was opened left off. */
function adopt(result: ResultInfo | undefined): void {
  if (!result?.opened || kept.adopted === result.version) return;
  kept.adopted = result.version;
  controls.adopt(result.parameters);
  const crop = result.parameters["crop"];
  area.setBox(typeof crop === "string" ? (crop.split(",").map(Number) as Rectangle) : null, false);
}

/** Without WebGL2: reconstruct, look at plain pictures, and download files. */
function beginPlain(): void {
  say("This browser offers no WebGL2, which the maps need: only plain pictures are shown. Another browser shows everything.");
  const pictures = el("div", { class: "plain" });
  byId("stage").append(pictures);
  document.documentElement.dataset["theme"] = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  for (const id of ["views", "theme", "strip", "area"]) byId(id).hidden = true;
  setUpOpening();
  controls.setMethods(state.methods);
  controls.changed = (parameters, _, asked) => {
    if (asked) requests.ask(parameters, true);
  };
  showAll = () => {
    const done = state.results.filter((r) => r.saved).at(-1);
    byId("welcome").hidden = state.frames.length > 0 || done !== undefined;
    controls.enable(state.frames.filter((f) => f.included).length >= 3);
    controls.setBusy(state.busy);
    controls.setResult(newest() ?? null);
    for (const part of [nothing, ...sections]) part.hidden = true;
    showTake();
    const shown = (done?.files ?? []).filter((name) => name === "preview.png" || name === "fused.png");
    pictures.replaceChildren(...shown.map((name) =>
      el("img", { src: `/api/results/${done!.version}/products/${name}`, alt: state.products.find((p) => p.name === name)!.about })));
  };
  showAll();
  listen((event) => {
    if (event.kind === "failed" && requests.failed(event.version)) say(event.message);
    if (event.kind === "result") requests.result(event.result.version);
    if (event.kind === "progress") controls.setBusy(event.done < event.total ? { ...event, version: event.id } : null);
    else void attempt(load);
  }, () => undefined);
  document.documentElement.dataset["ready"] = "yes";
}

async function begin(): Promise<void> {
  state = await get<State>("/api/state");
  try {
    viewer = new Viewer(byId("panes"), state.tile);
  } catch {
    return beginPlain();
  }
  const table = new Uint8Array(await bytes("/api/palettes"));
  state.palettes.forEach((name, k) => {
    const rgb = table.subarray(768 * k, 768 * (k + 1));
    palettes.set(name, rgb);
    viewer.setPalette(name, rgb);
  });
  colours.setPalettes(palettes, "viridis");
  viewer.decorate = decorate;
  viewer.hovered = read;
  viewer.pressed = (_, x, y) => {
    if (measure.tool !== "crop" && measure.tool !== "mask") return measure.press(x, y);
    area.press(measure.tool, x, y);
    return true;
  };
  viewer.dragged = (x, y) => {
    area.drag(x, y, viewer.scale());
    measure.drag(x, y);
  };
  viewer.released = (x, y, moved) => {
    area.release();
    if (measure.tool !== "probe") return measure.release(moved);
    if (moved || x < 0 || y < 0 || x >= state.width || y >= state.height) return;
    kept.pixel = [Math.floor(x), Math.floor(y)];
    keep();
    viewer.redraw();
    void probe();
  };
  viewer.nudged = (dx, dy) => {
    if (!newest()) return;
    const [left, top, width, height] = newest()!.place;
    const [x, y] = kept.pixel ?? [left + (width >> 1), top + (height >> 1)];
    kept.pixel = [Math.min(Math.max(x + dx, left), left + width - 1), Math.min(Math.max(y + dy, top), top + height - 1)];
    keep();
    viewer.redraw();
    void probe();
  };
  viewer.viewed = () => {
    kept.place = viewer.getView();
    keep();
  };
  setUpViews();
  setUpTheme();
  setUpOpening();
  controls.setMethods(state.methods);
  controls.restore(kept.controls);
  area.setFrames(state.width, state.height, state.mask);
  area.setBox(kept.crop, false);
  const place = kept.place;
  showState();
  if (place) viewer.setView(place);
  void probe();
  new ResizeObserver(() => showHeads()).observe(byId("stage"));
  let lost = false;
  listen(hear, (connected) => {
    if (connected && lost) {
      requests.cancel();
      void attempt(load);
    }
    if (!connected && !lost) say("The page lost its server. It reconnects as soon as varfocus runs again.", "note");
    lost = !connected;
  });
  document.documentElement.dataset["ready"] = "yes";
}

void attempt(begin);
