// Round numbers: steps of 1, 2, 2.5 and 5, never more parts than asked for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { roundBelow, roundStep, ticks } from "../src/views/ticks";

test("the largest round number below", () => {
  for (const [value, round] of [
    [1, 1],
    [1.99, 1],
    [2, 2],
    [4.9, 2],
    [5, 5],
    [0.073, 0.05],
    [730, 500],
  ] as const)
    assert.ok(Math.abs(roundBelow(value) - round) < 1e-12, String(value));
});

test("steps cut a span into as many parts as asked for, at most, and not into too few", () => {
  for (let k = 0; k < 200; k++) {
    const span = 10 ** (k / 20 - 5);
    const parts = span / roundStep(span, 6);
    assert.ok(parts <= 6.0001, String(span));
    assert.ok(parts >= 2, String(span));
  }
});

test("ticks begin at zero and stay inside", () => {
  assert.deepEqual(ticks(10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.7, 4), [0, 0.2, 0.4, 0.6]);
  assert.deepEqual(ticks(0, 4), [0]);
  assert.deepEqual(ticks(NaN, 4), [0]);
});
