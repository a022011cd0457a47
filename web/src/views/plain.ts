// Without WebGL2: reconstruct, look at plain pictures, and download files.

import { byId, el } from "../dom";
import type { Store } from "../store";
import { t } from "../words";
import { say } from "./messages";

export function mountPlain(store: Store): void {
  say(t("noWebGL"));
  const pictures = el("div", { class: "plain" });
  byId("stage").append(pictures);
  document.documentElement.dataset["theme"] = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  for (const id of ["views", "theme", "strip", "area"]) byId(id).hidden = true;
  store.watch(
    (m) => [m.server.results],
    ({ server }) => {
      const done = server.results.filter((r) => r.saved).at(-1);
      const shown = (done?.files ?? []).filter((name) => name === "preview.png" || name === "fused.png");
      const about = (name: string): string => server.products.find((p) => p.name === name)?.about ?? name;
      pictures.replaceChildren(
        ...shown.map((name) => el("img", { src: `/api/results/${done!.version}/products/${name}`, alt: about(name) })),
      );
    },
  );
}
