// The list of measurements: names, numbers, profiles, what is subtracted first, and tables.

import uPlot from "uplot";
import { el } from "../dom";
import { current, type Store } from "../store";
import { inUnits, quantityWord, serverWords, short, t, unitWord } from "../words";
import type { Level, Measured, Point, Profile, ResultInfo, Shape, Table } from "../wire";
import { offerUndo } from "./messages";
import { reveal } from "./reveal";

export interface ListEvents {
  /** A measurement was chosen. */
  select(k: number): void;
  /** The cursor of a profile is at this place of the frames. */
  marked(place: Point | null): void;
}

const LEVELS = ["none", "0", "1", "2", "3", "4", "points"] as const;

export class MeasureList {
  readonly element = el("div", { id: "measured" });
  private level = el(
    "select",
    { id: "level", "aria-label": t("levelBy") },
    ...LEVELS.map((value) => el("option", { value }, t(`level.${value}`))),
  );
  private items = el("div", {});
  private foot = el("div", { class: "row" });
  private plots: uPlot[] = [];
  private revealed = -1;

  constructor(
    private store: Store,
    private events: ListEvents,
  ) {
    this.element.append(
      el("label", { class: "over small" }, el("span", {}, t("levelBy")), this.level),
      this.items,
      this.foot,
    );
    this.level.addEventListener("change", () => store.choose({ level: this.chosenLevel() }));
    store.watch(
      (m) => [m.choices.level],
      (m) => {
        const { by, degree } = m.choices.level;
        this.level.value = by === "polynomial" ? String(degree) : by;
      },
    );
  }

  /** What the list says; three points begin near the corners of the result. */
  private chosenLevel(): Level {
    const value = this.level.value;
    const before = this.store.get().choices.level;
    if (value === "none") return { ...before, by: "none" };
    if (value !== "points") return { ...before, by: "polynomial", degree: Number(value) };
    const place = current(this.store.get())?.place ?? [0, 0, 1, 1];
    const at = (x: number, y: number): Point => [place[0] + x * place[2], place[1] + y * place[3]];
    const points = before.points.length === 3 ? before.points : [at(0.15, 0.15), at(0.85, 0.15), at(0.15, 0.85)];
    return { ...before, by: "points", points };
  }

  /** @param note is said in place of numbers */
  show(shapes: Shape[], table: Table | null, selected: number, note: string, result?: ResultInfo): void {
    for (const plot of this.plots) plot.destroy();
    this.plots = [];
    this.events.marked(null);
    const { level } = this.store.get().choices;
    this.items.replaceChildren(
      level.by === "points" ? el("p", { class: "small muted" }, t("levelPoints")) : "",
      note ? el("p", { class: "small muted" }, note) : "",
      ...shapes.map((shape, k) =>
        this.item(shape, k, table?.measured[k], k === selected || shapes.length === 1, result),
      ),
      shapes.length ? el("p", { class: "small muted" }, t("measureNote")) : "",
    );
    const link = (name: string, words: string): HTMLElement =>
      el(
        "a",
        {
          class: "download",
          href: `/api/results/${result?.version}/products/${name}`,
          download: name,
          "data-product": name,
        },
        words,
      );
    this.foot.replaceChildren(
      ...(table && result ? [link("measurements.csv", t("asTable"))] : []),
      ...(table?.measured.some((m) => m.profile) ? [link("profiles.csv", t("asProfiles"))] : []),
      ...(shapes.length
        ? [
            el(
              "button",
              { type: "button", class: "small", onclick: () => this.keep([], t("shapesRemoved")) },
              t("removeShapes"),
            ),
          ]
        : []),
    );
  }

  /** Bring a measurement into view. */
  reveal(k: number): void {
    const item = this.items.querySelectorAll<HTMLElement>("[data-shape]")[k];
    if (item) reveal(item);
    this.revealed = k; // once more when its profile is drawn
  }

  private item(shape: Shape, k: number, found: Measured | undefined, open: boolean, result?: ResultInfo): HTMLElement {
    const name = el("input", { type: "text", value: shape.name, "aria-label": t("nameOfShape"), maxlength: 100 });
    name.addEventListener("change", () => this.change(shape, { ...shape, name: name.value }));
    const remove = el(
      "button",
      {
        type: "button",
        class: "icon",
        "aria-label": t("removeShape", { name: shape.name }),
        onclick: () => this.change(shape, null),
      },
      "×",
    );
    const first = found?.rows.find(([quantity]) => quantity !== "length") ?? found?.rows[0];
    const summary = el(
      "summary",
      { class: "small" },
      `${t(`shape.${shape.kind}`)}: ${found?.problem ? serverWords(found.problem) : first ? `${quantityWord(first[0])} ${inUnits(first[1])}` : "…"}`,
    );
    const place = el("div", { class: "plot" });
    const rows = (found?.rows ?? []).map(([quantity, value]) =>
      el("tr", {}, el("th", {}, quantityWord(quantity)), el("td", {}, inUnits(value))),
    );
    const details = el("details", { class: "measurement", open }, summary, el("table", {}, ...rows), place);
    details.addEventListener("toggle", () => {
      if (details.open) this.events.select(k);
      if (details.open && found?.profile && result && !place.firstChild) {
        this.plot(place, found.profile, result);
        if (this.revealed === k) reveal(box);
        this.revealed = -1;
      }
    });
    const box = el(
      "div",
      { "data-shape": shape.name, class: "shape" },
      el("div", { class: "row" }, name, remove),
      details,
    );
    return box;
  }

  private change(shape: Shape, to: Shape | null): void {
    const { shapes } = this.store.get().choices;
    const changed = shapes.flatMap((s) => (s === shape ? (to ? [to] : []) : [s]));
    if (to) this.store.choose({ shapes: changed });
    else this.keep(changed, t("shapeRemoved", { name: shape.name }));
  }

  /** Remove all but these, which can be taken back. */
  private keep(shapes: Shape[], words: string): void {
    const before = this.store.get().choices.shapes;
    this.store.choose({ shapes });
    offerUndo(words, () => this.store.choose({ shapes: before }));
  }

  private plot(place: HTMLElement, profile: Profile, result: ResultInfo): void {
    const style = getComputedStyle(document.documentElement);
    const line = style.getPropertyValue("--line").trim();
    const axis = {
      stroke: style.getPropertyValue("--muted").trim(),
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1 },
      font: "11px system-ui",
      labelFont: "11px system-ui",
    };
    const mark = (plot: uPlot): void => {
      const k = plot.cursor.idx;
      const [x, y] = [profile.x[k ?? -1], profile.y[k ?? -1]];
      if (x === undefined || y === undefined) return this.events.marked(null);
      this.events.marked([result.place[0] + x + 0.5, result.place[1] + y + 0.5]);
    };
    this.plots.push(
      new uPlot(
        {
          width: Math.max(place.clientWidth, 240),
          height: 170,
          legend: { show: true },
          scales: { x: { time: false } },
          axes: [
            { ...axis, size: 32, label: `${t("distance")}, ${unitWord(profile.distance_unit)}`, labelSize: 18 },
            {
              ...axis,
              size: 46,
              label: `${t("height")}, ${unitWord(profile.unit)}`,
              labelSize: 16,
              values: (_, ticks) => ticks.map((v) => short(v, 3)),
            },
          ],
          series: [
            { label: t("distance"), value: (_, v: number | null) => (v === null ? "" : short(v)) },
            {
              label: t("height"),
              stroke: style.getPropertyValue("--accent").trim(),
              width: 1.5,
              value: (_, v: number | null) => (v === null ? "" : short(v)),
            },
          ],
          hooks: { setCursor: [mark] },
        },
        [profile.distance, profile.height] as uPlot.AlignedData,
        place,
      ),
    );
  }
}
