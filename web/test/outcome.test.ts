// What is said of a result beside its numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { departure } from "../src/views/outcome";
import type { ResultInfo } from "../src/wire";

const result = (sure: number, range: [number, number], preview = false): ResultInfo =>
  ({
    preview,
    sure,
    unit: "um",
    maps: { depth: { range } },
    sketched: { sure: 0.9, range: [0, 10] },
  }) as unknown as ResultInfo;

test("a result that is not what its sketch promised says so, and how", () => {
  assert.equal(departure(result(0.85, [0.5, 9.5])), "");
  assert.match(departure(result(0.7, [0, 10])), /departs.*70 %.*90 %/);
  assert.match(departure(result(0.9, [0, 14])), /departs.*0 … 14.*0 … 10/);
  assert.equal(departure(result(0.1, [0, 99], true)), ""); // the sketch itself
});
