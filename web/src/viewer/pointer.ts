// Mouse, fingers and keys on the maps.

import { pinched, toImage, type Rect, type View } from "./layout";

/** What the pointer needs to know of the viewer, and may ask of it. */
export interface Hand {
  rects(): Rect[];
  shownView(rect: Rect): View;
  setView(view: View): void;
  zoom(factor: number, at?: { pane: number; x: number; y: number }): void;
  fit(): void;
  /** Where the divider of a pane is, if it has one. */
  split(pane: number): number | null;
  setSplit(share: number): void;
  pressed(pane: number, x: number, y: number): boolean;
  dragged(x: number, y: number): void;
  released(x: number, y: number, moved: boolean): void;
  /** What was begun does not count. */
  takenBack(): void;
  hovered(pane: number, x: number, y: number): void;
  nudged(dx: number, dy: number): void;
  /** True if somebody else took the key. */
  keyed(event: KeyboardEvent): boolean;
}

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Screen pixels that an arrow key moves the view by. */
const STEP = 60;

/** Screen pixels around the divider that take hold of it. */
const GRIP = 12;

type Drag =
  | { mode: "tool"; pane: number; x: number; y: number }
  | { mode: "divider"; pane: number; x: number; y: number }
  | { mode: "pan"; pane: number; x: number; y: number; view: View }
  | { mode: "pinch"; pane: number; view: View; from: [number, number][] };

export function listen(surface: HTMLElement, hand: Hand): void {
  const fingers = new Map<number, [number, number]>();
  let drag: Drag | null = null;
  let moved = false;
  const place = (event: MouseEvent): [number, number] => {
    const box = surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const paneAt = (x: number, y: number): number =>
    hand.rects().findIndex((r) => x >= r.x && y >= r.y && x < r.x + r.width && y < r.y + r.height);
  const image = (pane: number, x: number, y: number): [number, number] => {
    const rect = hand.rects()[pane]!;
    return toImage(rect, hand.shownView(rect), x, y);
  };
  const onDivider = (pane: number, x: number): boolean => {
    const split = hand.split(pane);
    return split !== null && Math.abs(x - split) < GRIP;
  };

  surface.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const [x, y] = place(event);
      const pane = paneAt(x, y);
      if (pane >= 0) hand.zoom(Math.exp(-event.deltaY * 0.0015), { pane, x, y });
    },
    { passive: false },
  );
  surface.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    const [x, y] = place(event);
    const pane = paneAt(x, y);
    if (pane < 0) return;
    surface.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [x, y]);
    const view = hand.shownView(hand.rects()[pane]!);
    if (fingers.size === 2) {
      if (drag?.mode === "tool") hand.takenBack(); // it was the first finger of two
      drag = { mode: "pinch", pane, view, from: [...fingers.values()] };
      moved = true;
      return;
    }
    moved = false;
    if (onDivider(pane, x)) drag = { mode: "divider", pane, x, y };
    else if (event.button === 0 && hand.pressed(pane, ...image(pane, x, y))) drag = { mode: "tool", pane, x, y };
    else drag = { mode: "pan", pane, x, y, view };
  });
  surface.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, [x, y]);
    const pane = drag?.pane ?? paneAt(x, y);
    if (pane < 0) return;
    const rect = hand.rects()[pane]!;
    surface.style.cursor = onDivider(pane, x) ? "ew-resize" : "crosshair";
    if (drag?.mode === "pinch") {
      if (fingers.size === 2) hand.setView(pinched(rect, drag.view, drag.from, [...fingers.values()]));
      return;
    }
    if (drag) {
      moved ||= Math.hypot(x - drag.x, y - drag.y) > 3;
      if (drag.mode === "divider") hand.setSplit((x - rect.x) / rect.width);
      else if (drag.mode === "tool") hand.dragged(...image(pane, x, y));
      else if (moved) {
        const { view } = drag;
        hand.setView({
          scale: view.scale,
          x: view.x - (x - drag.x) / view.scale,
          y: view.y - (y - drag.y) / view.scale,
        });
      }
    }
    hand.hovered(pane, ...image(pane, x, y));
  });
  const up = (event: PointerEvent): void => {
    fingers.delete(event.pointerId);
    const ended = drag;
    if (!ended) return;
    if (ended.mode === "pinch" && fingers.size) return; // the other finger may lift, or pinch on
    drag = null;
    if (ended.mode === "tool" || ended.mode === "pan") hand.released(...image(ended.pane, ...place(event)), moved);
  };
  surface.addEventListener("pointerup", up);
  surface.addEventListener("pointercancel", (event) => {
    if (drag?.mode === "tool") {
      drag = null;
      hand.takenBack();
    }
    up(event);
  });
  surface.addEventListener("pointerleave", () => hand.hovered(-1, 0, 0));
  surface.addEventListener("dblclick", () => hand.fit());
  surface.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (hand.keyed(event)) {
      event.preventDefault();
      return;
    }
    const arrow = ARROWS[event.key];
    const view = hand.shownView(hand.rects()[0]!);
    const split = hand.split(0);
    if (event.shiftKey && arrow) hand.nudged(...arrow);
    else if (arrow)
      hand.setView({ ...view, x: view.x + (arrow[0] * STEP) / view.scale, y: view.y + (arrow[1] * STEP) / view.scale });
    else if (event.key === "Enter") hand.nudged(0, 0);
    else if (event.key === "+" || event.key === "=") hand.zoom(1.25);
    else if (event.key === "-") hand.zoom(0.8);
    else if (event.key === "0") hand.fit();
    else if (event.key === "1") hand.zoom(1 / view.scale);
    else if (split !== null && (event.key === "," || event.key === ".")) {
      const rect = hand.rects()[0]!;
      hand.setSplit((split - rect.x) / rect.width + (event.key === "," ? -0.05 : 0.05));
    } else return;
    event.preventDefault();
  });
}
