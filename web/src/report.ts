// The viewer of report.html: the same panes and surface as on the page, with the data in the file.

import { el } from "./dom";
import { Surface } from "./views/surface";
import { short, t } from "./words";
import { cross } from "./viewer/ink";
import { Viewer, type Source } from "./viewer/viewer";

/** What the report embeds; depth as 16-bit steps from `low`, 0 is unknown. */
interface Embedded {
  width: number;
  height: number;
  columns: number;
  rows: number;
  depth: string;
  low: number;
  step: number;
  confidence: string;
  range: [number, number];
  unit: string;
  /** Depth range over image width, if both are lengths. */
  proportion: number | null;
  palettes: Record<string, string>;
}

/** Larger than any picture in a report, so each is a single tile. */
const WHOLE = 4096;

/** Longest side of the surface's grid. */
const GRID = 400;

function thinned(
  depth: Float32Array,
  columns: number,
  rows: number,
): { depth: Float32Array; columns: number; rows: number } {
  const stride = Math.ceil(Math.max(columns, rows) / GRID);
  const across = Math.ceil(columns / stride);
  const down = Math.ceil(rows / stride);
  const picked = new Float32Array(across * down);
  for (let i = 0; i < down; i++) {
    for (let j = 0; j < across; j++) picked[i * across + j] = depth[i * stride * columns + j * stride]!;
  }
  return { depth: picked, columns: across, rows: down };
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function begin(): Promise<void> {
  const place = document.getElementById("viewer");
  const data = document.getElementById("maps");
  const photo = document.getElementById("photo") as HTMLImageElement | null;
  if (!place || !data || !photo) return;
  const maps = JSON.parse(data.textContent) as Embedded;
  const steps = new Uint16Array(decoded(maps.depth).buffer);
  const depth = Float32Array.from(steps, (v) => (v ? maps.low + (v - 1) * maps.step : NaN));
  const confidence = Float32Array.from(decoded(maps.confidence), (v) => v / 255);
  await photo.decode();
  const picture = el("canvas", { width: photo.naturalWidth, height: photo.naturalHeight });
  const context = picture.getContext("2d")!;
  context.drawImage(photo, 0, 0);
  const pixels = context.getImageData(0, 0, picture.width, picture.height).data;

  const panes = el("div", { class: "viewer-panes" });
  const relief = el("div", { class: "viewer-panes", hidden: true });
  const readout = el("output", { class: "viewer-readout" });
  let viewer: Viewer;
  try {
    viewer = new Viewer(panes, WHOLE, t("mapsLabel"));
  } catch {
    return; // No WebGL2: the pictures below have to do.
  }
  place.append(panes, relief, readout);
  for (const [name, colours] of Object.entries(maps.palettes)) viewer.setPalette(name, decoded(colours));
  const source = (
    key: string,
    kind: Source["kind"],
    width: number,
    height: number,
    buffer: ArrayBuffer,
    range: [number, number],
    palette: string,
  ): Source => ({
    key,
    kind,
    width,
    height,
    range,
    palette,
    tile: () => Promise.resolve(buffer),
  });
  const shown: Record<string, Source> = {
    "All in focus": source(
      "photo",
      "picture",
      picture.width,
      picture.height,
      new Uint8Array(pixels).buffer,
      [0, 1],
      "gray",
    ),
    Depth: source("depth", "map", maps.columns, maps.rows, depth.buffer, maps.range, "viridis"),
    Confidence: source("confidence", "map", maps.columns, maps.rows, confidence.buffer, [0, 1], "gray"),
  };
  viewer.setImage(maps.width, maps.height);
  viewer.setPanes([{ source: shown["All in focus"]! }, { source: shown["Depth"]! }]);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  viewer.unknownColour = dark.matches ? [0.16, 0.19, 0.2] : [0.85, 0.86, 0.87];
  let at: [number, number] | null = null;
  viewer.onHover = (pane, x, y) => {
    at = pane >= 0 && x >= 0 && y >= 0 && x < maps.width && y < maps.height ? [x, y] : null;
    readout.textContent = at
      ? `${Math.floor(x)}, ${Math.floor(y)} · depth ${short(viewer.value(shown["Depth"]!, x, y)?.[0])} ${maps.unit}` +
        ` · confidence ${short(viewer.value(shown["Confidence"]!, x, y)?.[0], 2)}`
      : "";
    viewer.redraw();
  };
  viewer.decorate = (pen, rects) => {
    if (!at) return;
    for (const rect of rects) {
      const [x, y] = viewer.toScreen(rect, ...at);
      if (x < rect.x || x > rect.x + rect.width) continue;
      cross(pen, [x, y], 7);
    }
  };

  let surface: Surface | null = null;
  const views = ["Maps", "Wipe", "3-D"].map((name) => el("button", { type: "button" }, name));
  const choose = (name: string): void => {
    views.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === name)));
    panes.hidden = name === "3-D";
    relief.hidden = name !== "3-D";
    if (name === "Maps") viewer.setPanes([{ source: shown["All in focus"]! }, { source: shown["Depth"]! }]);
    if (name === "Wipe") viewer.setPanes([{ source: shown["All in focus"]!, other: shown["Depth"]! }]);
    if (name === "3-D" && !surface) {
      surface = new Surface(relief);
      surface.show({
        ...thinned(depth, maps.columns, maps.rows),
        aspect: maps.height / maps.width,
        proportion: maps.proportion,
        range: maps.range,
        unit: maps.unit,
        width: maps.proportion ? (maps.range[1] - maps.range[0]) / maps.proportion : maps.width,
        widthUnit: maps.proportion ? maps.unit : "pixels",
        picture,
        palette: decoded(maps.palettes["viridis"]!),
        title: document.title,
      });
    }
  };
  views.forEach((button) => button.addEventListener("click", () => choose(button.textContent)));
  place.prepend(
    el(
      "div",
      { class: "viewer-views", role: "toolbar", "aria-label": "View" },
      ...views,
      el("button", { type: "button", onclick: () => viewer.fit() }, "Fit"),
    ),
  );
  choose("Maps");
  place.hidden = false;
  document.getElementById("explore")?.removeAttribute("hidden");
  viewer.redraw();
}

void begin();
