// Axes, grid and scale bar of the surface: lines in the scene, numbers on a canvas above it.

import * as three from "three";
import { short, t, unitWord } from "../words";
import { zScale, type Relief } from "./reliefgrid";
import { roundBelow, ticks } from "./ticks";

type Axis = "x" | "y" | "z";

interface Label {
  at: three.Vector3;
  axis: Axis;
  text: string;
  /** Screen pixels that it stands above its place. */
  above?: number;
}

export class Axes {
  readonly lines = new three.LineSegments(
    new three.BufferGeometry(),
    new three.LineBasicMaterial({ color: 0x8a989c, transparent: true, opacity: 0.75 }),
  );
  private labels: Label[] = [];

  /** @param height factor by which heights are exaggerated */
  build(relief: Relief, height: number): void {
    const [w, h] = [0.5, relief.aspect / 2];
    const span = (relief.range[1] - relief.range[0]) * zScale(relief) * height;
    const [low, high] = [-span / 2, span / 2];
    const points: number[] = [];
    const line = (...ends: number[]): void => void points.push(...ends);
    this.labels = [];
    const perUnit = 1 / relief.width;
    const across = ticks(relief.width, 6);
    const down = ticks(relief.width * relief.aspect, 6);
    const up = ticks(relief.range[1] - relief.range[0], 4);
    for (const value of across) {
      const x = -w + value * perUnit;
      line(x, -h, low, x, h, low);
      this.labels.push({ at: new three.Vector3(x, -h, low), axis: "x", text: short(value, 3) });
    }
    for (const value of down) {
      const y = -h + value * perUnit;
      line(-w, y, low, w, y, low);
      if (value) this.labels.push({ at: new three.Vector3(-w, y, low), axis: "y", text: short(value, 3) });
    }
    line(-w, -h, low, w, -h, low, w, -h, low, w, h, low, w, h, low, -w, h, low, -w, h, low, -w, -h, low);
    for (const [x, y] of [
      [-w, h],
      [w, h],
    ] as const)
      line(x, y, low, x, y, high);
    for (const value of up) {
      const z = low + value * zScale(relief) * height;
      line(-w, h, z, w, h, z);
      this.labels.push({ at: new three.Vector3(-w, h, z), axis: "z", text: short(value, 3) });
    }
    const lateral = unitWord(relief.widthUnit);
    this.labels.push(
      { at: new three.Vector3(0, -h - 0.07, low), axis: "x", text: `x, ${lateral}` },
      { at: new three.Vector3(-w - 0.07, 0, low), axis: "y", text: `y, ${lateral}` },
      {
        at: new three.Vector3(-w - 0.05, h, high + 0.04),
        axis: "z",
        text: `${t("height")}, ${unitWord(relief.unit)}`,
        above: 12, // however small the scene is, not on the highest number
      },
    );
    this.lines.geometry.dispose();
    this.lines.geometry = new three.BufferGeometry();
    this.lines.geometry.setAttribute("position", new three.Float32BufferAttribute(points, 3));
  }

  /** Write the numbers beside their ticks. */
  draw(context: CanvasRenderingContext2D, camera: three.Camera, width: number, height: number, ink: Ink): void {
    const toScreen = (v: three.Vector3): [number, number] => {
      const p = v.clone().project(camera);
      return [((p.x + 1) / 2) * width, ((1 - p.y) / 2) * height];
    };
    context.font = "11px system-ui";
    context.textAlign = "center";
    context.textBaseline = "middle";
    const [cx, cy] = toScreen(new three.Vector3());
    /** Whether an axis is seen from its end, where its numbers would lie on one another. */
    const hidden = (axis: Axis): boolean => {
      const [x, y] = toScreen(new three.Vector3().setComponent("xyz".indexOf(axis), 0.1));
      return Math.hypot(x - cx, y - cy) < 8;
    };
    const taken: [number, number][] = [];
    for (const { at, axis, text, above = 0 } of this.labels) {
      if (hidden(axis)) continue;
      const [x, y] = toScreen(at);
      const far = Math.hypot(x - cx, y - cy) || 1;
      const place: [number, number] = [x + ((x - cx) / far) * 16, y + ((y - cy) / far) * 12 - above];
      const half = context.measureText(text).width / 2 + 4; // all of it in sight, also in a narrow window
      place[0] = Math.min(Math.max(place[0], half), width - half);
      if (taken.some((p) => Math.abs(p[0] - place[0]) < 26 && Math.abs(p[1] - place[1]) < 11)) continue;
      taken.push(place);
      write(context, text, ...place, ink);
    }
  }
}

export interface Ink {
  text: string;
  ground: string;
}

function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, ink: Ink): void {
  context.lineWidth = 3;
  context.strokeStyle = ink.ground;
  context.strokeText(text, x, y);
  context.fillStyle = ink.text;
  context.fillText(text, x, y);
}

/** A bar of a round length, where one unit of the scene has so many screen pixels. */
export function drawScaleBar(
  context: CanvasRenderingContext2D,
  relief: Relief,
  perScene: number,
  width: number,
  height: number,
  ink: Ink,
): void {
  const perUnit = perScene / relief.width;
  const length = roundBelow((0.25 * width) / perUnit);
  const pixels = length * perUnit;
  const [right, y] = [width - 20, height - 22];
  context.fillStyle = ink.ground;
  context.fillRect(right - pixels - 3, y - 3, pixels + 6, 10);
  context.fillStyle = ink.text;
  context.fillRect(right - pixels, y, pixels, 4);
  context.font = "600 12px system-ui";
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  write(context, `${short(length, 3)} ${unitWord(relief.widthUnit)}`, right - pixels / 2, y - 7, ink);
}
