// What a tool of the maps offers: to draw on the panes, and to take the pointer, or the keys in its place.

import type { Point } from "../wire";

export interface Layer {
  /** Draw onto a pane. */
  draw(context: CanvasRenderingContext2D, toScreen: (x: number, y: number) => Point): void;
  /** True takes the drag away from panning. */
  press(x: number, y: number, scale: number): boolean;
  drag(x: number, y: number, scale: number): void;
  /** Finish; returns whether anything came of it. */
  release(moved: boolean): boolean;
  /** Whether what is being drawn has any number of points: keys set one after the other. */
  corners?(): boolean;
  /** Take the last point back; returns the one before, null if nothing is being drawn any more. */
  takeBack(): Point | null;
  /** The pointer is over this place; null when it left. */
  hover?(place: Point | null): void;
}

/** Take back everything that was not finished. */
export function abandon(layer: Layer): void {
  while (layer.takeBack());
}
