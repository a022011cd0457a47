// How far the work is: one bar over all stages, the time that remains, and how to stop it.

import { el } from "../dom";
import type { Session } from "../session";
import { inWords, secondsLeft, shareDone } from "../stages";
import { busy, newest, SENDING, type Model } from "../store";
import { stageWord, t } from "../words";
import type { Busy } from "../wire";

/** Milliseconds between two words about progress: more would cost more than they are worth. */
const TOLD_EVERY = 100;

/** Milliseconds of work that go without words: a sketch is there before they could be read. */
const SILENT = 350;

export class Progress {
  private began = 0;
  private silent = 0;
  private told = 0;
  private version = 0;
  private share = 0;
  private stage = el("span", { class: "stage" });
  private left = el("span", { class: "muted" });
  private bar = el("progress", { max: 1, value: 0 });
  private stop = el("button", { type: "button", class: "wide", id: "cancel" }, t("cancel"));

  constructor(
    private host: HTMLElement,
    private session: Session,
  ) {
    host.append(el("div", { class: "row spread" }, this.stage, this.left), this.bar, this.stop);
    this.stop.addEventListener("click", () => session.cancel());
    session.store.watch(
      (m) => [busy(m)],
      () => this.show(),
    );
  }

  private show(): void {
    clearTimeout(this.silent);
    const model = this.session.store.get();
    const work = busy(model);
    if (!work) {
      this.host.hidden = true;
      this.began = 0;
      return;
    }
    const now = performance.now();
    if (!this.began || work.version !== this.version) [this.began, this.share, this.version] = [now, 0, work.version];
    if (now - this.began < SILENT) {
      this.silent = window.setTimeout(() => this.show(), SILENT - (now - this.began));
      return;
    }
    // What nobody waits for, as files after a stroke, hides no map; and it cannot be stopped.
    const aside = work !== model.server.busy && work.version !== SENDING;
    this.stop.hidden = aside;
    this.host.classList.toggle("aside", aside && !!newest(model));
    const shown = !this.host.hidden;
    this.host.hidden = false;
    if (shown && work.done < work.total && now - this.told < TOLD_EVERY) return;
    this.told = now;
    this.share = Math.max(this.share, overall(model, work)); // a bar that goes back is no bar
    const seconds = secondsLeft(this.share, (now - this.began) / 1000);
    this.stage.textContent = stageWord(work.stage);
    this.left.textContent = seconds === null ? "" : timeLeft(seconds);
    this.bar.value = this.share;
    this.bar.setAttribute("aria-label", stageWord(work.stage));
  }
}

function overall(model: Model, work: Busy): number {
  if (work !== model.server.busy) return work.total ? work.done / work.total : 0;
  const sketched = newest(model)?.version === work.version;
  const method = newest(model)?.method ?? "auto";
  return shareDone(work.stage, work.done, work.total, method, sketched);
}

function timeLeft(seconds: number): string {
  const { count, unit } = inWords(seconds);
  return unit === "moment"
    ? t("momentLeft")
    : unit === "seconds"
      ? t("secondsLeft", { count })
      : t("minutesLeft", { count });
}
