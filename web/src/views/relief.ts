// The view in three dimensions: feeds the surface, which is loaded when it is first looked at.

import { byId } from "../dom";
import { current, near, type Model, type Store } from "../store";
import { attempt } from "./messages";
import { resting } from "./resting";
import { coarsest, composed, tileOf } from "./sources";
import type { Surface } from "./surface";

/** How much finer the picture is than the grid of depths, in halvings. */
const FINER = 2;

/** @param palettes colours of heights, by name */
export function mountRelief(store: Store, palettes: Map<string, Uint8Array>): void {
  let surface: Promise<Surface> | null = null;
  /** The surface, made once, however often it is asked for while its code is on the way. */
  const loaded = (): Promise<Surface> => {
    surface ??= import("./surface").then((code) => new code.Surface(byId("surface")));
    surface.catch(() => (surface = null)); // the next look tries again
    return surface;
  };
  const show = async (model: Model): Promise<void> => {
    const result = current(model);
    byId("surface").hidden = model.choices.view !== "3d" || !result;
    if (model.choices.view !== "3d" || !result) return;
    const { tile, pixel } = model.server;
    const level = coarsest(result, tile);
    await attempt(async () => {
      const made = await loaded();
      const depth = new Float32Array(await tileOf(model, result, "depth", level, 0, 0));
      const picture = await composed(model, result, Math.max(level - FINER, 0));
      if (current(store.get()) !== result) return;
      const columns = Math.ceil(result.width / 2 ** level);
      const range = result.maps["depth"]!.range;
      const common = pixel && pixel.unit === result.unit;
      made.show({
        depth,
        columns,
        rows: depth.length / columns,
        aspect: result.place[3] / result.place[2],
        proportion: common ? (range[1] - range[0]) / (pixel.x * result.place[2]) : null,
        range,
        unit: result.unit,
        width: pixel ? pixel.x * result.place[2] : result.place[2],
        widthUnit: pixel ? pixel.unit : "pixels",
        turned: near(model, result) === "large",
        picture,
        palette: palettes.get(model.choices.palettes["depth"] ?? "viridis")!,
        title: model.server.title,
      });
    });
  };
  store.watch(
    (m) => [m.choices.view, current(m), m.sketch, m.server.near, m.choices.palettes["depth"]],
    resting(store, (m) => void show(m)),
  );
}
