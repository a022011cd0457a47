// Words for people: notes that go by themselves, problems that stay until they were read.

import { Offline, Refusal } from "../api";
import { byId, el } from "../dom";
import { serverWords, t } from "../words";

/** Milliseconds that a note stays. */
const NOTE_STAYS = 4000;

/** Milliseconds that an offer to take something back stays. */
const UNDO_STAYS = 15000;

export function say(text: string, kind: "bad" | "note" = "bad", ...extra: HTMLElement[]): HTMLElement {
  const box = el(
    "div",
    { class: kind === "note" ? "message note" : "message" },
    el("span", { class: "grow" }, text),
    ...extra,
  );
  box.append(el("button", { type: "button", "aria-label": t("close"), onclick: () => box.remove() }, "×"));
  byId("messages").append(box);
  if (kind === "note") setTimeout(() => box.remove(), extra.length ? UNDO_STAYS : NOTE_STAYS);
  return box;
}

/** What can be taken back, the last first. */
const done: { action: () => void; box: HTMLElement }[] = [];

/** Say what was done, and offer to take it back, here and by Ctrl+Z. */
export function offerUndo(text: string, action: () => void): void {
  for (const before of done) before.box.remove(); // one offer hides enough of the maps; Ctrl+Z knows the others
  const button = el("button", { type: "button", class: "undo" }, t("undo"));
  const entry = { action, box: say(text, "note", button) };
  button.addEventListener("click", () => undo(entry));
  done.push(entry);
}

function undo(entry = done.at(-1)): void {
  if (!entry) return;
  done.splice(done.indexOf(entry), 1);
  entry.box.remove();
  entry.action();
}

export function mountUndo(): void {
  addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement && event.target.type === "text";
    if (typing || event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
    event.preventDefault();
    undo();
  });
}

/** Say what went wrong; that the server is gone is said by the notice of it. */
export function complain(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (error instanceof Offline) return;
  say(error instanceof Refusal ? serverWords(error.message) : t("bug", { what: String(error) }));
}

export async function attempt(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    complain(error);
  }
}
