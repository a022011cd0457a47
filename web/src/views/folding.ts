// Panels at the sides fold: at will, and by themselves where there is no room.

import { byId } from "../dom";
import type { Store } from "../store";

/** Widest window, in CSS pixels, in which the panels lie over the maps; as in page.css. */
const NARROW = matchMedia("(max-width: 900px)");

type Side = "left" | "right";

const PANELS = { left: "controls", right: "inspector" } as const;

const isOpen = (store: Store, side: Side): boolean => store.get().choices[side] ?? !NARROW.matches;

/** Unfold a panel; where they lie over the maps there is room for one. */
export function unfold(store: Store, side: Side): void {
  if (isOpen(store, side)) return;
  const other = side === "left" ? "right" : "left";
  store.choose(NARROW.matches ? { [side]: true, [other]: false } : { [side]: true });
}

/** @param moved is told whether the panel at the left is open, now and whenever it changes */
export function mountFolding(store: Store, moved: (left: boolean) => void): void {
  const sides = ["left", "right"] as const;
  const show = (): void => {
    for (const side of sides) {
      byId(PANELS[side]).hidden = !isOpen(store, side);
      byId(`fold-${side}`).setAttribute("aria-expanded", String(isOpen(store, side)));
    }
    moved(isOpen(store, "left"));
  };
  for (const side of sides) {
    const button = byId(`fold-${side}`);
    button.setAttribute("aria-controls", PANELS[side]);
    button.addEventListener("click", () =>
      isOpen(store, side) ? store.choose({ [side]: false }) : unfold(store, side),
    );
  }
  NARROW.addEventListener("change", () => {
    store.choose({ left: null, right: null });
    show();
  });
  store.watch((m) => [m.choices.left, m.choices.right], show);
}
