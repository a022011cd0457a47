// What the user chose survives a reload of the page.

import { FIRST_CHOICES, type Choices, type Store } from "./store";

const KEY = `varfocus-${location.port}`;

/** Milliseconds until choices are written: writing takes longer than drawing. */
const LATER = 200;

export function keptChoices(): Choices {
  try {
    return { ...FIRST_CHOICES, ...(JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Choices>) };
  } catch {
    return FIRST_CHOICES; // of another version of the page
  }
}

export function keepChoices(store: Store): void {
  let waiting = 0;
  const now = (): void => {
    clearTimeout(waiting);
    waiting = 0;
    sessionStorage.setItem(KEY, JSON.stringify(store.get().choices));
  };
  store.watch(
    (m) => [m.choices],
    () => (waiting ||= window.setTimeout(now, LATER)),
  );
  addEventListener("pagehide", now);
}
