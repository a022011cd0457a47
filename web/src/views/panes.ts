// The stage: maps in linked panes, what is drawn on them, and the value under the cursor.

import { byId, el } from "../dom";
import {
  current,
  difference,
  MAPS,
  newest,
  partOf,
  resultOf,
  shownPanes,
  type MapName,
  type Model,
  type PaneChoice,
  type Store,
} from "../store";
import { mapWord, short, t, toolAbout, unitWord } from "../words";
import { cross } from "../viewer/ink";
import type { Filled, Rect, Viewer } from "../viewer/viewer";
import type { ResultInfo } from "../wire";
import { abandon, type Layer } from "./layer";
import { resultTitle } from "./naming";
import { Pen } from "./pen";
import { frameSource, sourceOf } from "./sources";

export class Panes {
  private hover: [number, number] | null = null;
  private heads = "";
  private pen: Pen;

  /**
   * @param frame which single frame is shown
   */
  constructor(
    private store: Store,
    readonly viewer: Viewer,
    private layers: Layer[],
    private frame: () => number | undefined,
  ) {
    viewer.decorate = (context, rects, filled) => this.decorate(context, rects, filled);
    viewer.onHover = (pane, x, y) => this.read(pane, x, y);
    viewer.onPress = (_, x, y) => {
      this.pen.rest();
      return layers.some((layer) => layer.press(x, y, viewer.scale()));
    };
    viewer.onDrag = (x, y) => layers.forEach((layer) => layer.drag(x, y, viewer.scale()));
    viewer.onRelease = (x, y, moved) => {
      layers.forEach((layer) => layer.release(moved));
      if (!moved && store.get().choices.tool === "probe") this.probe(x, y);
    };
    viewer.onTakeBack = () => layers.forEach(abandon);
    this.pen = new Pen(byId("stage"), store, viewer, layers, ([x, y]) => {
      const { width, height } = store.get().server;
      this.read(0, Math.min(x, width - 0.5), Math.min(y, height - 0.5));
      return byId("readout").textContent;
    });
    store.watch(
      (m) => [m.choices.tool, !current(m)],
      () => this.read(-1, 0, 0),
    );
    viewer.onNudge = (dx, dy) => this.nudge(dx, dy);
    viewer.viewed = () => {
      if (viewer.getView() !== store.get().choices.place) store.choose({ place: viewer.getView() });
    };
    viewer.setView(store.get().choices.place);
    store.watch(
      (m) => [
        m.server,
        m.sketch,
        m.choices.view,
        m.choices.panes,
        m.choices.current,
        m.choices.tool,
        m.choices.crop,
        m.choices.palettes,
        m.choices.ranges,
        m.choices.brush.source,
        m.choices.compared,
        m.choices.hatched,
        m.differences,
      ],
      () => this.show(),
    );
    store.watch(
      (m) => [m.choices.pixel],
      () => viewer.redraw(),
    );
    store.watch(
      (m) => [m.choices.session],
      (m) => viewer.setView(m.choices.place),
    );
    store.watch(
      (m) => [m.online],
      (m) => {
        if (m.online) viewer.retry();
      },
    );
    new ResizeObserver(() => this.showHeads()).observe(byId("stage"));
  }

  show(): void {
    const model = this.store.get();
    const { server, choices } = model;
    const relief = choices.view === "3d" && !!newest(model);
    byId("panes").hidden = relief;
    byId("tools").hidden = relief || !server.width;
    if (server.width) this.viewer.setImage(server.width, server.height);
    const drawing = choices.tool === "crop" || choices.tool === "mask";
    const part = drawing ? null : (choices.crop ?? partOf(model, current(model)));
    this.viewer.setTarget(part && { x: part[0], y: part[1], width: part[2], height: part[3] });
    const under = choices.crop || drawing ? frameSource(model, this.frame()) : null; // what lies around
    const sources = shownPanes(model).map((choice) => sourceOf(model, choice, this.frame()));
    if (choices.view === "wipe" && newest(model))
      this.viewer.setPanes([{ source: sources[0] ?? null, other: sources[1] ?? null, under }]);
    else this.viewer.setPanes(sources.map((source) => ({ source, under })));
    this.showHeads();
  }

  private setPane(k: number, change: Partial<PaneChoice>): void {
    const panes = this.store.get().choices.panes.map((pane, i) => (i === k ? { ...pane, ...change } : pane));
    this.store.choose({ panes });
  }

  /** Lists above the panes: which map, of which result. */
  private showHeads(): void {
    const model = this.store.get();
    const { server, choices } = model;
    const rects = this.viewer.rects();
    const offered = server.results.filter((r) => !r.preview);
    const maps = Object.keys(current(model)?.maps ?? {});
    const titles = offered.map((r) => resultTitle(model, r));
    const signature = JSON.stringify([
      difference(model)?.key,
      choices.view,
      server.width,
      shownPanes(model),
      rects,
      offered.map((r) => r.version),
      titles,
      maps,
      current(model)?.slabs.length,
    ]);
    if (signature === this.heads) return; // a list that is open stays open
    this.heads = signature;
    document.querySelectorAll(".pane-head").forEach((head) => head.remove());
    if ((choices.view === "3d" && newest(model)) || !server.width) return;
    const wipe = choices.view === "wipe" && !!newest(model);
    shownPanes(model).forEach((choice, k) => {
      const head = el("div", { class: "pane-head" }, this.mapList(model, choice, k, maps));
      if (choice.map !== "frame" && choice.map !== "difference" && offered.length > 1)
        head.append(this.resultList(choice, k, offered, titles));
      byId("panes").append(head);
      const rect = rects[wipe ? 0 : k]!;
      const right = wipe && k === 1;
      head.style.top = `${rect.y + 8}px`;
      head.style.left = right ? "auto" : `${rect.x + 8}px`;
      head.style.right = right ? "8px" : "auto";
      head.style.maxWidth = `${(wipe ? rect.width / 2 : rect.width) - 16}px`;
    });
  }

  private mapList(model: Model, choice: PaneChoice, k: number, maps: string[]): HTMLElement {
    const slabs = !!current(model)?.slabs.length;
    const available = newest(model)
      ? MAPS.filter(
          (m) =>
            m === "frame" ||
            m === "fused" ||
            maps.includes(m) ||
            (m === "slab" && slabs) ||
            (m === "difference" && difference(model)),
        )
      : (["frame"] as const);
    const list = el(
      "select",
      { "aria-label": t("shownInPane", { pane: k + 1 }), class: "pane-map" },
      ...available.map((m) => el("option", { value: m, selected: m === choice.map }, mapWord(m))),
    );
    list.addEventListener("change", () => this.setPane(k, { map: list.value as MapName }));
    return list;
  }

  private resultList(choice: PaneChoice, k: number, offered: ResultInfo[], titles: string[]): HTMLElement {
    const list = el(
      "select",
      { "aria-label": t("resultInPane", { pane: k + 1 }), class: "pane-result" },
      el("option", { value: 0, selected: choice.result === 0 }, t("currentResult")),
      ...offered.map((r, i) => el("option", { value: r.version, selected: r.version === choice.result }, titles[i])),
    );
    list.addEventListener("change", () => this.setPane(k, { result: Number(list.value) }));
    return list;
  }

  private decorate(context: CanvasRenderingContext2D, rects: Rect[], filled: Filled[]): void {
    const model = this.store.get();
    filled.forEach((how, k) => {
      if (how !== "shown" && model.server.width)
        caption(context, rects[k]!, t(how === "waiting" ? "loading" : "noMap"));
    });
    for (const rect of rects) {
      const toScreen = (x: number, y: number): [number, number] => this.viewer.toScreen(rect, x, y);
      context.save();
      context.beginPath();
      context.rect(rect.x, rect.y, rect.width, rect.height);
      context.clip();
      for (const layer of this.layers) layer.draw(context, toScreen);
      this.pen.draw(context, toScreen);
      for (const [point, radius] of [
        [model.choices.pixel, 9],
        [this.hover, 5],
      ] as const) {
        if (point) cross(context, toScreen(point[0] + 0.5, point[1] + 0.5), radius);
      }
      if (model.choices.view === "wipe" && newest(model))
        curtain(context, rect, rect.x + rect.width * this.viewer.divider);
      context.restore();
    }
  }

  /** Say what lies under the cursor. */
  private read(pane: number, x: number, y: number): void {
    const model = this.store.get();
    const inside = pane >= 0 && x >= 0 && y >= 0 && x < model.server.width && y < model.server.height;
    this.hover = inside ? [Math.floor(x), Math.floor(y)] : null;
    for (const layer of this.layers) layer.hover?.(inside ? [x, y] : null);
    const words: string[] = [];
    if (this.hover) {
      words.push(`${this.hover[0]}, ${this.hover[1]}`);
      const seen = new Set<string>();
      for (const choice of shownPanes(model)) {
        const source = sourceOf(model, choice, this.frame());
        if (!source || source.kind !== "map" || seen.has(source.key)) continue;
        seen.add(source.key);
        const value = this.viewer.value(source, x, y);
        if (!value) continue;
        const result = resultOf(model, choice)!;
        const whose = result === current(model) ? "" : ` (${resultTitle(model, result)})`;
        const unit = choice.map === "difference" ? result.unit : (result.maps[choice.map]?.unit ?? "");
        words.push(`${mapWord(choice.map)} ${short(value[0])} ${unitWord(unit)}`.trim() + whose);
      }
    }
    byId("readout").textContent = words.join("  ·  ") || this.hint();
    this.viewer.redraw();
  }

  /** What to do with the tool in hand. */
  private hint(): string {
    const { tool } = this.store.get().choices;
    const possible = tool === "probe" || tool === "crop" || tool === "mask" || current(this.store.get());
    return possible ? toolAbout(tool) : "";
  }

  private probe(x: number, y: number): void {
    const { width, height } = this.store.get().server;
    if (x >= 0 && y >= 0 && x < width && y < height) this.store.choose({ pixel: [Math.floor(x), Math.floor(y)] });
  }

  private nudge(dx: number, dy: number): void {
    const result = current(this.store.get());
    if (!result) return;
    const [left, top, width, height] = result.place;
    const [x, y] = this.store.get().choices.pixel ?? [left + (width >> 1), top + (height >> 1)];
    const clamp = (value: number, from: number, count: number): number =>
      Math.min(Math.max(value, from), from + count - 1);
    this.store.choose({ pixel: [clamp(x + dx, left, width), clamp(y + dy, top, height)] });
  }
}

/** Say why a pane is empty. */
function caption(context: CanvasRenderingContext2D, rect: Rect, words: string): void {
  context.font = `14px ${getComputedStyle(document.body).fontFamily}`;
  context.textAlign = "center";
  context.fillStyle = getComputedStyle(byId("stage")).color;
  context.fillText(words, rect.x + rect.width / 2, rect.y + rect.height / 2, rect.width - 16);
}

function curtain(context: CanvasRenderingContext2D, rect: Rect, x: number): void {
  context.fillStyle = "#fff";
  context.fillRect(x - 1, rect.y, 2, rect.height);
  context.beginPath();
  context.arc(x, rect.y + rect.height / 2, 9, 0, 7);
  context.fill();
}
