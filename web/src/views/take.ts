// Export: one decision each, named after the stack; everything else under “more”.

import { byId, el } from "../dom";
import { current, type Model, type Store } from "../store";
import { serverWords, t } from "../words";
import type { Product, ResultInfo } from "../wire";
import { unfold } from "./folding";
import { say } from "./messages";
import { resting } from "./resting";
import { reveal } from "./reveal";

/** What is offered first; all other files are under “more”. */
const FIRST = [
  "depth.tif",
  "model.glb",
  "print.stl",
  "points.ply",
  "measurements.csv",
  "report.html",
  "everything.zip",
];

export function mountTake(host: HTMLElement, store: Store): void {
  const options: Options = { format: "original", quality: 92, size: 100, base: 3, more: false };
  store.watch(
    (m) => [current(m), m.server.busy === null, m.choices.shapes.length],
    resting(store, (m) => show(host, m, current(m), options)),
  );
  const button = byId("export");
  store.watch(
    (m) => [!current(m)],
    (m) => (button.hidden = !current(m)),
  );
  button.addEventListener("click", () => goToExport(store, host));
}

/** Unfold the panel with the files, and stand at its first. */
function goToExport(store: Store, host: HTMLElement): void {
  unfold(store, "right");
  reveal(host, "start");
  host.querySelector<HTMLElement>("select, a, button")?.focus({ preventScroll: true });
}

/** What was chosen last. */
interface Options {
  format: "original" | "jpg" | "tif";
  quality: number;
  size: number;
  base: number;
  more: boolean;
}

function show(host: HTMLElement, model: Model, result: ResultInfo | undefined, options: Options): void {
  host.hidden = !result;
  if (!result) return host.replaceChildren();
  const waiting = (model.server.busy ?? result.preview) ? t("filesFollow") : t("filesWriting");
  host.replaceChildren(
    el("h2", {}, t("take")),
    ...(result.saved
      ? [cards(model, result, options), more(model, result, options)]
      : [el("p", { class: "small muted" }, waiting)]),
    ...command(result),
  );
}

function address(result: ResultInfo, name: string, query: Record<string, string | number> = {}): string {
  const all = { ...query, ...(result.revision ? { r: result.revision } : {}) };
  const text = new URLSearchParams(Object.entries(all).map(([k, v]) => [k, String(v)])).toString();
  return `/api/results/${result.version}/products/${name}${text ? `?${text}` : ""}`;
}

function link(result: ResultInfo, name: string, words: string, about = ""): HTMLAnchorElement {
  return el(
    "a",
    { class: "download", href: address(result, name), download: "", title: serverWords(about), "data-product": name },
    words,
  );
}

function card(title: string, about: string, ...inside: HTMLElement[]): HTMLElement {
  return el(
    "div",
    { class: "export-card" },
    el("div", {}, el("strong", {}, title), el("span", { class: "small muted" }, about)),
    ...inside,
  );
}

function cards(model: Model, result: ResultInfo, options: Options): HTMLElement {
  const plain = (kind: "depth" | "model" | "points" | "report" | "everything", name: string): HTMLElement =>
    card(t(`take.${kind}`), t(`take.${kind}.about`), link(result, name, t("download")));
  const measured = model.choices.shapes.length
    ? link(result, "measurements.csv", t("download"))
    : el("span", { class: "small muted" }, t("nothingMeasured"));
  return el(
    "div",
    { class: "exports" },
    picture(result, options),
    result.files.includes("depth.tif") ? plain("depth", "depth.tif") : "",
    plain("model", "model.glb"),
    print(result, options),
    plain("points", "points.ply"),
    card(t("take.measurements"), t("take.measurements.about"), measured),
    result.files.includes("report.html") ? plain("report", "report.html") : "",
    plain("everything", "everything.zip"),
  );
}

/** The all-in-focus image: as it is, as JPEG of a quality, or of 16 bits. */
function picture(result: ResultInfo, options: Options): HTMLElement {
  const original = result.files.find((name) => name.startsWith("fused.")) ?? "picture.tif";
  const take = link(result, original, t("download"));
  const quality = el("input", {
    type: "number",
    min: 1,
    max: 100,
    value: options.quality,
    "aria-label": t("quality"),
    id: "jpeg-quality",
  });
  const format = el(
    "select",
    { "aria-label": t("format"), id: "picture-format" },
    ...(["original", "jpg", "tif"] as const).map((value) =>
      el("option", { value, selected: value === options.format }, t(`format.${value}`)),
    ),
  );
  const update = (): void => {
    options.format = format.value as Options["format"];
    options.quality = Math.min(Math.max(Math.round(Number(quality.value)) || 92, 1), 100);
    const name = options.format === "original" ? original : `picture.${options.format}`;
    quality.hidden = options.format !== "jpg";
    take.href = address(result, name, options.format === "jpg" ? { quality: options.quality } : {});
    take.dataset["product"] = name;
  };
  format.addEventListener("change", update);
  quality.addEventListener("input", update);
  update();
  return card(t("take.picture"), t("take.picture.about"), el("div", { class: "row" }, format, quality), take);
}

/** The body to print: its longer side and its base in millimetres. */
function print(result: ResultInfo, options: Options): HTMLElement {
  const take = link(result, "print.stl", t("download"));
  const number = (key: "size" | "base", words: string): HTMLElement => {
    const input = el("input", { type: "number", min: 0.1, step: 0.1, value: options[key], id: `print-${key}` });
    input.addEventListener("input", () => {
      if (Number(input.value) > 0) options[key] = Number(input.value);
      update();
    });
    return el("label", { class: "small" }, words, input);
  };
  const update = (): void => {
    take.href = address(result, "print.stl", { size: options.size, base: options.base });
  };
  update();
  const fields = el("div", { class: "row" }, number("size", t("printSize")), number("base", t("printBase")));
  return card(t("take.print"), t("take.print.about"), fields, take);
}

function more(model: Model, result: ResultInfo, options: Options): HTMLElement {
  const there = (p: Product): boolean =>
    p.made
      ? (p.name !== "strokes.json" || result.strokes.length > 0) &&
        (p.name !== "profiles.csv" || model.choices.shapes.some((s) => s.kind === "line"))
      : result.files.includes(p.name);
  const others = model.server.products.filter((p) => there(p) && !FIRST.includes(p.name));
  const details = el(
    "details",
    { open: options.more, id: "more-files" },
    el("summary", {}, t("more")),
    el("div", { class: "downloads" }, ...others.map((p) => link(result, p.name, p.name, p.about))),
  );
  details.addEventListener("toggle", () => (options.more = details.open));
  return details;
}

/** A command whose words are not broken at their hyphens. */
function whole(text: string): (HTMLElement | string)[] {
  return text.split(/(\s+)/).map((word) => (/\S/.test(word) ? el("span", {}, word) : word));
}

function command(result: ResultInfo): (HTMLElement | string)[] {
  const text = result.command;
  if (!text) return result.preview ? [] : [el("p", { class: "small muted" }, t("noCommand"))];
  const copy = (): void => void navigator.clipboard.writeText(text).then(() => say(t("copied"), "note"));
  return [
    el("h3", {}, text.includes("\n") ? t("twoCommands") : t("oneCommand")),
    el("code", { class: "command", id: "command" }, ...whole(text)),
    el("button", { type: "button", onclick: copy }, t("copy")),
    result.parameters["mask"] ? el("p", { class: "small muted" }, t("maskIsAbove")) : "",
    result.strokes.length ? el("p", { class: "small muted" }, t("strokesAbove")) : "",
  ];
}
