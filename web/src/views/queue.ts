// Stacks that wait for their turn: in order, how far the one in hand is, and what can be done with each.

import { byId, el } from "../dom";
import type { Session } from "../session";
import { shareDone } from "../stages";
import { serverWords, stageWord, t } from "../words";
import type { QueueEntry } from "../wire";
import { unfold } from "./folding";

export function mountQueue(host: HTMLElement, session: Session): void {
  const { store } = session;
  const list = el("ol", { class: "queue" });
  const details = el(
    "details",
    { id: "queue" },
    el("summary", {}, t("queue")),
    el("p", { class: "small muted" }, t("queueAbout")),
    list,
    el("button", { type: "button", class: "wide", id: "add-folder" }, t("addFolder")),
  );
  host.append(details);
  const button = byId("queue-button");
  button.addEventListener("click", () => {
    unfold(store, "left");
    details.open = true;
    details.scrollIntoView({ block: "nearest" });
    details.querySelector("summary")!.focus();
  });
  let shape = "";
  let count = 0;
  store.watch(
    (m) => [m.server.queue, m.server.session],
    ({ server: { queue, session: open } }) => {
      if (queue.length > count) details.open = true; // something was added
      count = queue.length;
      button.hidden = !queue.length;
      const over = queue.filter((e) => e.state === "done").length;
      const running = queue.find((e) => e.state === "running");
      const words = t("queueCount", { done: over, all: queue.length });
      button.replaceChildren(el("span", { "aria-hidden": "true" }, "≡ "), `${over}/${queue.length}`);
      button.setAttribute("aria-label", `${t("queue")} ${over}/${queue.length}`);
      button.title = running ? `${words} · ${running.title}: ${percent(running)}` : words;
      // While only progress moves, buttons stay what they are: one that is pressed must not be replaced.
      const now = JSON.stringify([open, queue.map((e) => [e.name, e.state, e.title, e.message])]);
      if (now !== shape) {
        const focused = (document.activeElement as HTMLElement | null)?.dataset["act"];
        list.replaceChildren(...queue.map((entry, k) => row(session, entry, k, queue.length, entry.name === open)));
        if (focused) list.querySelector<HTMLElement>(`[data-act="${CSS.escape(focused)}"]`)?.focus();
      }
      shape = now;
      if (running) showProgress(list, running);
    },
  );
}

function share({ busy, method }: QueueEntry): number {
  return busy ? shareDone(busy.stage, busy.done, busy.total, method || "auto", busy.full) : 0;
}

function percent(entry: QueueEntry): string {
  return t("percent", { count: Math.round(100 * share(entry)) });
}

function showProgress(list: HTMLElement, entry: QueueEntry): void {
  const item = list.querySelector(`[data-queued="${entry.name}"]`);
  const bar = item?.querySelector("progress");
  const words = item?.querySelector(".state");
  if (!bar || !words || !entry.busy) return;
  bar.value = Math.max(bar.value, share(entry));
  words.textContent = `${stageWord(entry.busy.stage)} · ${t("percent", { count: Math.round(100 * bar.value) })}`;
}

function row(session: Session, entry: QueueEntry, k: number, all: number, open: boolean): HTMLElement {
  const { name, title, state, message } = entry;
  const button = (act: string, words: string, label: string, click: () => void, off = false): HTMLElement =>
    el(
      "button",
      {
        type: "button",
        class: words.length > 2 ? "small" : "icon",
        "aria-label": `${label}: ${title}`,
        title: label,
        "data-act": `${act} ${name}`,
        disabled: off,
        onclick: click,
      },
      words,
    );
  const active = state === "running" || state === "waiting";
  return el(
    "li",
    { "data-queued": name, "data-state": state },
    el(
      "div",
      { class: "row spread" },
      el("strong", { class: "grow cut", title }, title),
      button("up", "↑", t("earlier"), () => session.queue(name, { do: "move", by: -1 }), k === 0),
      button("down", "↓", t("later"), () => session.queue(name, { do: "move", by: 1 }), k === all - 1),
      button("remove", "×", t("takeOut"), () => session.queue(name, { do: "remove" })),
    ),
    el("span", { class: "state small muted" }, t(`queue.${state}`)),
    state === "running" ? el("progress", { max: 1, value: 0, "aria-label": title }) : "",
    message ? el("p", { class: "small warning" }, serverWords(message)) : "",
    el(
      "div",
      { class: "row" },
      active ? button("cancel", t("cancel"), t("cancel"), () => session.queue(name, { do: "cancel" })) : "",
      state === "failed" || state === "cancelled"
        ? button("again", t("again"), t("again"), () => session.queue(name, { do: "again" }))
        : "",
      active || open ? "" : button("open", t("openStack"), t("openStack"), () => session.reopen(name)),
      open ? el("span", { class: "small muted" }, t("isOpen")) : "",
    ),
  );
}
