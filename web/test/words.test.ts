// Texts: both languages have every key (the compiler sees to that) and fill in the same things.

import assert from "node:assert/strict";
import { test } from "node:test";
import { de } from "../src/words/de";
import { en } from "../src/words/en";

const holes = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();

test("every text fills in the same things in both languages, and none is empty", () => {
  assert.deepEqual(Object.keys(de).sort(), Object.keys(en).sort());
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    assert.deepEqual(holes(de[key]), holes(en[key]), key);
    assert.ok(de[key].trim() && en[key].trim(), key);
  }
});
