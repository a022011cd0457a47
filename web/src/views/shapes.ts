// How measurements look on the maps, and where they can be taken hold of.

import { CHOSEN, LIGHT, MARKED, traced } from "../viewer/ink";
import type { Place, Point, Shape } from "../wire";

type ToScreen = (x: number, y: number) => Point;

/** Screen pixels around a handle that take hold of it. */
const GRIP = 9;

/** The handle at a place, the newest shape first; null if there is none. */
export function handleAt(
  shapes: Shape[],
  level: Point[],
  at: Point,
  scale: number,
): { what: "shape" | "level"; shape: number; point: number } | null {
  const near = (p: Point): boolean => Math.hypot(p[0] - at[0], p[1] - at[1]) * scale <= GRIP;
  const point = level.findIndex(near);
  if (point >= 0) return { what: "level", shape: -1, point };
  for (let k = shapes.length - 1; k >= 0; k--) {
    const found = shapes[k]!.points.findIndex(near);
    if (found >= 0) return { what: "shape", shape: k, point: found };
  }
  return null;
}

/** The nearest place inside of a rectangle. */
export function inside([left, top, width, height]: Place, [x, y]: Point): Point {
  return [Math.min(Math.max(x, left), left + width), Math.min(Math.max(y, top), top + height)];
}

export function samePoint(a: Point, b: Point): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

export function drawShape(context: CanvasRenderingContext2D, shape: Shape, chosen: boolean, toScreen: ToScreen): void {
  const points = shape.points.map((p) => toScreen(...p));
  const path = (): void => {
    if (shape.kind === "line") {
      context.moveTo(...points[0]!);
      context.lineTo(...points[1]!);
    } else if (shape.kind === "point") {
      const [x, y] = points[0]!;
      context.arc(x, y, 5, 0, 7);
      context.moveTo(x - 9, y);
      context.lineTo(x + 9, y);
      context.moveTo(x, y - 9);
      context.lineTo(x, y + 9);
    } else {
      for (let k = 0; k + 1 < points.length; k += 2) {
        const [a, b] = [points[k]!, points[k + 1]!];
        context.rect(Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.abs(b[0] - a[0]), Math.abs(b[1] - a[1]));
      }
    }
  };
  traced(context, path, chosen ? CHOSEN : LIGHT);
  if (chosen && shape.kind !== "point") for (const point of points) handle(context, point);
  const label = (text: string, x: number, y: number): void => {
    context.font = "600 12px system-ui";
    context.lineWidth = 3;
    context.strokeStyle = "rgb(0 0 0 / 65%)";
    context.strokeText(text, x, y);
    context.fillStyle = "#fff";
    context.fillText(text, x, y);
  };
  const [x, y] = [Math.min(...points.map((p) => p[0])), Math.min(...points.map((p) => p[1]))];
  label(shape.name, x + 4, y - 6);
  if (shape.kind === "step")
    points.forEach((p, k) => {
      if (k % 2 === 0)
        label(k ? "B" : "A", Math.min(p[0], points[k + 1]![0]) + 5, Math.min(p[1], points[k + 1]![1]) + 15);
    });
}

function handle(context: CanvasRenderingContext2D, [x, y]: Point): void {
  context.fillStyle = CHOSEN;
  context.strokeStyle = "rgb(0 0 0 / 70%)";
  context.lineWidth = 1;
  context.fillRect(x - 4, y - 4, 8, 8);
  context.strokeRect(x - 4, y - 4, 8, 8);
}

/** The three points through which the surface is made level. */
export function drawLevel(context: CanvasRenderingContext2D, points: Point[], toScreen: ToScreen): void {
  for (const point of points) {
    const [x, y] = toScreen(...point);
    context.beginPath();
    context.moveTo(x, y - 8);
    context.lineTo(x + 7, y + 5);
    context.lineTo(x - 7, y + 5);
    context.closePath();
    context.fillStyle = MARKED;
    context.strokeStyle = "rgb(0 0 0 / 75%)";
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
  }
}
