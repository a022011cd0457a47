// Lines on the maps that are seen on any ground: light ones with a dark rim, in the few colours there are.

export const LIGHT = "#fff";
/** Of what is chosen, or counts. */
export const CHOSEN = "#5fe0c8";
/** Of what marks a place, or does not count. */
export const MARKED = "#ffb25e";

const RIM = "rgb(0 0 0 / 65%)";

/** Screen pixels of the rim, both sides together. */
const RIM_WIDTH = 2;

/** Stroke a path, which is described anew for rim and line. */
export function traced(
  context: CanvasRenderingContext2D,
  path: () => void,
  colour: string = LIGHT,
  width = 1.5,
  dash: readonly number[] = [],
): void {
  for (const [style, wide, pattern] of [
    [RIM, width + RIM_WIDTH, []],
    [colour, width, dash],
  ] as const) {
    context.strokeStyle = style;
    context.lineWidth = wide;
    context.setLineDash([...pattern]);
    context.beginPath();
    path();
    context.stroke();
  }
  context.setLineDash([]);
}

export function cross(context: CanvasRenderingContext2D, [x, y]: [number, number], radius: number): void {
  traced(
    context,
    () => {
      context.moveTo(x - radius, y);
      context.lineTo(x + radius, y);
      context.moveTo(x, y - radius);
      context.lineTo(x, y + radius);
    },
    LIGHT,
    1.25,
  );
}
