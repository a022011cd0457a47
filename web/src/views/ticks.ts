// Round numbers for axes, contour lines and scale bars. Pure functions.

/** The largest of 1, 2 and 5 times a power of ten that is no more than a value. */
export function roundBelow(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = value / power;
  return (digit >= 5 - 1e-9 ? 5 : digit >= 2 - 1e-9 ? 2 : 1) * power;
}

/** A round step that cuts a span into about so many parts, and no more. */
export function roundStep(span: number, parts: number): number {
  const step = roundBelow(span / parts);
  return [1, 2, 2.5, 5, 10].map((factor) => factor * step).find((s) => span / s <= parts + 1e-9) ?? 10 * step;
}

/** Round numbers from 0 up to a span, both included where they fit. */
export function ticks(span: number, parts: number): number[] {
  if (!(span > 0)) return [0];
  const step = roundStep(span, parts);
  return Array.from({ length: Math.floor(span / step + 1e-9) + 1 }, (_, k) => Number((k * step).toPrecision(12)));
}
