// Colour map and range of the maps, with the histogram of what is shown.

import { el } from "../dom";
import type { Session } from "../session";
import { near, newest, resultOf, shownPanes, type Model, type PaneChoice } from "../store";
import { ends, mapWord, t, unitWord } from "../words";
import { levels } from "../viewer/layout";
import { resting } from "./resting";
import { sourceOf } from "./sources";

const BINS = 96;
const WIDTH = 272;
const HEIGHT = 64;

export class Colours {
  private canvas = el("canvas", { width: WIDTH * 2, height: HEIGHT * 2, class: "histogram", "aria-hidden": "true" });
  private low = el("input", { type: "number", step: "any", "aria-label": t("lowest") });
  private high = el("input", { type: "number", step: "any", "aria-label": t("highest") });
  private choice = el("select", { id: "palette", "aria-label": t("colourMap") });
  private title = el("span", {});
  private left = el("span", {});
  private right = el("span", {});
  private turn = el("button", { type: "button", id: "turn", class: "small", title: t("turnAbout") }, t("turn"));
  private seen = el("span", { class: "muted small", id: "near-seen" });
  private ends = el("div", { class: "ends small" }, this.left, this.turn, this.right, this.seen);
  private hatch = el("input", { type: "checkbox", id: "hatch" });
  private counts = new Float32Array(BINS);
  private span: [number, number] = [0, 1];
  private range: [number, number] = [0, 1];
  private palette = "viridis";

  constructor(
    private host: HTMLElement,
    private session: Session,
    private palettes: Map<string, Uint8Array>,
  ) {
    const { store } = session;
    this.turn.addEventListener("click", () => session.turn());
    this.hatch.addEventListener("change", () => store.choose({ hatched: this.hatch.checked }));
    host.append(
      el("div", { class: "row spread" }, el("h2", {}, t("colours")), this.title),
      this.canvas,
      this.ends,
      el("div", { class: "row" }, this.low, el("span", { class: "muted" }, t("to")), this.high),
      el(
        "div",
        { class: "row" },
        this.choice,
        el("button", { type: "button", onclick: () => this.setRange(null) }, t("auto")),
      ),
    );
    host.append(el("label", { class: "row small", title: t("hatchAbout") }, this.hatch, t("hatch")));
    const typed = (): void => {
      const range: [number, number] = [Number(this.low.value), Number(this.high.value)];
      if (range[1] > range[0]) this.setRange(range);
    };
    this.low.addEventListener("change", typed);
    this.high.addEventListener("change", typed);
    this.choice.addEventListener("change", () => this.setPalette(this.choice.value));
    this.choice.append(...[...palettes.keys()].map((name) => el("option", { value: name }, name)));
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
    store.watch(
      (m) => [
        m.server.results,
        m.choices.view,
        m.choices.panes,
        m.choices.current,
        m.choices.ranges,
        m.choices.palettes,
        m.choices.hatched,
        m.choices.compared,
        m.differences,
        m.server.near,
      ],
      resting(store, (m) => void this.show(m)),
    );
  }

  private setRange(range: [number, number] | null): void {
    const { map } = coloured(this.session.store.get());
    const { [map]: _, ...others } = this.session.store.get().choices.ranges;
    this.session.store.choose({ ranges: range ? { ...others, [map]: range } : others });
  }

  private setPalette(name: string): void {
    const { palettes } = this.session.store.get().choices;
    this.session.store.choose({ palettes: { ...palettes, [coloured(this.session.store.get()).map]: name } });
  }

  private async show(model: Model): Promise<void> {
    const choice = coloured(model);
    const source = newest(model) ? sourceOf(model, choice, undefined) : null;
    this.host.hidden = !source;
    if (!source) return;
    this.showEnds(model, choice);
    this.hatch.checked = model.choices.hatched;
    const top = levels(source.width, source.height, model.server.tile) - 1;
    try {
      const values = new Float32Array(await source.tile(top, 0, 0, new AbortController().signal));
      const of = resultOf(model, choice);
      const unit = choice.map === "difference" ? (of?.unit ?? "") : (of?.maps[choice.map]?.unit ?? "");
      this.setValues(mapWord(choice.map), unit, values, source.range, source.palette);
    } catch {
      // A newer result has replaced this one; its own call follows.
    }
  }

  /** Show the values of a map, some of which may be NaN. */
  private setValues(
    title: string,
    unit: string,
    values: Float32Array | null,
    range: [number, number],
    palette: string,
  ): void {
    this.title.textContent = unit ? `${title}, ${unitWord(unit)}` : title;
    this.range = range;
    this.palette = palette;
    this.choice.value = palette;
    [this.low.value, this.high.value] = ends(range).map(String) as [string, string];
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

  /** Say which end of the scale is near. */
  private showEnds(model: Model, choice: PaneChoice): void {
    const result = resultOf(model, choice);
    this.ends.hidden = choice.map !== "depth" || !result;
    if (!result) return;
    const small = near(model, result) === "small";
    this.left.textContent = small ? t("near") : t("far");
    this.right.textContent = small ? t("far") : t("near");
    this.seen.textContent = model.server.near ? t("nearSaid") : result.near_seen ? t("nearSeen") : t("nearAssumed");
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
    this.setRange(range);
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

/** Colours are those of the first pane that shows a map. */
function coloured(model: Model): PaneChoice {
  return shownPanes(model).find((c) => c.map !== "fused" && c.map !== "frame") ?? { map: "depth", result: 0 };
}
