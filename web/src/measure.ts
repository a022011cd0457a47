// Tools that measure: a line gives a height profile, two rectangles a step, one its roughness.

import uPlot from "uplot";
import { post, Refusal } from "./api";
import { el, short } from "./dom";

export type Tool = "probe" | "line" | "step" | "region" | "crop" | "mask";
export type Box = [number, number, number, number];

interface Answer {
  title: string;
  rows: [string, string][];
  profile?: { distance: number[]; height: (number | null)[]; distance_unit: string; unit: string };
  note?: string;
}

export const TOOLS: [Tool, string, string][] = [
  ["probe", "Probe", "Click a pixel to see its contrast over focus; drag to move"],
  ["line", "Profile", "Draw a line to see the height along it"],
  ["step", "Step", "Draw two rectangles to measure the step between them"],
  ["region", "Region", "Draw a rectangle to measure its roughness"],
  ["crop", "Crop", "Draw the rectangle that is reconstructed"],
  ["mask", "Mask", "Draw around what counts, or what does not"],
];

const MEASURING: Tool[] = ["line", "step", "region"];

export class Measure {
  tool: Tool = "probe";
  /** What is drawn: of a line its ends, of rectangles their corners. */
  shapes: Box[] = [];
  private answer = el("div", { id: "measured" });
  private hint = el("p", { class: "small muted" });
  private drawing = false;
  private plot: uPlot | null = null;
  private asking: AbortController | null = null;

  changed: (() => void) | null = null;

  constructor(host: HTMLElement, private version: () => number | null) {
    host.append(el("h2", {}, "Measure"), this.hint, this.answer);
    this.choose("probe");
  }

  choose(tool: Tool): void {
    if (tool !== this.tool) this.shapes = [];
    this.tool = tool;
    this.plot?.destroy();
    this.plot = null;
    this.answer.replaceChildren();
    this.hint.textContent =
      !MEASURING.includes(tool) ? "Profile, Step and Region, below the maps, measure in real units." : TOOLS.find((t) => t[0] === tool)![2];
    this.changed?.();
  }

  press(x: number, y: number): boolean {
    if (!MEASURING.includes(this.tool)) return false;
    if (this.tool !== "step" || this.shapes.length >= 2) this.shapes = [];
    this.shapes.push([x, y, x, y]);
    this.drawing = true;
    return true;
  }

  drag(x: number, y: number): void {
    const shape = this.shapes.at(-1);
    if (!this.drawing || !shape) return;
    shape[2] = x;
    shape[3] = y;
    this.changed?.();
  }

  release(moved: boolean): void {
    if (!this.drawing) return;
    this.drawing = false;
    if (!moved) this.shapes.pop();
    this.changed?.();
    void this.ask();
  }

  /** Measure again, for example after the depth changed. */
  async ask(): Promise<void> {
    const version = this.version();
    const needed = this.tool === "step" ? 2 : 1;
    if (version === null || !MEASURING.includes(this.tool) || this.shapes.length < needed) return;
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      const answer = await post<Answer>(
        `/api/results/${version}/measure`,
        { kind: this.tool, shapes: this.shapes.map((s) => (this.tool === "line" ? s : upright(s))) },
        this.asking.signal,
      );
      this.show(answer);
    } catch (error) {
      if (error instanceof Refusal) this.answer.replaceChildren(el("p", { class: "warning" }, error.message));
    }
  }

  private show(answer: Answer): void {
    this.plot?.destroy();
    this.plot = null;
    const table = el("table", {}, ...answer.rows.map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", {}, value))));
    const place = el("div", { class: "plot" });
    this.answer.replaceChildren(el("h3", {}, answer.title), table, place, answer.note ? el("p", { class: "small muted" }, answer.note) : "");
    const profile = answer.profile;
    if (profile) this.drawProfile(place, profile);
    this.answer.scrollIntoView({ block: "nearest" });
  }

  private drawProfile(place: HTMLElement, profile: NonNullable<Answer["profile"]>): void {
    const style = getComputedStyle(document.documentElement);
    const line = style.getPropertyValue("--line").trim();
    const axis = { stroke: style.getPropertyValue("--muted").trim(), grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui", labelFont: "11px system-ui" };
    this.plot = new uPlot(
      {
        width: Math.max(place.clientWidth, 240),
        height: 170,
        legend: { show: false },
        scales: { x: { time: false } },
        axes: [
          { ...axis, size: 32, label: `distance, ${profile.distance_unit}`, labelSize: 18 },
          { ...axis, size: 46, label: `height, ${profile.unit}`, labelSize: 16, values: (_, t) => t.map((v) => short(v, 3)) },
        ],
        series: [{}, { stroke: style.getPropertyValue("--accent").trim(), width: 1.5 }],
      },
      [profile.distance, profile.height] as uPlot.AlignedData,
      place,
    );
  }

  /** Draw the shapes onto a pane. */
  draw(context: CanvasRenderingContext2D, toScreen: (x: number, y: number) => [number, number]): void {
    context.lineWidth = 1.5;
    this.shapes.forEach((shape, k) => {
      const [x0, y0] = toScreen(shape[0], shape[1]);
      const [x1, y1] = toScreen(shape[2], shape[3]);
      for (const [style, width] of [["rgb(0 0 0 / 60%)", 3.5], ["#fff", 1.5]] as const) {
        context.strokeStyle = style;
        context.lineWidth = width;
        context.beginPath();
        if (this.tool === "line") {
          context.moveTo(x0, y0);
          context.lineTo(x1, y1);
        } else context.rect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
        context.stroke();
      }
      if (this.tool === "step") {
        context.font = "600 13px system-ui";
        context.fillStyle = "#fff";
        context.fillText(k ? "B" : "A", Math.min(x0, x1) + 5, Math.min(y0, y1) + 16);
      }
    });
  }
}

function upright([x0, y0, x1, y1]: Box): Box {
  return [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
}
