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

test("between attempts it rests, it is never given up, and a retry begins anew", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { tiles, source, asked } = setUp([refused]);
  for (let k = 0; k < 20; k++) {
    tiles.load(source, SPOT);
    await turn();
    tiles.load(source, SPOT);
    assert.equal(asked(), k + 1);
    mock.timers.tick(RETRIES.at(-1)!);
  }
  tiles.load(source, SPOT);
  await turn();
  tiles.retry();
  tiles.load(source, SPOT);
  assert.equal(asked(), 22);
  mock.timers.reset();
});

test("a tile that others overtook again and again does not wait longer each time", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { tiles, source, asked } = setUp([...Array<typeof given>(9).fill(overtaken), given]);
  for (let k = 0; k < 10; k++) {
    tiles.load(source, SPOT);
    await turn();
    mock.timers.tick(RETRIES[0]!);
  }
  assert.equal(asked(), 10);
  assert.deepEqual(tiles.value(source, 0, 0), [3]);
  mock.timers.reset();
});

test("an answer that comes after the request was given up and made again is kept once", async () => {
  const answers: ((buffer: ArrayBuffer) => void)[] = [];
  let kept = 0;
  const tiles = new Tiles<number>(
    512,
    () => ++kept,
    () => undefined,
    () => undefined,
  );
  const { source } = setUp([given]);
  source.tile = () => new Promise((resolve) => answers.push(resolve));
  tiles.load(source, SPOT);
  tiles.tidy(new Set());
  tiles.load(source, SPOT);
  for (const answer of answers) answer(new Float32Array([3, 4]).buffer);
  await turn();
  assert.equal(kept, 1);
});

test("tiles leave connections to everything else", () => {
  const { tiles, source, asked } = setUp([() => new Promise(() => undefined)]);
  for (let column = 0; column < 9; column++) tiles.load(source, { level: 0, column, row: 0 });
  assert.ok(asked() <= 4); // of the six that browsers have
});

test("what is no longer wanted is given up without a later attempt", async () => {
  const { tiles, source, asked } = setUp([() => new Promise(() => undefined)]);
  tiles.load(source, SPOT);
  tiles.tidy(new Set());
  await turn();
  tiles.load(source, SPOT); // wanted again
  assert.equal(asked(), 2);
});
