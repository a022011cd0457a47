// Drawing without a pointer: a cursor on the maps that keys move, and that does what a pointer would.

import { el } from "../dom";
import type { Store } from "../store";
import { t } from "../words";
import { MARKED, traced } from "../viewer/ink";
import type { Viewer } from "../viewer/viewer";
import type { Point } from "../wire";
import { abandon, type Layer } from "./layer";
import { samePoint } from "./shapes";

/** Screen pixels that an arrow key moves the cursor by; with Shift it is one pixel of the frames. */
const STEP = 12;

/** Screen pixels from the edge of a pane at which the view follows the cursor. */
const EDGE = 24;

const ARROWS: Record<string, Point> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class Pen {
  private at: Point | null = null;
  /** What is being drawn, where the last point was set, and how many there are. */
  private down: { layer: Layer; last: Point; count: number; moved: boolean } | null = null;
  private voice = el("p", { class: "unseen", id: "pen-voice", role: "status", "aria-live": "polite" });

  /**
   * @param read shows what lies under the cursor, and returns it in words
   */
  constructor(
    host: HTMLElement,
    private store: Store,
    private viewer: Viewer,
    private layers: Layer[],
    private read: (at: Point) => string,
  ) {
    host.append(this.voice);
    viewer.onKey = (event) => this.key(event);
    store.watch(
      (m) => [m.choices.tool, m.choices.session, m.choices.view],
      () => this.rest(),
    );
  }

  /** Go out of sight: another tool is in hand, or a pointer. */
  rest(): void {
    if (this.down) abandon(this.down.layer);
    this.at = this.down = null;
  }

  /** True if the key was for the cursor. */
  private key(event: KeyboardEvent): boolean {
    if (this.store.get().choices.tool === "probe") return false;
    const arrow = ARROWS[event.key];
    if (arrow) this.move(arrow, event.shiftKey);
    else if (event.key === " " || event.key === "Enter") this.set(event.key === "Enter");
    else if (event.key === "Backspace" && this.down) this.takeBack();
    else if (event.key === "Escape" && this.down) this.cancel();
    else return false;
    this.viewer.redraw();
    return true;
  }

  private get place(): Point {
    const view = this.viewer.shownView(this.viewer.rects()[0]!);
    return this.at ?? this.bounded([Math.round(view.x), Math.round(view.y)]);
  }

  private bounded([x, y]: Point): Point {
    const { width, height } = this.store.get().server;
    return [Math.min(Math.max(x, 0), width), Math.min(Math.max(y, 0), height)];
  }

  private move([dx, dy]: Point, finely: boolean): void {
    const [x, y] = this.place;
    const step = finely ? 1 : Math.max(Math.round(STEP / this.viewer.scale()), 1);
    const to = this.bounded(this.at ? [x + dx * step, y + dy * step] : [x, y]); // shown first, then moved
    this.at = to;
    this.follow(to);
    if (this.down && !this.down.layer.corners?.()) this.dragTo(to);
    this.say(this.read(to));
  }

  /** Keep the cursor in sight. */
  private follow(to: Point): void {
    const rect = this.viewer.rects()[0]!;
    const [x, y] = this.viewer.toScreen(rect, ...to);
    const seen =
      x >= rect.x + EDGE && y >= rect.y + EDGE && x <= rect.x + rect.width - EDGE && y <= rect.y + rect.height - EDGE;
    const zoomedIn = this.viewer.getView() !== null;
    if (!seen && zoomedIn) this.viewer.setView({ ...this.viewer.shownView(rect), x: to[0], y: to[1] });
  }

  private dragTo(to: Point): void {
    const { down } = this;
    if (!down) return;
    down.moved = !samePoint(to, down.last);
    // A pointer leaves out points that lie close; a key means what it sets, but not twice.
    if (down.moved || !down.layer.corners?.()) down.layer.drag(...to, Infinity);
  }

  /** Set a point here; the first one begins, and `last` finishes. */
  private set(last: boolean): void {
    const at = (this.at = this.place);
    const where = { x: at[0], y: at[1] };
    if (!this.down) {
      const layer = this.layers.find((one) => one.press(...at, this.viewer.scale()));
      if (!layer) return this.say(t("penNothing"));
      this.down = { layer, last: at, count: 1, moved: false };
      if (this.store.get().choices.tool === "point") return this.finish(t("penPoint", where));
      return this.say(t(layer.corners?.() ? "penCorners" : "penBegun", where));
    }
    this.dragTo(at);
    if (last || !this.down.layer.corners?.()) return this.finish(t("penDone", where));
    if (!this.down.moved) return; // it is set already
    this.down = { ...this.down, last: at, count: this.down.count + 1 };
    this.say(t("penSet", { ...where, count: this.down.count }));
  }

  private finish(words: string): void {
    const { down } = this;
    this.down = null;
    this.say(down?.layer.release(down.moved) ? words : t("penTooFew"));
  }

  /** Take back the last point. */
  private takeBack(): void {
    const { down } = this;
    const last = down?.layer.takeBack();
    this.down = down && last ? { ...down, last, count: down.count - 1 } : null;
    this.say(t(last ? "penBack" : "penCancelled"));
  }

  /** Take back everything that was not finished; the cursor stays. */
  private cancel(): void {
    if (this.down) abandon(this.down.layer);
    this.down = null;
    this.say(t("penCancelled"));
  }

  private say(words: string): void {
    this.voice.textContent = words;
  }

  /** The cursor, and the way to it from the point before. */
  draw(context: CanvasRenderingContext2D, toScreen: (x: number, y: number) => Point): void {
    if (!this.at) return;
    const [x, y] = toScreen(...this.at);
    const { down } = this;
    const way = (): void => {
      context.moveTo(...toScreen(...down!.last));
      context.lineTo(x, y);
    };
    if (down?.layer.corners?.()) traced(context, way, MARKED, 2, [6, 4]);
    const arms = (): void => {
      for (const [dx, dy] of Object.values(ARROWS)) {
        context.moveTo(x + 4 * dx, y + 4 * dy);
        context.lineTo(x + 14 * dx, y + 14 * dy);
      }
    };
    traced(context, arms, MARKED, 2);
  }
}
