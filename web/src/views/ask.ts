// A question that must be answered before something happens.

import { el } from "../dom";
import { t } from "../words";

export interface Answer<Value> {
  value: Value;
  words: string;
  /** What it means. */
  about: string;
}

/** Ask; null if the question was dismissed. */
export function ask<Value>(question: string, answers: Answer<Value>[]): Promise<Value | null> {
  return new Promise((resolve) => {
    const dialog = el("dialog", { class: "ask", "aria-labelledby": "question" });
    const close = (value: Value | null): void => {
      dialog.remove();
      resolve(value);
    };
    const buttons = answers.map((answer, k) =>
      el(
        "button",
        { type: "button", class: k ? "wide" : "primary wide", onclick: () => close(answer.value) },
        el("strong", {}, answer.words),
        el("span", { class: "small" }, answer.about),
      ),
    );
    dialog.append(
      el("h2", { id: "question" }, question),
      ...buttons,
      el("button", { type: "button", class: "wide", onclick: () => close(null) }, t("cancel")),
    );
    dialog.addEventListener("cancel", () => close(null));
    document.body.append(dialog);
    dialog.showModal();
  });
}
