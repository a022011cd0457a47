// Keys for everything, the list of them, and the language.

import { byId, el } from "../dom";
import { newest, type Store, type Tool, type ViewName } from "../store";
import { chosenLanguage, keepLanguage, t, toolWord, viewWord } from "../words";

const TOOL_KEYS: Record<string, Tool> = {
  p: "probe",
  l: "line",
  s: "step",
  r: "region",
  o: "point",
  c: "crop",
  m: "mask",
  t: "retouch",
};
const VIEW_KEYS: Record<string, ViewName> = { a: "1", b: "2", e: "3", f: "4", w: "wipe", d: "3d" };

/** Letters that choose a tool or a view, wherever nothing is being typed. */
export function mountKeys(store: Store): void {
  addEventListener("keydown", (event) => {
    const { target } = event;
    const typing =
      target instanceof HTMLElement && target.matches("input:not([type=checkbox], [type=range]), select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const [tool, view] = [TOOL_KEYS[event.key], VIEW_KEYS[event.key]];
    const free = !!newest(store.get());
    if (
      tool &&
      (free || tool === "probe" || ((tool === "crop" || tool === "mask") && store.get().server.frames.length))
    )
      store.choose({ tool });
    else if (view && free) store.choose({ view });
    else if (event.key === "x" && free) byId("export").click();
    else if (event.key === "?") showHelp();
    else return;
    event.preventDefault();
  });
}

export function mountHelp(): void {
  byId("help").addEventListener("click", showHelp);
}

function showHelp(): void {
  if (document.querySelector("dialog[open]")) return;
  const rows: [string, string][] = [
    ...Object.entries(TOOL_KEYS).map(([key, tool]): [string, string] => [key.toUpperCase(), toolWord(tool)]),
    ...Object.entries(VIEW_KEYS).map(([key, view]): [string, string] => [
      key.toUpperCase(),
      `${t("view")}: ${viewWord(view)}`,
    ]),
    ["X", t("takeAbout")],
    ["← → ↑ ↓", t("keyMove")],
    ["+ −", t("keyZoom")],
    ["0 · 1", t("keyFit")],
    ["Enter, Shift ← → ↑ ↓", t("keyPixel")],
    ["← → ↑ ↓", t("keyPen")],
    [`${t("space")}, Enter`, t("keySet")],
    ["Backspace, Esc", t("keyBack")],
    [", .", t("keyWipe")],
    ["Alt ← →", t("keyFrame")],
    ["[ ]", t("keyBrush")],
    ["Shift [ ]", t("keySoftness")],
    ["Ctrl Z", t("undo")],
    ["Ctrl Y", t("keyRedo")],
    ["?", t("help")],
  ];
  const dialog = el(
    "dialog",
    { class: "ask help-list", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, t("keys")),
    el(
      "table",
      {},
      ...rows.map(([key, words]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, key)), el("td", {}, words))),
    ),
    el("p", { class: "small muted" }, t("touch")),
    el("button", { type: "button", class: "primary wide", onclick: () => dialog.close() }, t("close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  dialog.scrollTop = 0; // the button that has the focus is the last thing of a long list
}

/** The page begins anew in the other language; nothing of the work is lost by that. */
export function mountLanguage(): void {
  const button = byId("language");
  const other = chosenLanguage() === "de" ? "en" : "de";
  button.textContent = other.toUpperCase();
  button.addEventListener("click", () => {
    keepLanguage(other);
    location.reload();
  });
}
