// One pixel: its contrast over focus, the model fitted to it, and the depth that was chosen.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { get } from "../api";
import { el } from "../dom";
import { current, type Store } from "../store";
import { serverWords, short, t, unitWord } from "../words";
import type { Curve } from "../wire";
import { attempt } from "./messages";
import { reveal } from "./reveal";

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export class Pixel {
  private place = el("div", { class: "plot", id: "curve" });
  private words = el("p", { class: "small" }, t("clickPixel"));
  private facts = el("dl", { id: "facts" });
  private plot: uPlot | null = null;
  private shown: Curve | null = null;

  private asking: AbortController | null = null;

  private revealed: [number, number] | null = null;

  constructor(
    private host: HTMLElement,
    private store: Store,
  ) {
    host.append(el("h2", {}, t("pixel")), this.words, this.facts, this.place);
    store.watch(
      // While a slider moves the worker has better to do.
      (m) => [m.choices.pixel, current(m)?.version, current(m)?.preview, current(m)?.revision],
      (m) => {
        host.hidden = !current(m);
        if (!m.choices.pixel || !current(m)) this.clear();
        else if (!current(m)!.preview || !this.shown) void this.ask();
      },
    );
  }

  private async ask(): Promise<void> {
    const model = this.store.get();
    const [x, y] = model.choices.pixel!;
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    await attempt(async () => {
      this.show(x, y, await get<Curve>(`/api/results/${current(model)!.version}/curve?x=${x}&y=${y}`, signal));
      if (this.revealed !== model.choices.pixel) reveal(this.host); // chosen now, not asked for again
      this.revealed = model.choices.pixel;
    });
  }

  private clear(): void {
    this.shown = null;
    this.plot?.destroy();
    this.plot = null;
    this.facts.replaceChildren();
    this.words.textContent = t("clickPixel");
  }

  /** Draw again, after light and dark were exchanged. */
  redraw(): void {
    if (this.shown) this.draw(this.shown);
  }

  private show(x: number, y: number, curve: Curve): void {
    const unit = unitWord(curve.unit);
    const rows: [string, string][] = [
      [t("pixel"), `${x}, ${y}`],
      [t("depth"), curve.depth === null ? t("unknown") : `${short(curve.depth)} ${unit}`],
    ];
    if (curve.uncertainty !== null) rows.push([t("standardError"), `± ${short(curve.uncertainty, 2)} ${unit}`]);
    rows.push([t("confidence"), `${Math.round(curve.confidence * 100)} %`]);
    this.facts.replaceChildren(...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
    this.words.textContent = curve.note && serverWords(curve.note);
    this.shown = curve;
    this.draw(curve);
  }

  private draw(curve: Curve): void {
    this.plot?.destroy();
    const grid = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: colour("--muted"), grid, ticks: grid, font: "11px system-ui", size: 34 };
    const series = uPlot.join([
      [curve.focus, curve.contrast],
      [curve.model_focus, curve.model],
    ] as uPlot.AlignedData[]);
    const options: uPlot.Options = {
      width: Math.max(this.place.clientWidth, 240),
      height: 190,
      legend: { show: false },
      cursor: { drag: { setScale: false } },
      scales: { x: { time: false } },
      axes: [
        {
          ...axis,
          label: curve.unit === "frames" ? t("frame") : `${t("focus")}, ${curve.unit}`,
          labelSize: 18,
          labelFont: "11px system-ui",
        },
        {
          ...axis,
          size: 44,
          label: t("contrast"),
          labelSize: 16,
          labelFont: "11px system-ui",
          values: (_, ticks) => ticks.map((t) => short(t, 2)),
        },
      ],
      series: [
        {},
        {
          stroke: colour("--accent"),
          width: 0,
          paths: () => null,
          points: { show: true, size: 6, fill: colour("--accent"), space: 0 },
        },
        { stroke: colour("--text"), width: 1.5, spanGaps: true, points: { show: false } },
      ],
      hooks: { drawClear: [(plot) => this.mark(plot, curve)] },
    };
    this.plot = new uPlot(options, series, this.place);
  }

  private mark(plot: uPlot, curve: Curve): void {
    if (curve.depth === null) return;
    const { ctx: context, bbox } = plot;
    const x = plot.valToPos(curve.depth, "x", true);
    context.save();
    if (curve.uncertainty !== null) {
      const half = Math.abs(plot.valToPos(curve.depth + curve.uncertainty, "x", true) - x);
      context.fillStyle = colour("--accent-soft");
      context.fillRect(x - half, bbox.top, 2 * half, bbox.height);
    }
    context.fillStyle = colour("--accent");
    context.fillRect(x - 1, bbox.top, 2, bbox.height);
    context.restore();
  }
}
