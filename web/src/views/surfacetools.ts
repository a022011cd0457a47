// The box of switches of the surface.

import { el } from "../dom";
import { t } from "../words";

export type Coat = "picture" | "height" | "plain";
export type From = "front" | "top" | "bottom" | "north" | "south" | "west" | "east";

export interface SurfaceChoices {
  /** Factor on heights. */
  height: number;
  /** Direction of the light. */
  angle: number;
  follows: boolean;
  coat: Coat;
  axes: boolean;
  contours: boolean;
  parallel: boolean;
}

export interface SurfaceEvents {
  changed(what: keyof SurfaceChoices): void;
  look(from: From): void;
  save(): void;
  folded(): void;
}

const COATS: Coat[] = ["picture", "height", "plain"];
const SIDES: From[] = ["front", "top", "bottom", "south", "north", "west", "east"];

export function surfaceTools(choices: SurfaceChoices, words: HTMLElement, events: SurfaceEvents): HTMLDetailsElement {
  const range = (key: "height" | "angle", label: string, about: string, ends: number[], shown: number): HTMLElement => {
    const [min, max, step] = ends as [number, number, number];
    const input = el("input", {
      type: "range",
      min,
      max,
      step,
      value: shown,
      "aria-label": about,
      id: `surface-${key}`,
    });
    input.addEventListener("input", () => {
      choices[key] = key === "height" ? 4 ** Number(input.value) : Number(input.value);
      events.changed(key);
    });
    return el("label", { class: "small" }, label, input);
  };
  const box = (key: "follows" | "axes" | "contours" | "parallel", label: string): HTMLElement => {
    const input = el("input", { type: "checkbox", checked: choices[key], id: key });
    input.addEventListener("change", () => {
      choices[key] = input.checked;
      events.changed(key);
    });
    return el("label", { class: "row small" }, input, label);
  };
  const coat = el(
    "select",
    { id: "coat", "aria-label": t("coat") },
    ...COATS.map((value) => el("option", { value }, t(`coat.${value}`))),
  );
  coat.addEventListener("change", () => {
    choices.coat = coat.value as Coat;
    events.changed("coat");
  });
  const sides = SIDES.map((from) =>
    el(
      "button",
      { type: "button", class: "small", "data-from": from, onclick: () => events.look(from) },
      t(`from.${from}`),
    ),
  );
  const narrow = matchMedia("(max-width: 900px)"); // there they would hide what they are for
  const tools = el(
    "details",
    { class: "surface-tools", open: !narrow.matches },
    el("summary", {}, t("surfaceTools")),
    el("label", { class: "small" }, t("coat"), coat),
    el("div", { class: "sides", role: "group", "aria-label": t("viewFrom") }, ...sides),
    range("height", t("heightWord"), t("exaggerate"), [-1, 1, 0.02], 0),
    words,
    range("angle", t("light"), t("lightAbout"), [0, 6.28, 0.05], choices.angle),
    box("follows", t("lightFollows")),
    box("axes", t("axes")),
    box("contours", t("contours")),
    box("parallel", t("flat")),
    el("button", { type: "button", class: "small", id: "save-view", onclick: () => events.save() }, t("savePng")),
  );
  narrow.addEventListener("change", () => (tools.open = !narrow.matches));
  tools.addEventListener("toggle", () => events.folded());
  return tools;
}
