import { current, type Model, type Store } from "../store";

/** Milliseconds without a new sketch after which the numbers follow. */
const RESTING = 120;

/** Show at once, but sketches only when they stop coming: drawing takes time from the next one. */
export function resting(store: Store, show: (model: Model) => void): () => void {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    if (current(store.get())?.preview) waiting = window.setTimeout(() => show(store.get()), RESTING);
    else show(store.get());
  };
}
