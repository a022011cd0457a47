// The bar at the top: what is open.

import { byId } from "../dom";
import type { Store } from "../store";
import { t } from "../words";

export function mountHeader(store: Store): void {
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
