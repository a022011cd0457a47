// Tiles that could not be had are asked for again.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { RETRIES, Tiles, type Source } from "../src/viewer/tiles";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const SPOT = { level: 0, column: 0, row: 0 };

function setUp(answers: (() => Promise<ArrayBuffer>)[]): { tiles: Tiles<number>; source: Source; asked: () => number } {
  let asked = 0;
  const source: Source = {
    key: "frame/1",
    kind: "map",
    width: 2,
    height: 1,
    range: [0, 1],
    palette: "gray",
    tile: () => answers[Math.min(asked++, answers.length - 1)]!(),
  };
  const tiles = new Tiles<number>(
    512,
    () => 1,
    () => undefined,
    () => undefined,
  );
  return { tiles, source, asked: () => asked };
}

const refused = (): Promise<ArrayBuffer> => Promise.reject(new Error("404"));
const overtaken = (): Promise<ArrayBuffer> => Promise.reject(new DOMException("overtaken", "AbortError"));
const given = (): Promise<ArrayBuffer> => Promise.resolve(new Float32Array([3, 4]).buffer);

test("a tile that was refused or overtaken comes at a later attempt", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { tiles, source, asked } = setUp([refused, overtaken, given]);
  for (const wait of [0, RETRIES[0]!, RETRIES[1]!]) {
    mock.timers.tick(wait);
    tiles.load(source, SPOT);
    await turn();
  }
  assert.equal(asked(), 3);
  assert.deepEqual(tiles.value(source, 1, 0), [4]);
  mock.timers.reset();
});

test("between attempts it rests, in the end it is given up, and a retry begins anew", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { tiles, source, asked } = setUp([refused]);
  for (let k = 0; k < 20; k++) {
    tiles.load(source, SPOT);
    await turn();
    tiles.load(source, SPOT);
    assert.ok(asked() <= k + 1);
    mock.timers.tick(10_000);
  }
  assert.equal(asked(), RETRIES.length + 1);
  tiles.retry();
  tiles.load(source, SPOT);
  assert.equal(asked(), RETRIES.length + 2);
  mock.timers.reset();
});

test("what is no longer wanted is given up without a later attempt", async () => {
  const { tiles, source, asked } = setUp([() => new Promise(() => undefined)]);
  tiles.load(source, SPOT);
  tiles.tidy(new Set());
  await turn();
  tiles.load(source, SPOT); // wanted again
  assert.equal(asked(), 2);
});
