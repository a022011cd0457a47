// What the server says, in the words of the page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { spoken } from "../src/words/server";

test("sentences are translated with what stands in them, line by line", () => {
  const words = "a.png: ends early\nexpected a complete, undamaged image\nSomething new.";
  assert.equal(
    spoken(words, "de"),
    "a.png: endet zu früh\nErwartet wird ein vollständiges, unbeschädigtes Bild\nSomething new.",
  );
});

test("what is filled in is translated, too", () => {
  assert.equal(
    spoken("b.png was left out: it matches no neighbour (correlation 0.10, usually 0.90)", "de"),
    "b.png wurde weggelassen: Sie passt zu keiner Nachbarin (Korrelation 0.10, sonst 0.90)",
  );
});

test("options of the command line are no words for the page", () => {
  const words =
    'the depth of 60% of the pixels has no support beyond noise: they follow  their neighbours. unknown="nan" marks them.';
  assert.match(spoken(words, "en"), /^The depth of 60% .*“Where nothing is seen”/);
  assert.doesNotMatch(spoken(words, "en"), /nan/);
});
