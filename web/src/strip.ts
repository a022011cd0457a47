// The bottom: frames in order of focus, to be reordered, reversed, left out and scrubbed through.

import type { FrameInfo } from "./api";
import { bytes } from "./api";
import { el } from "./dom";

export class Strip {
  private frames: FrameInfo[] = [];
  private size: [number, number] | null = null;
  private list = el("ol", { class: "frames" });
  private slider = el("input", { type: "range", min: 0, step: 1, "aria-label": "Frame", id: "scrub" });
  private caption = el("span", { class: "caption" });
  private pictures = new Map<number, HTMLCanvasElement>();
  private chosen = 0;
  private dragged: number | null = null;
  /** Moved by keys; keeps the focus. */
  private focused: number | null = null;

  arranged: ((order: number[], excluded: number[]) => void) | null = null;
  scrubbed: ((id: number) => void) | null = null;

  constructor(host: HTMLElement) {
    host.append(
      el("div", { class: "row strip-head" },
        el("strong", {}, "Frames"),
        this.caption,
        this.slider,
        el("button", { type: "button", id: "reverse", title: "Last frame first", onclick: () => this.send([...this.frames].reverse()) }, "Reverse"),
      ),
      this.list,
    );
    this.slider.addEventListener("input", () => this.choose(this.frames[Number(this.slider.value)]?.id));
  }

  current(): FrameInfo | undefined {
    return this.frames.find((f) => f.id === this.chosen) ?? this.frames[0];
  }

  setFrames(frames: FrameInfo[], size: [number, number] | null): void {
    this.frames = frames;
    this.size = size;
    this.slider.max = String(Math.max(frames.length - 1, 0));
    if (!frames.some((f) => f.id === this.chosen)) {
      this.chosen = frames[Math.floor(frames.length / 2)]?.id ?? 0;
    }
    const known = new Set(frames.map((f) => f.id));
    for (const id of this.pictures.keys()) if (!known.has(id)) this.pictures.delete(id);
    this.show();
  }

  choose(id: number | undefined): void {
    if (id === undefined) return;
    this.chosen = id;
    this.mark();
    this.scrubbed?.(id);
  }

  private mark(): void {
    const k = this.frames.findIndex((f) => f.id === this.chosen);
    this.slider.value = String(Math.max(k, 0));
    const frame = this.frames[k];
    const used = this.frames.filter((f) => f.included).length;
    this.caption.textContent = frame
      ? `${used === this.frames.length ? this.frames.length : `${used} of ${this.frames.length}`} · frame ${k}: ${frame.name}`
      : "";
    for (const item of this.list.children) {
      const here = Number((item as HTMLElement).dataset["id"]) === this.chosen;
      item.classList.toggle("chosen", here);
    }
  }

  private send(frames: FrameInfo[]): void {
    this.arranged?.(frames.map((f) => f.id), frames.filter((f) => !f.included).map((f) => f.id));
  }

  private show(): void {
    this.list.replaceChildren(
      ...this.frames.map((frame, k) => {
        const picture = this.picture(frame.id);
        const toggle = el("input", {
          type: "checkbox", checked: frame.included, title: "Takes part", "aria-label": `${frame.name} takes part`,
          onchange: () => this.send(this.frames.map((f) => (f.id === frame.id ? { ...f, included: !f.included } : f))),
        });
        const item = el("li", { draggable: "true", "data-id": frame.id, "data-name": frame.name, title: `${frame.name}\nDrag, or Alt with ← and →, to reorder`, class: frame.included ? "" : "left-out" },
          el("button", { type: "button", class: "thumb", "aria-label": `Show frame ${k}, ${frame.name}`, onclick: () => this.choose(frame.id) }, picture),
          el("span", { class: "row spread" }, el("span", { class: "muted small" }, String(k)), toggle));
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
        const bitmap = await createImageBitmap(data, { resizeWidth: canvas.width, resizeHeight: 64, resizeQuality: "high" });
        canvas.getContext("2d")!.drawImage(bitmap, 0, 0);
      })
      .catch(() => this.pictures.delete(id));
    return canvas;
  }
}
