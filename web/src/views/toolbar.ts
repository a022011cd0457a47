// Which view, which tool, light or dark.

import { byId, el } from "../dom";
import { newest, TOOLS, VIEWS, type Store, type Tool } from "../store";
import { t, toolAbout, toolWord, viewAbout, viewWord } from "../words";
import type { Viewer } from "../viewer/viewer";

export function mountViews(store: Store): void {
  const buttons = VIEWS.map((view, k) => {
    const button = el(
      "button",
      { type: "button", role: "radio", "data-view": view, title: viewAbout(view) },
      viewWord(view),
    );
    button.addEventListener("click", () => store.choose({ view }));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = buttons[(k + step + buttons.length) % buttons.length]!;
      next.click();
      next.focus();
    });
    return button;
  });
  byId("views").append(...buttons);
  store.watch(
    (m) => [m.choices.view, !newest(m)],
    (m) =>
      buttons.forEach((button, k) => {
        const chosen = VIEWS[k] === m.choices.view;
        button.setAttribute("aria-checked", String(chosen));
        button.tabIndex = chosen ? 0 : -1; // one stop of the tab key, as with any choice
        button.disabled = !newest(m);
      }),
  );
}

/** Tools after which there is a gap. */
const LAST_OF_KIND: Tool[] = ["probe", "point", "mask"];

export function mountTools(store: Store, viewer: Viewer): void {
  const buttons = TOOLS.map((tool) =>
    el(
      "button",
      { type: "button", "data-tool": tool, title: toolAbout(tool), onclick: () => store.choose({ tool }) },
      toolWord(tool),
    ),
  );
  buttons.forEach((button, k) => button.classList.toggle("apart", k > 0 && LAST_OF_KIND.includes(TOOLS[k - 1]!)));
  const fit = el(
    "button",
    { type: "button", class: "apart", title: t("fitAbout"), onclick: () => viewer.fit() },
    t("fit"),
  );
  byId("tools").append(el("div", { class: "tools", role: "toolbar", "aria-label": t("tools") }, ...buttons, fit));
  store.watch(
    (m) => [m.choices.tool, !newest(m), m.server.frames.length],
    (m) =>
      buttons.forEach((button, k) => {
        const tool = TOOLS[k]!;
        button.setAttribute("aria-pressed", String(tool === m.choices.tool));
        button.disabled = tool === "crop" || tool === "mask" ? !m.server.frames.length : tool !== "probe" && !newest(m);
      }),
  );
}

/** Light or dark: the system's choice, until the user makes another. */
export function mountTheme(changed: (dark: boolean) => void): void {
  const root = document.documentElement;
  const set = (theme: string): void => {
    root.dataset["theme"] = theme;
    changed(theme === "dark");
  };
  set(
    localStorage.getItem("varfocus-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
  );
  byId("theme").addEventListener("click", () => {
    const next = root.dataset["theme"] === "dark" ? "light" : "dark";
    localStorage.setItem("varfocus-theme", next);
    set(next);
  });
}
