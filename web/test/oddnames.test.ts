import assert from "node:assert/strict";
import { test } from "node:test";
import { oddNames } from "../src/oddnames";

const shots = (count: number): string[] => Array.from({ length: count }, (_, k) => `IMG_${100 + k}.JPG`);

test("a picture named unlike all frames sticks out", () => {
  assert.deepEqual([...oddNames([...shots(7), "published_fused.jpg"])], ["published_fused.jpg"]);
  assert.deepEqual([...oddNames([...shots(7), "IMG_100-107 (stacked).jpg"])], ["IMG_100-107 (stacked).jpg"]);
});

test("numbers, and letters of either size, are what frames differ in", () => {
  assert.equal(oddNames([...shots(7), "img_0007.jpg"]).size, 0);
});

test("where names have no pattern, or two, nothing sticks out", () => {
  assert.equal(oddNames(["near.png", "middle.png", "far.png", "sky.png", "sea.png"]).size, 0);
  assert.equal(oddNames([...shots(3), "a1.png", "a2.png", "a3.png"]).size, 0);
  assert.equal(oddNames([...shots(3), "fused.jpg"]).size, 0);
  assert.equal(oddNames([]).size, 0);
});
