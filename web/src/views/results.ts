// All results: which one everything speaks of, what is different about each, and what to do with it.

import { el } from "../dom";
import type { Session } from "../session";
import { compared, current, difference, type Model } from "../store";
import { choiceWord, methodWord, parameterWord, short, t, unitWord } from "../words";
import type { ResultInfo, Value } from "../wire";
import { resultTitle } from "./naming";
import { resting } from "./resting";
import { coarsest, tileOf } from "./sources";

/** Longest side of a small picture. */
const SMALL = 56;

export class Results {
  private pictures = new Map<string, HTMLCanvasElement>();
  private renaming = 0;

  constructor(
    private host: HTMLElement,
    private session: Session,
    private palettes: Map<string, Uint8Array>,
  ) {
    session.store.watch(
      (m) => [m.server.results, m.choices.current, m.choices.compared, m.differences],
      resting(session.store, (m) => this.show(m)),
    );
  }

  private show(model: Model): void {
    const results = [...model.server.results].reverse();
    this.host.hidden = !results.length;
    if (this.renaming && results.some((r) => r.version === this.renaming)) return; // news must not end what is being typed
    this.host.replaceChildren(
      el("h2", {}, t("results")),
      el("ol", { class: "results" }, ...results.map((result, k) => this.row(model, result, results[k + 1]))),
      ...this.comparison(model),
    );
  }

  private row(model: Model, result: ResultInfo, before: ResultInfo | undefined): HTMLElement {
    const chosen = result.version === current(model)?.version;
    const title = resultTitle(model, result);
    const act = (
      sign: string,
      words: string,
      action: (event: Event) => void,
      pressed?: boolean,
      disabled = false,
    ): HTMLElement =>
      el(
        "button",
        {
          type: "button",
          class: "icon",
          title: words,
          "aria-label": `${words}: ${title}`,
          onclick: action,
          disabled,
          ...(pressed === undefined ? {} : { "aria-pressed": String(pressed) }),
        },
        sign,
      );
    const about = el(
      "button",
      {
        type: "button",
        class: "about",
        "aria-current": String(chosen),
        "data-result": result.version,
        onclick: () => this.session.choose(result),
      },
      this.picture(model, result),
      el(
        "span",
        { class: "grow" },
        el("strong", {}, title),
        el("span", { class: "small muted" }, changes(result, before)),
        el("span", { class: "small muted" }, facts(result)),
      ),
    );
    const rename = (event: Event): void => {
      const field = this.nameField(result, title);
      (event.currentTarget as HTMLElement).closest("li")!.append(field);
      this.renaming = result.version;
      field.select();
    };
    return el(
      "li",
      { class: chosen ? "chosen" : "" },
      about,
      el(
        "span",
        { class: "acts" },
        act(
          result.pinned ? "★" : "☆",
          t("pin"),
          () => this.session.edit(result, { pinned: !result.pinned }),
          result.pinned,
        ),
        act("✎", t("rename"), rename),
        act(
          "⇄",
          t("compare"),
          () => this.session.compare(result),
          result.version === compared(model)?.version,
          chosen || result.preview,
        ),
        act("×", t("delete"), () => this.session.edit(result, { deleted: true })),
      ),
    );
  }

  private nameField(result: ResultInfo, title: string): HTMLInputElement {
    const field = el("input", {
      type: "text",
      class: "rename",
      value: title,
      "aria-label": t("rename"),
      maxlength: 120,
    });
    const end = (keep: boolean): void => {
      if (!this.renaming) return;
      this.renaming = 0;
      if (keep && field.value !== title) this.session.edit(result, { name: field.value });
      this.show(this.session.store.get());
    };
    field.addEventListener("blur", () => end(true));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    });
    return field;
  }

  /** In words, what is between the two results that are compared. */
  private comparison(model: Model): HTMLElement[] {
    const other = compared(model);
    if (!other) return [];
    const info = difference(model)?.info;
    const words = info
      ? t("comparison", {
          percent: Math.round(info.same * 100),
          most: short(info.range[1], 3),
          unit: unitWord(info.unit),
        })
      : t("comparing");
    return [
      el(
        "p",
        { class: "small", id: "comparison" },
        `A: ${resultTitle(model, current(model)!)}; B: ${resultTitle(model, other)}. ${words}`,
      ),
      el("button", { type: "button", onclick: () => this.session.endComparison() }, t("endComparison")),
    ];
  }

  /** The depth map, small. */
  private picture(model: Model, result: ResultInfo): HTMLCanvasElement {
    const key = `${result.version}/${result.preview ? "preview" : "full"}@${result.revision}`;
    const there = this.pictures.get(key);
    if (there) return there;
    for (const other of this.pictures.keys()) if (other.startsWith(`${result.version}/`)) this.pictures.delete(other); // as it was before
    const shrink = SMALL / Math.max(result.width, result.height);
    const canvas = el("canvas", {
      width: Math.round(result.width * shrink),
      height: Math.round(result.height * shrink),
      "aria-hidden": "true",
    });
    this.pictures.set(key, canvas);
    const level = coarsest(result, model.server.tile);
    void tileOf(model, result, "depth", level, 0, 0).then(
      (buffer) =>
        this.paint(canvas, new Float32Array(buffer), Math.ceil(result.width / 2 ** level), result.maps["depth"]!.range),
      () => this.pictures.delete(key),
    );
    return canvas;
  }

  private paint(canvas: HTMLCanvasElement, depth: Float32Array, columns: number, [low, high]: [number, number]): void {
    const colours = this.palettes.get("viridis")!;
    const rows = depth.length / columns;
    const context = canvas.getContext("2d")!;
    const data = context.createImageData(canvas.width, canvas.height);
    for (let j = 0; j < canvas.height; j++) {
      for (let i = 0; i < canvas.width; i++) {
        const value =
          depth[
            Math.floor(((j + 0.5) * rows) / canvas.height) * columns + Math.floor(((i + 0.5) * columns) / canvas.width)
          ]!;
        const share = Math.min(Math.max((value - low) / (high - low), 0), 1);
        const at = 3 * Math.round(share * 255);
        if (value === value)
          data.data.set([colours[at]!, colours[at + 1]!, colours[at + 2]!, 255], 4 * (j * canvas.width + i));
      }
    }
    context.putImageData(data, 0, 0);
  }
}

/** What is different from the result before, in words. */
function changes(result: ResultInfo, before: ResultInfo | undefined): string {
  if (!before) return t("firstResult");
  const names = new Set([...Object.keys(result.parameters), ...Object.keys(before.parameters)]);
  const words = [...names]
    .filter(
      (name) =>
        name !== "crop" &&
        name !== "mask" &&
        String(result.parameters[name] ?? "") !== String(before.parameters[name] ?? ""),
    )
    .filter((name) => name === "method" || (name in result.parameters && name in before.parameters))
    .map((name) => `${parameterWord(name)} ${valueWord(name, result.parameters[name])}`);
  if (result.frames.join() !== before.frames.join()) words.push(t("otherFrames"));
  return words.length ? words.slice(0, 4).join(", ") : t("sameSettings");
}

function valueWord(name: string, value: Value | undefined): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (typeof value === "number") return short(value);
  return name === "method" ? methodWord(value) : choiceWord(name, value);
}

/** Crop, mask and time, in words. */
function facts(result: ResultInfo): string {
  const time = new Date(result.made * 1000).toLocaleTimeString(document.documentElement.lang, { timeStyle: "short" });
  return [
    result.preview ? t("preview") : "",
    result.parameters["crop"] ? `${t("crop")} ${String(result.parameters["crop"])}` : "",
    result.parameters["mask"] ? t("mask") : "",
    result.seconds === null ? "" : `${short(result.seconds, 2)} s`,
    time,
  ]
    .filter(Boolean)
    .join(" · ");
}
