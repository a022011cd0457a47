// Colour map and range of the maps, with the histogram of what is shown.

import { el, short } from "./dom";

const BINS = 96;
const WIDTH = 272;
const HEIGHT = 64;

export class Colours {
  private canvas = el("canvas", { width: WIDTH * 2, height: HEIGHT * 2, class: "histogram", "aria-hidden": "true" });
  private low = el("input", { type: "number", step: "any", "aria-label": "Lowest value" });
  private high = el("input", { type: "number", step: "any", "aria-label": "Highest value" });
  private choice = el("select", { id: "palette", "aria-label": "Colour map" });
  private title = el("span", {});
  private counts = new Float32Array(BINS);
  private span: [number, number] = [0, 1];
  private range: [number, number] = [0, 1];
  private palettes = new Map<string, Uint8Array>();
  private palette = "viridis";

  ranged: ((range: [number, number] | null) => void) | null = null;
  coloured: ((palette: string) => void) | null = null;

  constructor(host: HTMLElement) {
    host.append(
      el("div", { class: "row spread" }, el("h2", {}, "Colours"), this.title),
      this.canvas,
      el("div", { class: "row" }, this.low, el("span", { class: "muted" }, "to"), this.high),
      el("div", { class: "row" }, this.choice,
        el("button", { type: "button", onclick: () => this.ranged?.(null) }, "Auto")),
    );
    const typed = (): void => {
      const range: [number, number] = [Number(this.low.value), Number(this.high.value)];
      if (range[1] > range[0]) this.ranged?.(range);
    };
    this.low.addEventListener("change", typed);
    this.high.addEventListener("change", typed);
    this.choice.addEventListener("change", () => this.coloured?.(this.choice.value));
    let end = -1;
    this.canvas.addEventListener("pointerdown", (event) => {
      const value = this.valueAt(event);
      end = Math.abs(value - this.range[0]) < Math.abs(value - this.range[1]) ? 0 : 1;
      this.canvas.setPointerCapture(event.pointerId);
      this.move(end, value);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (end >= 0) this.move(end, this.valueAt(event));
    });
    this.canvas.addEventListener("pointerup", () => (end = -1));
  }

  setPalettes(palettes: Map<string, Uint8Array>, chosen: string): void {
    this.palettes = palettes;
    this.palette = chosen;
    this.choice.replaceChildren(
      ...[...palettes.keys()].map((name) => el("option", { value: name, selected: name === chosen }, name)),
    );
    this.draw();
  }

  /** Show the values of a map, some of which may be NaN. */
  setValues(title: string, unit: string, values: Float32Array | null, range: [number, number], palette: string): void {
    this.title.textContent = unit ? `${title}, ${unit}` : title;
    this.range = range;
    this.palette = palette;
    this.choice.value = palette;
    this.low.value = short(range[0]);
    this.high.value = short(range[1]);
    this.counts.fill(0);
    if (values) {
      let low = Infinity;
      let high = -Infinity;
      for (const v of values) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
      if (high > low) this.span = [Math.min(low, range[0]), Math.max(high, range[1])];
      else this.span = range;
      const scale = BINS / (this.span[1] - this.span[0]);
      for (const v of values) {
        if (v === v) this.counts[Math.min(Math.floor((v - this.span[0]) * scale), BINS - 1)]!++;
      }
    } else this.span = range;
    this.draw();
  }

  private valueAt(event: PointerEvent): number {
    const box = this.canvas.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    return this.span[0] + share * (this.span[1] - this.span[0]);
  }

  private move(end: number, value: number): void {
    const range: [number, number] = [...this.range];
    range[end] = value;
    const least = (this.span[1] - this.span[0]) / 500;
    if (range[1] - range[0] < least) return;
    this.range = range;
    this.ranged?.(range);
  }

  private draw(): void {
    const context = this.canvas.getContext("2d")!;
    const { width, height } = this.canvas;
    context.clearRect(0, 0, width, height);
    const colours = this.palettes.get(this.palette);
    const peak = Math.max(...this.counts, 1);
    const [low, high] = this.span;
    const bar = 10;
    for (let k = 0; k < BINS; k++) {
      const value = low + ((k + 0.5) / BINS) * (high - low);
      const share = Math.min(Math.max((value - this.range[0]) / (this.range[1] - this.range[0]), 0), 1);
      const at = 3 * Math.round(share * 255);
      context.fillStyle = colours ? `rgb(${colours[at]} ${colours[at + 1]} ${colours[at + 2]})` : "grey";
      const x = (k * width) / BINS;
      const tall = Math.sqrt(this.counts[k]! / peak) * (height - bar - 6);
      context.fillRect(x, height - bar - 4 - tall, width / BINS - 1, tall);
      context.fillRect(x, height - bar, width / BINS + 1, bar);
    }
    context.fillStyle = getComputedStyle(this.canvas).color;
    for (const value of this.range) {
      const x = Math.min(Math.max(((value - low) / (high - low)) * width, 1.5), width - 1.5);
      context.fillRect(x - 1.5, 0, 3, height);
    }
  }
}
