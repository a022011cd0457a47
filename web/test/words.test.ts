// Texts: both languages have every key (the compiler sees to that) and fill in the same things.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, inUnits, setLanguage, short } from "../src/words";
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

test("numbers have the decimal sign of the language", () => {
  assert.equal(short(0.12345), "0.1235");
  assert.equal(short(null), "unknown");
  setLanguage("de");
  assert.equal(short(0.12345), "0,1235");
  assert.equal(inUnits("1.807 ± 0.085 um"), "1,807 ± 0,085 µm");
  assert.equal(short(Number.NaN), "unbekannt");
  setLanguage("en");
});

test("the ends of a range are no finer than a thousandth of it", () => {
  assert.deepEqual(ends([0.004443, 4.9491]), [0, 4.95]);
  assert.deepEqual(ends([-1.23456e-6, 2.34567e-6]), [-1.23e-6, 2.35e-6]);
  assert.deepEqual(ends([1200.4, 5300.6]), [1200, 5301]);
  assert.deepEqual(ends([3, 3]), [3, 3]);
});
