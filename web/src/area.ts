// What counts: a rectangle and outlines, drawn on the maps and shown as words.

import type { Mask, Outline } from "./api";
import { el } from "./dom";

export type Rectangle = [x: number, y: number, width: number, height: number];

/** Screen pixels between two corners of an outline. */
const SPACING = 4;

export class Area {
  box: Rectangle | null = null;
  private mask: Mask | null = null;
  private counts = true;
  private size: [number, number] = [0, 0];
  private drawing: { tool: "crop" | "mask"; points: [number, number][] } | null = null;
  private text = el("input", { type: "text", id: "crop", placeholder: "all of the frames", title: "x,y,width,height in pixels from the upper left corner", "aria-label": "Rectangle, as x,y,width,height", spellcheck: "false" });
  private clearCrop = el("button", { type: "button", class: "icon", title: "All of the frames", "aria-label": "Remove the rectangle" }, "×");
  private words = el("span", { class: "muted small grow" });
  private undo = el("button", { type: "button", class: "small", title: "Undo the last outline" }, "Undo");
  private clearMask = el("button", { type: "button", class: "icon", title: "Everything counts", "aria-label": "Remove the mask" }, "×");
  private kinds: HTMLButtonElement[];
  private choice: HTMLElement;

  /** Called when there is something to draw. */
  changed: (() => void) | null = null;
  cropped: (() => void) | null = null;
  masked: ((mask: Mask) => void) | null = null;

  constructor(host: HTMLElement) {
    this.kinds = [true, false].map((counts) => {
      const button = el("button", { type: "button", role: "radio" }, counts ? "Keep" : "Leave out");
      button.addEventListener("click", () => {
        this.counts = counts;
        this.show();
      });
      return button;
    });
    this.choice = el("div", { class: "segments small", role: "radiogroup", "aria-label": "What the next outline marks", hidden: true }, ...this.kinds);
    host.append(
      el("h3", {}, "What counts"),
      el("div", { class: "area-row" }, el("span", {}, "Crop"), this.text, this.clearCrop),
      el("div", { class: "area-row" }, el("span", {}, "Mask"), this.words, this.undo, this.clearMask),
      this.choice,
    );
    this.text.addEventListener("change", () => this.setBox(parsed(this.text.value), true));
    this.clearCrop.addEventListener("click", () => this.setBox(null, true));
    this.undo.addEventListener("click", () => this.send({ outlines: this.mask!.outlines.slice(0, -1), base: this.mask!.base }));
    this.clearMask.addEventListener("click", () => this.send({ outlines: [], base: false }));
    this.show();
  }

  /** Size of the frames, and the mask that the server knows. */
  setFrames(width: number, height: number, mask: Mask | null): void {
    this.size = [width, height];
    this.mask = mask;
    if (this.box && (this.box[0] + this.box[2] > width || this.box[1] + this.box[3] > height)) this.box = null;
    this.show();
  }

  setBox(box: Rectangle | null, tell: boolean): void {
    this.box = box && within(box, this.size);
    this.text.value = this.inWords();
    this.show();
    if (tell) this.cropped?.();
  }

  /** Offer what belongs to a tool. */
  choose(tool: string): void {
    this.choice.hidden = tool !== "mask";
    this.drawing = null;
  }

  press(tool: "crop" | "mask", x: number, y: number): void {
    this.drawing = { tool, points: [[x, y]] };
  }

  drag(x: number, y: number, scale: number): void {
    const drawing = this.drawing;
    if (!drawing) return;
    const last = drawing.points.at(-1)!;
    if (drawing.tool === "crop") drawing.points[1] = [x, y];
    else if (Math.hypot(x - last[0], y - last[1]) * scale >= SPACING) drawing.points.push([x, y]);
    this.changed?.();
  }

  release(): void {
    const drawing = this.drawing;
    this.drawing = null;
    if (drawing?.tool === "crop" && drawing.points.length === 2) this.setBox(spanned(drawing.points), true);
    if (drawing?.tool === "mask" && drawing.points.length >= 3) {
      const outline: Outline = [this.counts, drawing.points];
      this.send({ outlines: [...(this.mask?.outlines ?? []), outline], base: this.mask?.base ?? false });
    }
    this.changed?.();
  }

  private send(mask: Mask): void {
    this.mask = mask.outlines.length || mask.base ? mask : null;
    this.show();
    this.masked?.(mask);
  }

  private inWords(): string {
    return this.box?.join(",") ?? "";
  }

  private show(): void {
    // News from the server must not undo what is being typed.
    if (document.activeElement !== this.text) this.text.value = this.inWords();
    this.clearCrop.disabled = !this.box;
    const drawn = this.mask?.outlines.length ?? 0;
    const outlines = drawn === 1 ? "1 outline" : `${drawn} outlines`;
    this.words.textContent = !this.mask ? "everything" : this.mask.base ? (drawn ? `as given, ${outlines}` : "as given") : outlines;
    this.undo.disabled = !drawn;
    this.clearMask.disabled = !this.mask;
    this.kinds.forEach((button, k) => button.setAttribute("aria-checked", String(this.counts === (k === 0))));
    this.changed?.();
  }

  /** Draw rectangle and outlines onto a pane. */
  draw(context: CanvasRenderingContext2D, toScreen: (x: number, y: number) => [number, number]): void {
    const box = this.drawing?.tool === "crop" && this.drawing.points.length === 2 ? within(spanned(this.drawing.points), this.size) : this.box;
    if (box) {
      const [x0, y0] = toScreen(box[0], box[1]);
      const [x1, y1] = toScreen(box[0] + box[2], box[1] + box[3]);
      context.fillStyle = "rgb(0 0 0 / 45%)";
      context.beginPath();
      const [left, top] = toScreen(0, 0);
      const [right, bottom] = toScreen(...this.size);
      context.rect(left, top, right - left, bottom - top);
      context.rect(x0, y0, x1 - x0, y1 - y0);
      context.fill("evenodd");
      context.strokeStyle = "#fff";
      context.lineWidth = 1.25;
      context.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }
    const outlines = [...(this.mask?.outlines ?? [])];
    if (this.drawing?.tool === "mask") outlines.push([this.counts, this.drawing.points]);
    for (const [counts, points] of outlines) {
      context.beginPath();
      points.forEach(([x, y], k) => (k ? context.lineTo(...toScreen(x, y)) : context.moveTo(...toScreen(x, y))));
      context.closePath();
      for (const [style, width, dash] of [["rgb(0 0 0 / 60%)", 3, []], [counts ? "#5fe0c8" : "#ffb25e", 1.5, counts ? [] : [5, 4]]] as const) {
        context.strokeStyle = style;
        context.lineWidth = width;
        context.setLineDash([...dash]);
        context.stroke();
      }
      context.setLineDash([]);
    }
  }
}

function spanned(points: [number, number][]): Rectangle {
  const [[x0, y0], [x1, y1]] = points as [[number, number], [number, number]];
  const left = Math.round(Math.min(x0, x1));
  const top = Math.round(Math.min(y0, y1));
  return [left, top, Math.round(Math.max(x0, x1)) - left, Math.round(Math.max(y0, y1)) - top];
}

/** The part of a rectangle inside the frames; null if none is left. */
function within([x, y, width, height]: Rectangle, [across, down]: [number, number]): Rectangle | null {
  const left = Math.min(Math.max(x, 0), across);
  const top = Math.min(Math.max(y, 0), down);
  const right = Math.min(x + width, across);
  const bottom = Math.min(y + height, down);
  return right - left >= 1 && bottom - top >= 1 ? [left, top, right - left, bottom - top] : null;
}

function parsed(text: string): Rectangle | null {
  const numbers = text.split(/[\s,;×x]+/).filter(Boolean).map(Number);
  return numbers.length === 4 && numbers.every(Number.isInteger) ? (numbers as Rectangle) : null;
}
