// The depth map as triangles: places, colours by height, jumps torn.

import * as three from "three";

export interface Relief {
  /** Depth of a grid, row by row; NaN where unknown. */
  depth: Float32Array;
  columns: number;
  rows: number;
  /** Height of the image over its width. */
  aspect: number;
  /** Depth range over width of the image, if both are known in the same unit. */
  proportion: number | null;
  range: [number, number];
  unit: string;
  /** Large depths are near: heights. */
  turned?: boolean;
  /** Width of the image, and its unit. */
  width: number;
  widthUnit: string;
  picture: HTMLCanvasElement;
  /** 256 colours of heights. */
  palette: Uint8Array;
  /** What a picture of the view is called. */
  title: string;
}

/** Depth range over image width when the pixel size is unknown. */
const PLAUSIBLE = 0.25;

/** Height in the scene, where the image is 1 wide, for one unit of depth. */
export function zScale(relief: Relief): number {
  return (relief.proportion ?? PLAUSIBLE) / Math.max(relief.range[1] - relief.range[0], 1e-12);
}

/** Triangles of every stride-th pixel; none where depth is unknown, or across a jump. */
export function grid(relief: Relief, stride: number): three.BufferGeometry {
  const { depth, columns, rows, aspect } = relief;
  const across = Math.floor((columns - 1) / stride) + 1;
  const down = Math.floor((rows - 1) / stride) + 1;
  const [low, high] = relief.range;
  const middle = (low + high) / 2;
  const scale = zScale(relief);
  const places = new Float32Array(3 * across * down);
  const within = new Float32Array(2 * across * down);
  const colours = new Float32Array(3 * across * down);
  const at = (i: number, j: number): number =>
    depth[Math.min(i * stride, rows - 1) * columns + Math.min(j * stride, columns - 1)]!;
  for (let i = 0; i < down; i++) {
    for (let j = 0; j < across; j++) {
      const k = i * across + j;
      const u = j / Math.max(across - 1, 1);
      const v = i / Math.max(down - 1, 1);
      const value = at(i, j);
      // The viewer stands where the lens was; depth grows away from it, unless it is turned.
      const towards = (relief.turned ? value - middle : middle - value) * scale;
      places.set([u - 0.5, (0.5 - v) * aspect, value === value ? towards : 0], 3 * k);
      within.set([u, 1 - v], 2 * k);
      const share = Math.min(Math.max((value - low) / Math.max(high - low, 1e-12), 0), 1);
      const c = 3 * Math.round(255 * (share === share ? share : 0));
      for (let n = 0; n < 3; n++) colours[3 * k + n] = linear(relief.palette[c + n]! / 255);
    }
  }
  const jump = jumpHeight(relief, stride);
  const triangles: number[] = [];
  const joined = (a: number, b: number): boolean => Math.abs(a - b) <= jump; // false for NaN
  for (let i = 0; i + 1 < down; i++) {
    for (let j = 0; j + 1 < across; j++) {
      const k = i * across + j;
      const [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)];
      if (joined(a, b) && joined(b, c) && joined(a, c)) triangles.push(k, k + across, k + 1);
      if (joined(b, c) && joined(c, d) && joined(b, d)) triangles.push(k + 1, k + across, k + across + 1);
    }
  }
  const geometry = new three.BufferGeometry();
  geometry.setAttribute("position", new three.BufferAttribute(places, 3));
  geometry.setAttribute("uv", new three.BufferAttribute(within, 2));
  geometry.setAttribute("color", new three.BufferAttribute(colours, 3));
  geometry.setIndex(triangles);
  geometry.computeVertexNormals();
  return geometry;
}

/** A share of brightness as the screen has it, as light. */
function linear(share: number): number {
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** Differences of neighbours above this are jumps: eight times the 90th percentile, or a tenth of the range. */
function jumpHeight(relief: Relief, stride: number): number {
  const { depth, columns, range } = relief;
  const steps: number[] = [];
  for (let k = 0; k + stride < depth.length; k += 7) {
    if (k % columns < columns - stride) {
      const step = Math.abs(depth[k + stride]! - depth[k]!);
      if (step === step) steps.push(step);
    }
  }
  steps.sort((a, b) => a - b);
  const usual = steps[Math.floor(steps.length * 0.9)] ?? 0;
  return Math.max(8 * usual, 0.1 * (range[1] - range[0]));
}
