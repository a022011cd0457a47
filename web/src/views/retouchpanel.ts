// The panel of the brush: what it does, how large and soft it is, what it paints from, undo, slabs.

import { el } from "../dom";
import type { Session } from "../session";
import { current, type Brush, type Model, type PaintSource, type Store } from "../store";
import { t } from "../words";
import type { ResultInfo, StrokeTool } from "../wire";
import { resultTitle } from "./naming";

export interface PanelEvents {
  undo(): void;
  redo(): void;
  clear(): void;
  canRedo(): boolean;
}

const STROKES: StrokeTool[] = ["paint", "set-depth", "fill-depth", "smooth-depth", "erase-depth"];

export class RetouchPanel {
  private store: Store;
  private tools: HTMLButtonElement[];
  private shapes: HTMLButtonElement[];
  private radius = slider("brush-radius", t("brushSize"), 0, 1, 0.005);
  private softness = slider("brush-softness", t("softness"), 0, 1, 0.05);
  private sigma = slider("brush-sigma", t("smoothing"), 1, 40, 1);
  private source = el("select", { id: "paint-source", "aria-label": t("paintFrom") });
  private sourceRow = el("label", { class: "over small" }, el("span", {}, t("paintFrom")), this.source);
  private about = el("p", { class: "small muted" });
  private count = el("span", { class: "small muted grow", id: "stroke-count" });
  private undo: HTMLButtonElement;
  private redo: HTMLButtonElement;
  private clear: HTMLButtonElement;
  private off = el("p", { class: "small muted" }, t("retouchOff"));
  private body: HTMLElement;

  constructor(
    host: HTMLElement,
    private session: Session,
    private events: PanelEvents,
  ) {
    this.store = session.store;
    this.tools = STROKES.map((tool) =>
      this.choice(t(`stroke.${tool}`), { title: t(`stroke.${tool}.about`), "data-stroke": tool }, () => ({
        tool,
        outline: tool === "fill-depth" ? true : tool === "paint" ? false : this.brush.outline,
      })),
    );
    this.shapes = [false, true].map((outline) =>
      this.choice(outline ? t("outline") : t("brush"), { "data-outline": String(outline) }, () => ({ outline })),
    );
    const button = (id: string, words: string, act: () => void): HTMLButtonElement =>
      el("button", { type: "button", class: "small", id, onclick: act }, words);
    this.undo = button("undo-stroke", t("undo"), () => events.undo());
    this.redo = button("redo-stroke", t("redo"), () => events.redo());
    this.clear = button("clear-strokes", t("clearStrokes"), () => events.clear());
    this.radius.input.addEventListener("input", () =>
      this.change({ radius: fromSlider(Number(this.radius.input.value)) }),
    );
    this.softness.input.addEventListener("input", () => this.change({ softness: Number(this.softness.input.value) }));
    this.sigma.input.addEventListener("input", () => this.change({ sigma: Number(this.sigma.input.value) }));
    this.source.addEventListener("change", () => this.change({ source: parsedSource(this.source.value) }));
    this.body = el(
      "div",
      {},
      el("div", { class: "segments small wrap", role: "radiogroup", "aria-label": t("retouchWhat") }, ...this.tools),
      this.about,
      el("div", { class: "segments small", role: "radiogroup", "aria-label": t("strokeShape") }, ...this.shapes),
      this.radius.row,
      this.softness.row,
      this.sigma.row,
      this.sourceRow,
      el("div", { class: "row" }, this.undo, this.redo, this.clear, this.count),
      this.slabForm(),
      el("p", { class: "small muted" }, t("retouchHint")),
    );
    host.append(el("h2", {}, t("retouch")), this.off, this.body);
    this.store.watch(
      (m) => [m.choices.brush, current(m), m.server.results, m.server.frames.length],
      (m) => this.show(m),
    );
  }

  private get brush(): Brush {
    return this.store.get().choices.brush;
  }

  private change(to: Partial<Brush>): void {
    this.store.choose({ brush: { ...this.brush, ...to } });
  }

  private choice(words: string, attributes: Record<string, string>, to: () => Partial<Brush>): HTMLButtonElement {
    return el("button", { type: "button", role: "radio", ...attributes, onclick: () => this.change(to()) }, words);
  }

  private slabForm(): HTMLElement {
    const number = (id: string, words: string, value: number, min: number): [HTMLInputElement, HTMLElement] => {
      const input = el("input", { type: "number", id, value, min, step: 1 });
      return [input, el("label", { class: "field small" }, el("span", {}, words), input)];
    };
    const [size, sizeRow] = number("slab-size", t("slabSize"), 10, 3);
    const [overlap, overlapRow] = number("slab-overlap", t("slabOverlap"), 3, 0);
    this.store.watch(
      (m) => [m.server.frames.length],
      (m) => (size.value = String(slabSize(m))),
    );
    const make = el("button", { type: "button", class: "small", id: "make-slabs" }, t("makeSlabs"));
    make.addEventListener("click", () => {
      const version = current(this.store.get())?.version;
      if (version === undefined) return;
      make.disabled = true;
      void this.session
        .slabs(version, Number(size.value), Number(overlap.value))
        .finally(() => (make.disabled = false));
    });
    return el(
      "details",
      { id: "slabs" },
      el("summary", {}, t("slabs")),
      el("p", { class: "small muted" }, t("slabsAbout")),
      sizeRow,
      overlapRow,
      make,
    );
  }

  private show(model: Model): void {
    const { brush } = model.choices;
    const result = current(model);
    const usable = !!result && !result.preview && (result.saved || result.revision > 0) && !!model.server.frames.length;
    this.off.hidden = usable;
    this.body.hidden = !usable;
    if (!usable) return;
    this.tools.forEach((b, k) => b.setAttribute("aria-checked", String(STROKES[k] === brush.tool)));
    this.shapes.forEach((b, k) => b.setAttribute("aria-checked", String(brush.outline === (k === 1))));
    const byHand = brush.tool === "set-depth" || brush.tool === "fill-depth";
    this.about.textContent = t(`stroke.${brush.tool}.about`) + "." + (byHand ? ` ${t("handMade")}` : "");
    this.radius.show(toSlider(brush.radius), t("pixels", { count: brush.radius }));
    this.softness.show(brush.softness, t("percent", { count: Math.round(100 * brush.softness) }));
    this.sigma.show(brush.sigma, t("pixels", { count: brush.sigma }));
    this.sigma.row.hidden = brush.tool !== "smooth-depth";
    this.sourceRow.hidden = brush.tool !== "paint";
    this.showSources(model, result, brush.source);
    const count = result.strokes.length;
    this.count.textContent = count === 1 ? t("oneStroke") : t("strokeCount", { count });
    this.undo.disabled = this.clear.disabled = !result.strokes.length;
    this.redo.disabled = !this.events.canRedo();
  }

  private showSources(model: Model, result: ResultInfo, chosen: PaintSource): void {
    const others = model.server.results.filter((r) => !r.preview && r.version !== result.version);
    const options = [
      ["frame", t("fromFrame")],
      ...others.map((r) => [`result ${r.version}`, t("fromResult", { name: resultTitle(model, r) })]),
      ...result.slabs.map((s, k) => [`slab ${k}`, t("fromSlab", { k: k + 1, first: s.first, last: s.last })]),
    ] as [string, string][];
    this.source.replaceChildren(...options.map(([value, words]) => el("option", { value }, words)));
    const value =
      chosen.from === "frame" ? "frame" : chosen.from === "slab" ? `slab ${chosen.slab}` : `result ${chosen.version}`;
    this.source.value = value;
  }
}

function parsedSource(text: string): PaintSource {
  const [kind, number] = text.split(" ");
  if (kind === "result") return { from: "result", version: Number(number) };
  return kind === "slab" ? { from: "slab", slab: Number(number) } : { from: "frame" };
}

/** Sizes are spread evenly in their logarithm, from 1 to 2000 pixels. */
const toSlider = (radius: number): number => Math.log(radius) / Math.log(2000);
const fromSlider = (share: number): number => Math.max(Math.round(2000 ** share), 1);

function slider(
  id: string,
  words: string,
  min: number,
  max: number,
  step: number,
): { row: HTMLElement; input: HTMLInputElement; show(value: number, text: string): void } {
  const input = el("input", { type: "range", id, min, max, step });
  const output = el("output", { class: "small", for: id });
  const row = el("label", { class: "brush-row small" }, el("span", {}, words), input, output);
  return {
    row,
    input,
    show: (value, text) => {
      input.value = String(value);
      input.setAttribute("aria-valuetext", text);
      output.textContent = text;
    },
  };
}

/** Frames in a slab, of which there are some: ten, or a third of a small stack. */
function slabSize(model: Model): number {
  return Math.min(Math.max(Math.round(model.server.frames.length / 3), 3), 10);
}
