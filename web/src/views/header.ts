// The bar at the top: what is open.

import { byId } from "../dom";
import type { Session } from "../session";
import { busy } from "../store";
import { t } from "../words";
import { ask } from "./ask";

export function mountHeader(session: Session): void {
  const { store } = session;
  byId("home").addEventListener("click", () => void goHome(session));
  store.watch(
    (m) => [m.server.source, m.server.frames.length, m.server.width, m.server.height, m.server.dtype],
    ({ server }) => {
      const named = server.source.split(/[/\\]/).filter(Boolean).slice(-2).join("/");
      const kinds: Record<string, string> = {
        uint8: t("bits", { count: 8 }),
        uint16: t("bits", { count: 16 }),
        float32: t("float"),
      };
      const words = [
        named,
        t("countFrames", { count: server.frames.length }),
        `${server.width} × ${server.height}`,
        kinds[server.dtype] ?? server.dtype,
      ];
      byId("source").textContent = server.frames.length ? words.filter(Boolean).join(" · ") : "";
      byId("source").title = byId("source").textContent;
    },
  );
}

/** Back to where everything begins: what is open is kept, but a reconstruction would end. */
async function goHome(session: Session): Promise<void> {
  const model = session.store.get();
  if (!model.server.frames.length && !model.server.results.length) return;
  const sure =
    !busy(model) || (await ask(t("homeBusy"), [{ value: true, words: t("homeSure"), about: t("homeSureAbout") }]));
  if (sure) session.leave();
}
