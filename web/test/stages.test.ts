// One bar over all stages: it only ever grows, and ends at its end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords, secondsLeft, shareDone } from "../src/stages";

test("the bar grows from stage to stage and is full at the end, for every method", () => {
  const stages: Record<string, string[]> = {
    robust: [
      "reading",
      "looking",
      "aligning",
      "contrast",
      "learning",
      "searching",
      "refining",
      "judging",
      "edges",
      "fusing",
      "writing",
    ],
    paper: ["looking", "aligning", "contrast", "minimising", "writing"],
    classic: ["looking", "aligning", "contrast", "writing"],
  };
  for (const [method, names] of Object.entries(stages)) {
    let last = -1;
    for (const full of [false, true]) {
      for (const name of names) {
        for (const done of [0, 3, 7]) {
          const share = shareDone(name, done, 7, method, full);
          assert.ok(share >= last, `${method} ${name} ${done}`);
          last = share;
        }
      }
    }
    assert.ok(Math.abs(last - 1) < 1e-12);
  }
});

test("the time that remains follows from the time so far, and is said as people say it", () => {
  assert.equal(secondsLeft(0.01, 5), null);
  assert.equal(secondsLeft(0.25, 10), 30);
  assert.deepEqual(inWords(0.4), { count: 0, unit: "moment" });
  assert.deepEqual(inWords(40.2), { count: 40, unit: "seconds" });
  assert.deepEqual(inWords(170), { count: 3, unit: "minutes" });
});
