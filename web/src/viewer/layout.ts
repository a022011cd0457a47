// Where things are: panes on the screen, pixels in panes, tiles in levels. Pure functions.

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Centre in image pixels, and screen pixels per image pixel. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

/** Left, top, width and height in pixels of the frames. */
export type Place = readonly [number, number, number, number];

/** A tile: level of halving, column and row. */
export interface Spot {
  level: number;
  column: number;
  row: number;
}

const GAP = 6;
const LARGEST_SCALE = 40;

/** Cut a stage into panes, in the number of columns that shows the target largest. */
export function panes(count: number, width: number, height: number, target: { width: number; height: number }): Rect[] {
  let columns = 1;
  let best = 0;
  for (let c = 1; c <= count; c++) {
    const rows = Math.ceil(count / c);
    const scale = Math.min(
      (width - GAP * (c - 1)) / c / target.width,
      (height - GAP * (rows - 1)) / rows / target.height,
    );
    if (scale > best * 1.0001) [best, columns] = [scale, c];
  }
  const rows = Math.ceil(count / columns);
  const w = (width - GAP * (columns - 1)) / columns;
  const h = (height - GAP * (rows - 1)) / rows;
  return Array.from({ length: count }, (_, k) => ({
    x: (k % columns) * (w + GAP),
    y: Math.floor(k / columns) * (h + GAP),
    width: w,
    height: h,
  }));
}

/** The view that shows all of a target in a pane. */
export function fitted(pane: Rect, target: Rect): View {
  return {
    x: target.x + target.width / 2,
    y: target.y + target.height / 2,
    scale: Math.min(pane.width / target.width, pane.height / target.height),
  };
}

export function toScreen(pane: Rect, view: View, x: number, y: number): [number, number] {
  return [pane.x + pane.width / 2 + (x - view.x) * view.scale, pane.y + pane.height / 2 + (y - view.y) * view.scale];
}

export function toImage(pane: Rect, view: View, x: number, y: number): [number, number] {
  return [view.x + (x - pane.x - pane.width / 2) / view.scale, view.y + (y - pane.y - pane.height / 2) / view.scale];
}

/** Zoom so that what lies under a point of the screen stays there. */
export function zoomed(
  pane: Rect,
  view: View,
  factor: number,
  image: { width: number; height: number },
  at: [number, number],
): View {
  const fit = Math.min(pane.width / image.width, pane.height / image.height);
  const scale = Math.min(Math.max(view.scale * factor, fit * 0.5), LARGEST_SCALE);
  const [x, y] = toImage(pane, view, ...at);
  return { scale, x: x - (at[0] - pane.x - pane.width / 2) / scale, y: y - (at[1] - pane.y - pane.height / 2) / scale };
}

/** The view after two fingers moved: what was under each stays under it. */
export function pinched(pane: Rect, view: View, from: [number, number][], to: [number, number][]): View {
  const middle = (points: [number, number][]): [number, number] => [
    (points[0]![0] + points[1]![0]) / 2,
    (points[0]![1] + points[1]![1]) / 2,
  ];
  const apart = (points: [number, number][]): number =>
    Math.max(Math.hypot(points[0]![0] - points[1]![0], points[0]![1] - points[1]![1]), 1);
  const scale = Math.min((view.scale * apart(to)) / apart(from), LARGEST_SCALE);
  const [x, y] = toImage(pane, view, ...middle(from));
  const [mx, my] = middle(to);
  return { scale, x: x - (mx - pane.x - pane.width / 2) / scale, y: y - (my - pane.y - pane.height / 2) / scale };
}

/** How many times a picture is halved until it is one tile, plus one. */
export function levels(width: number, height: number, tile: number): number {
  let count = 1;
  for (let side = Math.max(width, height); side > tile; side = Math.ceil(side / 2)) count++;
  return count;
}

/** Tiles of one level of a source of that size that a pane shows. */
export function shownTiles(
  pane: Rect,
  view: View,
  size: { width: number; height: number },
  covers: Place,
  tile: number,
  level: number,
): Spot[] {
  const side = tile * 2 ** level;
  const sx = covers[2] / size.width;
  const sy = covers[3] / size.height;
  const [left, top] = toImage(pane, view, pane.x, pane.y);
  const [right, bottom] = toImage(pane, view, pane.x + pane.width, pane.y + pane.height);
  const first = (at: number, from: number, step: number): number => Math.max(Math.floor((at - from) / step / side), 0);
  const last = (at: number, from: number, step: number, all: number): number =>
    Math.min(Math.floor((at - from) / step / side), Math.ceil(all / side) - 1);
  const spots: Spot[] = [];
  for (let row = first(top, covers[1], sy); row <= last(bottom, covers[1], sy, size.height); row++) {
    for (let column = first(left, covers[0], sx); column <= last(right, covers[0], sx, size.width); column++) {
      spots.push({ level, column, row });
    }
  }
  return spots;
}

/** Corners in any order as left, top, right and bottom. */
export function upright([x0, y0, x1, y1]: Place): [number, number, number, number] {
  return [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
}

/** Whole pixels between two corners, as left, top, width and height. */
export function spanned(corners: readonly (readonly [number, number])[]): [number, number, number, number] {
  const [a, b] = corners as [readonly [number, number], readonly [number, number]];
  const [x0, y0, x1, y1] = upright([a[0], a[1], b[0], b[1]]).map(Math.round) as [number, number, number, number];
  return [x0, y0, x1 - x0, y1 - y0];
}

/** The part of a rectangle inside the frames; null if none is left. */
export function within(
  [x, y, width, height]: Place,
  [across, down]: readonly [number, number],
): [number, number, number, number] | null {
  const left = Math.min(Math.max(x, 0), across);
  const top = Math.min(Math.max(y, 0), down);
  const right = Math.min(x + width, across);
  const bottom = Math.min(y + height, down);
  return right - left >= 1 && bottom - top >= 1 ? [left, top, right - left, bottom - top] : null;
}

/** A rectangle as people type it, x,y,width,height; null if it is none. */
export function parsed(text: string): [number, number, number, number] | null {
  const numbers = text
    .split(/[\s,;×x]+/)
    .filter(Boolean)
    .map(Number);
  return numbers.length === 4 && numbers.every(Number.isInteger) ? (numbers as [number, number, number, number]) : null;
}
