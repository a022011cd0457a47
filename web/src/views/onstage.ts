// Where the panel at the left is folded, what nobody can do without lies on the maps: begin, and how far it is.

import { byId, el } from "../dom";
import type { Session } from "../session";
import { busy, newest } from "../store";
import { t } from "../words";
import { FEWEST } from "./strip";

/**
 * @param progress how far the work is
 * @param after what it stands above in the panel
 * @returns to be called with whether the panel is open
 */
export function mountOnStage(session: Session, progress: HTMLElement, after: HTMLElement): (open: boolean) => void {
  const run = el(
    "button",
    { type: "button", class: "primary wide", id: "run-here", onclick: () => session.solve(true) },
    t("reconstruct"),
  );
  const place = el("div", { id: "on-stage" }, run);
  byId("stage").append(place);
  let folded = false;
  const show = (): void => {
    const model = session.store.get();
    const enough = model.server.frames.filter((f) => f.included).length >= FEWEST;
    run.hidden = !folded || !enough || !!newest(model) || !!busy(model);
  };
  session.store.watch((m) => [m.server.frames, newest(m) === undefined, busy(m) === null], show);
  return (open) => {
    folded = !open;
    if (open) after.before(progress);
    else place.append(progress);
    show();
  };
}
