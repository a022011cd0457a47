// What counts: a rectangle and outlines, drawn on the maps and shown as words.

import { el } from "../dom";
import type { Session } from "../session";
import type { Model, Rectangle, Store } from "../store";
import { t } from "../words";
import { CHOSEN, MARKED, traced } from "../viewer/ink";
import { parsed, spanned, within } from "../viewer/layout";
import type { Mask, Outline } from "../wire";
import type { Layer } from "./layer";

/** Screen pixels between two corners of an outline. */
const SPACING = 4;

export class Area implements Layer {
  private counts = true;
  private drawing: { tool: "crop" | "mask"; points: [number, number][] } | null = null;
  private text = el("input", {
    type: "text",
    id: "crop",
    placeholder: t("allOfFrames"),
    title: t("cropAbout"),
    "aria-label": t("cropLabel"),
    spellcheck: "false",
  });
  private clearCrop = el(
    "button",
    { type: "button", class: "icon", title: t("allOfFrames"), "aria-label": t("removeCrop") },
    "×",
  );
  private words = el("span", { class: "muted small grow" });
  private undo = el("button", { type: "button", class: "small", title: t("undoOutline") }, t("undo"));
  private clearMask = el(
    "button",
    { type: "button", class: "icon", title: t("everythingCounts"), "aria-label": t("removeMask") },
    "×",
  );
  private kinds: HTMLButtonElement[];
  private choice: HTMLElement;
  private store: Store;

  /** @param changed is called when there is something to draw */
  constructor(
    host: HTMLElement,
    private session: Session,
    private changed: () => void,
  ) {
    this.store = session.store;
    this.kinds = [true, false].map((counts) => {
      const button = el("button", { type: "button", role: "radio" }, counts ? t("keep") : t("leaveOut"));
      button.addEventListener("click", () => {
        this.counts = counts;
        this.show(this.store.get());
      });
      return button;
    });
    this.choice = el(
      "div",
      { class: "segments small", role: "radiogroup", "aria-label": t("outlineMarks"), hidden: true },
      ...this.kinds,
    );
    host.append(
      el("h3", {}, t("whatCounts")),
      el("div", { class: "area-row" }, el("span", {}, t("crop")), this.text, this.clearCrop),
      el("div", { class: "area-row" }, el("span", {}, t("mask")), this.words, this.undo, this.clearMask),
      this.choice,
    );
    this.text.addEventListener("change", () => this.setBox(parsed(this.text.value)));
    this.clearCrop.addEventListener("click", () => this.setBox(null));
    this.undo.addEventListener("click", () =>
      this.session.mask({ outlines: this.mask!.outlines.slice(0, -1), base: this.mask!.base }),
    );
    this.clearMask.addEventListener("click", () => this.session.mask({ outlines: [], base: false }));
    this.store.watch(
      (m) => [m.choices.crop, m.server.mask, m.server.width, m.server.height],
      (m) => {
        const { crop } = m.choices;
        const { width, height } = m.server;
        if (crop && width && !samePlace(within(crop, [width, height]), crop)) this.store.choose({ crop: null });
        else this.show(m);
      },
    );
    this.store.watch(
      (m) => [m.choices.tool],
      (m) => {
        this.choice.hidden = m.choices.tool !== "mask";
        this.drawing = null;
      },
    );
  }

  private get mask(): Mask | null {
    return this.store.get().server.mask;
  }

  private get size(): [number, number] {
    const { width, height } = this.store.get().server;
    return [width, height];
  }

  private setBox(box: Rectangle | null): void {
    this.store.choose({ crop: box && within(box, this.size) });
    this.show(this.store.get());
    this.session.solveAgain();
  }

  press(x: number, y: number): boolean {
    const { tool } = this.store.get().choices;
    if (tool !== "crop" && tool !== "mask") return false;
    this.drawing = { tool, points: [[x, y]] };
    return true;
  }

  drag(x: number, y: number, scale: number): void {
    const drawing = this.drawing;
    if (!drawing) return;
    const last = drawing.points.at(-1)!;
    if (drawing.tool === "crop") drawing.points[1] = [x, y];
    else if (Math.hypot(x - last[0], y - last[1]) * scale >= SPACING) drawing.points.push([x, y]);
    this.changed();
  }

  release(): boolean {
    const drawing = this.drawing;
    this.drawing = null;
    const complete = !!drawing && drawing.points.length >= (drawing.tool === "crop" ? 2 : 3);
    if (complete && drawing.tool === "crop") this.setBox(spanned(drawing.points));
    if (complete && drawing.tool === "mask") {
      const outline: Outline = [this.counts, drawing.points];
      this.session.mask({ outlines: [...(this.mask?.outlines ?? []), outline], base: this.mask?.base ?? false });
    }
    this.changed();
    return complete;
  }

  corners(): boolean {
    return this.drawing?.tool === "mask";
  }

  takeBack(): [number, number] | null {
    this.drawing?.points.pop();
    if (this.drawing?.tool !== "mask" || !this.drawing.points.length) this.drawing = null;
    this.changed();
    return this.drawing?.points.at(-1) ?? null;
  }

  private show({ choices, server: { mask } }: Model): void {
    // News from the server must not undo what is being typed.
    if (document.activeElement !== this.text) this.text.value = choices.crop?.join(",") ?? "";
    this.clearCrop.disabled = !choices.crop;
    const drawn = mask?.outlines.length ?? 0;
    const outlines = drawn === 1 ? t("oneOutline") : t("outlines", { count: drawn });
    this.words.textContent = !mask
      ? t("everything")
      : mask.base
        ? drawn
          ? `${t("asGiven")}, ${outlines}`
          : t("asGiven")
        : outlines;
    this.undo.disabled = !drawn;
    this.clearMask.disabled = !mask;
    this.kinds.forEach((button, k) => button.setAttribute("aria-checked", String(this.counts === (k === 0))));
    this.changed();
  }

  /** Draw rectangle and outlines onto a pane. */
  draw(context: CanvasRenderingContext2D, toScreen: (x: number, y: number) => [number, number]): void {
    const box =
      this.drawing?.tool === "crop" && this.drawing.points.length === 2
        ? within(spanned(this.drawing.points), this.size)
        : this.store.get().choices.crop;
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
      const path = (): void => {
        points.forEach(([x, y], k) => (k ? context.lineTo(...toScreen(x, y)) : context.moveTo(...toScreen(x, y))));
        context.closePath();
      };
      traced(context, path, counts ? CHOSEN : MARKED, 1.5, counts ? [] : [5, 4]);
    }
  }
}

function samePlace(a: Rectangle | null, b: Rectangle): boolean {
  return a !== null && a.every((value, k) => value === b[k]);
}
