// Panels at the sides fold: at will, and by themselves where there is no room.

import { byId } from "../dom";
import type { Store } from "../store";

/** Widest window, in CSS pixels, in which the panels lie over the maps; as in page.css. */
const NARROW = "(max-width: 900px)";

export function mountFolding(store: Store): void {
  const narrow = matchMedia(NARROW);
  const sides = [
    ["left", "controls"],
    ["right", "inspector"],
  ] as const;
  const open = (side: "left" | "right"): boolean => store.get().choices[side] ?? !narrow.matches;
  const show = (): void => {
    for (const [side, panel] of sides) {
      byId(panel).hidden = !open(side);
      byId(`fold-${side}`).setAttribute("aria-expanded", String(open(side)));
    }
  };
  for (const [side, panel] of sides) {
    const button = byId(`fold-${side}`);
    button.setAttribute("aria-controls", panel);
    button.addEventListener("click", () => {
      const other = side === "left" ? "right" : "left";
      // Where they lie over the maps there is room for one.
      store.choose(narrow.matches && !open(side) ? { [side]: true, [other]: false } : { [side]: !open(side) });
    });
  }
  narrow.addEventListener("change", () => {
    store.choose({ left: null, right: null });
    show();
  });
  store.watch((m) => [m.choices.left, m.choices.right], show);
  show();
}
