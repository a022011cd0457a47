// Bringing parts of the panels into view, where what was asked for has come.

/** Scroll a panel so far that a part of it is seen; one that is folded stays folded. */
export function reveal(part: HTMLElement, block: "nearest" | "start" = "nearest"): void {
  requestAnimationFrame(() => part.scrollIntoView({ block })); // plots take their size a moment later
}
