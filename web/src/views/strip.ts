// The bottom: frames in order of focus, to be reordered, reversed, left out and scrubbed through.

import { bytes } from "../api";
import { el } from "../dom";
import { oddNames } from "../oddnames";
import type { Session } from "../session";
import { serverWords, t } from "../words";
import type { FrameInfo } from "../wire";
import { say } from "./messages";

/** Fewest frames that make a stack. */
export const FEWEST = 3;

export class Strip {
  private frames: FrameInfo[] = [];
  private size: [number, number] | null = null;
  private list = el("ol", { class: "frames" });
  private slider = el("input", { type: "range", min: 0, step: 1, "aria-label": t("frame"), id: "scrub" });
  private caption = el("span", { class: "caption" });
  private few = el("p", { class: "warning", id: "few", role: "status", hidden: true });
  private odd = el("div", { class: "warning row", id: "odd", role: "status", hidden: true });
  /** Frames that are said to be some, whatever they are called. */
  private known = new Set<number>();
  private pictures = new Map<number, HTMLCanvasElement>();
  private chosen = 0;
  private dragged: number | null = null;
  /** Moved by keys; keeps the focus. */
  private focused: number | null = null;

  /** Called when another frame is chosen. */
  scrubbed: (() => void) | null = null;

  constructor(
    host: HTMLElement,
    private session: Session,
  ) {
    host.append(
      this.few,
      this.odd,
      el(
        "div",
        { class: "row strip-head" },
        el("strong", {}, t("frames")),
        this.caption,
        this.slider,
        el(
          "button",
          {
            type: "button",
            id: "reverse",
            title: t("reverseAbout"),
            onclick: () => this.send([...this.frames].reverse()),
          },
          t("reverse"),
        ),
      ),
      this.list,
    );
    this.slider.addEventListener("input", () => this.choose(this.frames[Number(this.slider.value)]?.id));
    session.store.watch(
      (m) => [m.server.frames, m.server.preview],
      (m) => {
        host.hidden = m.server.frames.length === 0;
        this.setFrames(m.server.frames, m.server.preview);
      },
    );
  }

  /** The frame that is shown as a single one. */
  current(): number | undefined {
    const usable = this.frames.filter((f) => !f.problem);
    return (usable.find((f) => f.id === this.chosen) ?? usable[0])?.id;
  }

  private setFrames(frames: FrameInfo[], size: [number, number] | null): void {
    this.frames = frames;
    this.size = size;
    const count = frames.filter((f) => !f.problem).length;
    this.few.hidden = count === 0 || count >= FEWEST;
    this.few.textContent = count === 1 ? t("oneFrame") : t("twoFrames");
    this.warn(frames);
    this.slider.max = String(Math.max(frames.length - 1, 0));
    if (!frames.some((f) => f.id === this.chosen)) {
      this.chosen = frames[Math.floor(frames.length / 2)]?.id ?? 0;
    }
    const known = new Set(frames.map((f) => f.id));
    for (const id of this.pictures.keys()) if (!known.has(id)) this.pictures.delete(id);
    this.show();
  }

  /** Ask whether files that are named unlike the others are frames. */
  private warn(frames: FrameInfo[]): void {
    const used = frames.filter((f) => f.included);
    const names = oddNames(used.map((f) => f.name));
    const odd = used.filter((f) => names.has(f.name) && !this.known.has(f.id));
    this.odd.hidden = !odd.length;
    if (!odd.length) return;
    const out = new Set(odd.map((f) => f.id));
    const leave = (): void => this.send(this.frames.map((f) => (out.has(f.id) ? { ...f, included: false } : f)));
    const keep = (): void => {
      out.forEach((id) => this.known.add(id));
      this.warn(this.frames);
    };
    this.odd.replaceChildren(
      el("span", { class: "grow" }, t("oddName", { names: odd.map((f) => f.name).join(", ") })),
      el("button", { type: "button", id: "leave-odd", onclick: leave }, t("leaveOut")),
      el("button", { type: "button", onclick: keep }, t("keepFrame")),
    );
  }

  private choose(id: number | undefined): void {
    if (id === undefined) return;
    this.chosen = id;
    this.mark();
    this.scrubbed?.();
  }

  private mark(): void {
    const k = this.frames.findIndex((f) => f.id === this.chosen);
    this.slider.value = String(Math.max(k, 0));
    const frame = this.frames[k];
    const used = this.frames.filter((f) => f.included).length;
    this.caption.textContent = frame
      ? `${used === this.frames.length ? used : t("usedOf", { used, all: this.frames.length })} · ${t("frameNumber", { k })}: ${frame.name}`
      : "";
    for (const item of this.list.children) {
      const here = Number((item as HTMLElement).dataset["id"]) === this.chosen;
      item.classList.toggle("chosen", here);
      if (here) this.center(item as HTMLElement);
    }
  }

  /** Have the chosen frame in view, with its neighbours; the strip alone moves. */
  private center(item: HTMLElement): void {
    const { clientWidth, scrollLeft } = this.list;
    const left = item.offsetLeft - this.list.offsetLeft;
    const margin = item.offsetWidth;
    if (left - margin < scrollLeft || left + item.offsetWidth + margin > scrollLeft + clientWidth)
      this.list.scrollLeft = left - (clientWidth - item.offsetWidth) / 2;
  }

  private send(frames: FrameInfo[]): void {
    this.session.arrange(
      frames.map((f) => f.id),
      frames.filter((f) => !f.included).map((f) => f.id),
    );
  }

  private show(): void {
    this.list.replaceChildren(
      ...this.frames.map((frame, k) => {
        const picture = frame.problem ? el("canvas", { width: 72, height: 64 }) : this.picture(frame.id);
        const toggle = el("input", {
          type: "checkbox",
          checked: frame.included,
          disabled: !!frame.problem,
          title: t("takesPart"),
          "aria-label": `${frame.name}: ${t("takesPart")}`,
          onchange: () => this.send(this.frames.map((f) => (f.id === frame.id ? { ...f, included: !f.included } : f))),
        });
        const item = el(
          "li",
          {
            draggable: "true",
            "data-id": frame.id,
            "data-name": frame.name,
            title: serverWords(frame.problem) || `${frame.name}\n${t("reorder")}`,
            class: frame.problem ? "left-out broken" : frame.included ? "" : "left-out",
          },
          el(
            "button",
            {
              type: "button",
              class: "thumb",
              "aria-label": t("showFrame", { k, name: frame.name }),
              onclick: () => (frame.problem ? say(serverWords(frame.problem)) : this.choose(frame.id)),
            },
            picture,
          ),
          el(
            "span",
            { class: "row spread" },
            el("span", { class: "muted small" }, frame.problem ? `⚠ ${frame.name}` : String(k)),
            toggle,
          ),
        );
        item.addEventListener("keydown", (event) => {
          const step = event.altKey ? { ArrowLeft: -1, ArrowRight: 1 }[event.key] : undefined;
          const other = step === undefined ? undefined : this.frames[k + step];
          if (!other) return;
          event.preventDefault();
          const moved = [...this.frames];
          [moved[k], moved[k + step!]] = [other, frame];
          this.focused = frame.id;
          this.send(moved);
        });
        item.addEventListener("dragstart", (event) => {
          this.dragged = frame.id;
          event.dataTransfer!.setData("text/plain", String(frame.id));
          event.dataTransfer!.effectAllowed = "move";
        });
        item.addEventListener("dragover", (event) => {
          if (this.dragged !== null) event.preventDefault();
        });
        item.addEventListener("drop", (event) => {
          event.preventDefault();
          event.stopPropagation();
          if (this.dragged === null || this.dragged === frame.id) return;
          const moving = this.frames.find((f) => f.id === this.dragged)!;
          const others = this.frames.filter((f) => f !== moving);
          const after = this.frames.indexOf(moving) < k;
          others.splice(others.findIndex((f) => f.id === frame.id) + (after ? 1 : 0), 0, moving);
          this.send(others);
        });
        item.addEventListener("dragend", () => (this.dragged = null));
        return item;
      }),
    );
    this.mark();
    if (this.focused !== null) this.list.querySelector<HTMLElement>(`li[data-id="${this.focused}"] button`)?.focus();
    this.focused = null;
  }

  private picture(id: number): HTMLCanvasElement {
    const there = this.pictures.get(id);
    if (there) return there;
    const canvas = el("canvas", { width: 96, height: 64 });
    if (!this.size) return canvas;
    this.pictures.set(id, canvas);
    const [width, height] = this.size;
    bytes(`/api/frames/${id}/preview`)
      .then(async (buffer) => {
        const data = new ImageData(new Uint8ClampedArray(buffer), width, height);
        const shrink = 64 / height;
        canvas.width = Math.round(width * shrink);
        canvas.height = 64;
        const bitmap = await createImageBitmap(data, {
          resizeWidth: canvas.width,
          resizeHeight: 64,
          resizeQuality: "high",
        });
        canvas.getContext("2d")!.drawImage(bitmap, 0, 0);
      })
      .catch(() => this.pictures.delete(id));
    return canvas;
  }
}
