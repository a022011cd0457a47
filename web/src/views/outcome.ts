// What came out: the current result in numbers, whether it is still what was asked for, and what to beware of.

import { el } from "../dom";
import type { Session } from "../session";
import { current, outdated, partOf, type Model, type Rectangle } from "../store";
import { decimal, ends, methodWord, serverWords, short, t, unitWord } from "../words";
import type { ResultInfo } from "../wire";
import { resultTitle } from "./naming";
import { resting } from "./resting";

/** Shares of pixels, and of the range of depths, by which a result departs from its sketch. */
const DEPARTURE = 0.1;

export function mountOutcome(host: HTMLElement, session: Session): void {
  session.store.watch(
    (m) => [current(m), m.server.frames],
    resting(session.store, (m) => show(host, session, m)),
  );
}

function show(host: HTMLElement, session: Session, model: Model): void {
  const result = current(model);
  if (!result) return host.replaceChildren();
  const list = el("dl", {});
  for (const [name, value] of rows(result, partOf(model, result))) list.append(el("dt", {}, name), el("dd", {}, value));
  const again = el("button", { type: "button", onclick: () => session.solve(true) }, t("reconstructAgain"));
  const notes = [...result.warnings.map(serverWords), departure(result)].filter(Boolean);
  host.replaceChildren(
    el("h3", {}, `${t("result")}: ${resultTitle(model, result)}`),
    outdated(model, result) ? el("div", { class: "warning", id: "outdated" }, el("p", {}, t("outdated")), again) : "",
    list,
    ...notes.map((text) => el("p", { class: "warning" }, text)),
  );
}

/** In words, where the result in full size is not what its sketch promised. */
export function departure(result: ResultInfo): string {
  const { sketched } = result;
  const depth = result.maps["depth"];
  if (result.preview || !sketched || !depth) return "";
  const width = Math.max(sketched.range[1] - sketched.range[0], 1e-12);
  const moved = Math.max(...depth.range.map((end, k) => Math.abs(end - sketched.range[k]!))) / width;
  const words: string[] = [];
  if (Math.abs(result.sure - sketched.sure) > DEPARTURE)
    words.push(t("sketchSure", { full: Math.round(result.sure * 100), sketch: Math.round(sketched.sure * 100) }));
  if (moved > DEPARTURE)
    words.push(
      t("sketchRange", {
        full: span(depth.range),
        sketch: span(sketched.range),
        unit: unitWord(result.unit),
      }),
    );
  return words.length ? `${t("departs")} ${words.join("; ")}.` : "";
}

function rows(result: ResultInfo, part: Rectangle | null): [string, string][] {
  const depth = result.maps["depth"];
  return [
    [t("method"), methodWord(result.method).replace(/ \(.*/, "")],
    [t("depth"), depth ? `${span(depth.range)} ${unitWord(result.unit)}` : ""],
    [t("sure"), t("shareOfPixels", { percent: percent(result.sure) })],
    [t("unsure"), t("shareOfPixels", { percent: percent(result.unsure) })],
    ...(result.unknown > 0
      ? ([[t("unknownDepth"), t("shareOfPixels", { percent: percent(result.unknown) })]] as [string, string][])
      : []),
    ...(part && !result.preview
      ? []
      : ([[t("size"), `${result.width} × ${result.height}${result.preview ? ` (${t("preview")})` : ""}`]] as [
          string,
          string,
        ][])),
    ...(part
      ? ([[t("part"), t("partPlace", { width: part[2], height: part[3], x: part[0], y: part[1] })]] as [
          string,
          string,
        ][])
      : []),
    ...(result.seconds === null ? [] : ([[t("time"), `${short(result.seconds, 2)} s`]] as [string, string][])),
  ];
}

/** A range in words. */
function span(range: [number, number]): string {
  const [low, high] = ends(range);
  return `${decimal(String(low))} … ${decimal(String(high))}`;
}

/** A share in percent; a little is not nothing, and nearly all is not all. */
function percent(share: number): string {
  const rounded = Math.round(share * 100);
  if (rounded === 0 && share > 0) return "< 1";
  return rounded === 100 && share < 1 ? "> 99" : String(rounded);
}
