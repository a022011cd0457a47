// How far each frame was moved to lie on the others, and how sure that is.

import uPlot from "uplot";
import { el } from "../dom";
import { current, type Store } from "../store";
import { short, t } from "../words";
import { resting } from "./resting";

export function mountMotion(host: HTMLElement, store: Store): void {
  let plot: uPlot | null = null;
  store.watch(
    (m) => [current(m)?.motion],
    resting(store, (m) => {
      plot?.destroy();
      plot = null;
      const motion = current(m)?.motion?.filter((pair) => pair[0] !== null) ?? [];
      host.hidden = motion.length < 2;
      if (host.hidden) return host.replaceChildren();
      const place = el("div", { class: "plot", id: "motion" });
      const most = Math.max(...motion.map((pair) => pair[0]!));
      host.replaceChildren(
        el("h3", {}, t("motion")),
        el("p", { class: "small muted" }, t("motionAbout", { most: short(most, 2) })),
        place,
      );
      plot = drawn(place, current(m)!.motion!);
    }),
  );
}

function drawn(place: HTMLElement, motion: [number | null, number | null][]): uPlot {
  const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: colour("--muted"), grid, ticks: grid, font: "11px system-ui", labelFont: "11px system-ui" };
  const shifts = motion.map((pair) => pair[0]);
  const bound = (sign: number): (number | null)[] =>
    motion.map(([shift, error]) => (shift === null ? null : Math.max(shift + sign * 2 * (error ?? 0), 0)));
  return new uPlot(
    {
      width: Math.max(place.clientWidth, 200),
      height: 120,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false } },
      axes: [
        { ...axis, size: 28, label: t("frame"), labelSize: 16, incrs: [1, 2, 5, 10, 20, 50, 100] },
        { ...axis, size: 40, label: "px", labelSize: 14 },
      ],
      series: [
        {},
        { stroke: "transparent" },
        { stroke: "transparent" },
        { stroke: colour("--accent"), width: 1.5, points: { show: true, size: 5, fill: colour("--accent") } },
      ],
      bands: [{ series: [1, 2], fill: colour("--accent-soft") }],
    },
    [shifts.map((_, k) => k), bound(1), bound(-1), shifts] as uPlot.AlignedData,
    place,
  );
}
