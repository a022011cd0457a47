// Maps and frames as sources of tiles.

import { bytes } from "../api";
import { el } from "../dom";
import { levels } from "../viewer/layout";
import type { Source } from "../viewer/viewer";
import { compared, current, difference, newest, resultOf, type Model, type PaneChoice } from "../store";
import type { ResultInfo } from "../wire";

export function frameSource(model: Model, frame: number | undefined): Source | null {
  const { width, height } = model.server;
  if (frame === undefined || !width) return null;
  return {
    key: `frame/${frame}`,
    kind: "picture",
    width,
    height,
    tile: (level, column, row, signal) => bytes(`/api/frames/${frame}/${level}/${column}/${row}`, signal),
    range: [0, 1],
    palette: "gray",
  };
}

/** A frame as the current result sees it, aligned: where it is painted. */
function laidSource(model: Model, frame: number | undefined): Source | null {
  const [plain, result] = [frameSource(model, frame), current(model)];
  if (!plain || !result?.frames.length || result.preview) return plain;
  const address = `/api/results/${result.version}/frames/${frame}`;
  return {
    ...plain,
    key: `${result.version}/frame/${frame}`,
    tile: (level, column, row, signal) => bytes(`${address}/${level}/${column}/${row}`, signal),
  };
}

export function sourceOf(model: Model, choice: PaneChoice, frame: number | undefined): Source | null {
  const painting = model.choices.tool === "retouch";
  if (choice.map === "frame" && painting) return laidSource(model, frame);
  if (choice.map === "frame" || !newest(model)) return frameSource(model, frame);
  if (choice.map === "difference") return differenceSource(model);
  const result = resultOf(model, choice)!;
  if (choice.map === "slab") return slabSource(model, result);
  const map = result.maps[choice.map];
  if (choice.map !== "fused" && !map) return null;
  const hatched = choice.map === "depth" && model.choices.hatched;
  const confidence = hatched ? sourceOf(model, { map: "confidence", result: result.version }, frame) : null;
  return {
    ...(confidence ? { confidence } : {}),
    key: `${result.version}/${choice.map}/${grade(result)}${result.revision ? `@${result.revision}` : ""}`,
    kind: choice.map === "fused" ? "picture" : "map",
    width: result.width,
    height: result.height,
    place: result.place,
    tile: (level, column, row, signal) => tileOf(model, result, choice.map, level, column, row, signal),
    range: model.choices.ranges[choice.map] ?? commonRange(model, choice.map) ?? map?.range ?? [0, 1],
    palette: model.choices.palettes[choice.map] ?? "viridis",
  };
}

/** The slab that is painted from, or the first. */
function slabSource(model: Model, result: ResultInfo): Source | null {
  const { source } = model.choices.brush;
  const k = source.from === "slab" && source.slab < result.slabs.length ? source.slab : 0;
  const slab = result.slabs[k];
  if (!slab) return null;
  const map = `slab-${k}`;
  return {
    key: `${result.version}/${map}/${slab.made}`,
    kind: "picture",
    width: result.width,
    height: result.height,
    place: result.place,
    tile: (level, column, row, signal) =>
      bytes(`/api/results/${result.version}/${map}/full/${level}/${column}/${row}?r=${slab.made}`, signal),
    range: [0, 1],
    palette: "gray",
  };
}

/** One range of colours for two results that are compared: the same colour is the same depth. */
function commonRange(model: Model, map: string): [number, number] | null {
  const [a, b] = [current(model)?.maps[map], compared(model)?.maps[map]];
  if (!a || !b || a.unit !== b.unit) return null;
  return [Math.min(a.range[0], b.range[0]), Math.max(a.range[1], b.range[1])];
}

function differenceSource(model: Model): Source | null {
  const made = difference(model);
  const result = current(model);
  if (!made?.info || !result) return null;
  const { map } = made.info;
  return {
    key: `${result.version}/${map}/full`,
    kind: "map",
    width: result.width,
    height: result.height,
    place: result.place,
    tile: (level, column, row, signal) => tileOf(model, result, map, level, column, row, signal),
    range: model.choices.ranges["difference"] ?? made.info.range,
    palette: model.choices.palettes["difference"] ?? "RdBu_r",
  };
}

function grade(result: ResultInfo): string {
  return result.preview ? "preview" : "full";
}

/** A tile of a result; of the newest sketch it is here already. */
export function tileOf(
  model: Model,
  result: ResultInfo,
  map: string,
  level: number,
  column: number,
  row: number,
  signal?: AbortSignal,
): Promise<ArrayBuffer> {
  const here = result.preview && model.sketch?.version === result.version ? model.sketch.maps.get(map) : undefined;
  if (here) return Promise.resolve(here);
  const revision = result.revision ? `?r=${result.revision}` : "";
  return bytes(`/api/results/${result.version}/${map}/${grade(result)}/${level}/${column}/${row}${revision}`, signal);
}

/** The level that is one tile. */
export function coarsest(result: ResultInfo, tile: number): number {
  return levels(result.width, result.height, tile) - 1;
}

/** A level of the all-in-focus image as one picture. */
export async function composed(model: Model, result: ResultInfo, level: number): Promise<HTMLCanvasElement> {
  const side = model.server.tile;
  const canvas = el("canvas", {
    width: Math.ceil(result.width / 2 ** level),
    height: Math.ceil(result.height / 2 ** level),
  });
  const context = canvas.getContext("2d")!;
  const jobs: Promise<void>[] = [];
  for (let row = 0; row * side < canvas.height; row++) {
    for (let column = 0; column * side < canvas.width; column++) {
      jobs.push(
        tileOf(model, result, "fused", level, column, row).then((buffer) => {
          const width = Math.min(side, canvas.width - column * side);
          const data = new ImageData(new Uint8ClampedArray(buffer), width, buffer.byteLength / 4 / width);
          context.putImageData(data, column * side, row * side);
        }),
      );
    }
  }
  await Promise.all(jobs);
  return canvas;
}
