// The server is gone: said as long as it is so.

import { byId, el } from "../dom";
import type { Session } from "../session";
import { t } from "../words";

export function mountOffline(session: Session): void {
  const notice = el(
    "div",
    { id: "offline", class: "notice", role: "alert", hidden: true },
    el("span", { class: "grow" }, t("offline")),
    el("button", { type: "button", onclick: () => session.reconnect() }, t("tryAgain")),
  );
  byId("stage").append(notice);
  session.store.watch(
    (m) => [m.online],
    (m) => (notice.hidden = m.online),
  );
}
