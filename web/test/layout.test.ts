// Where things are on the screen: truths about panes, views, tiles and rectangles.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  fitted,
  levels,
  panes,
  parsed,
  pinched,
  shownTiles,
  spanned,
  toImage,
  toScreen,
  within,
  zoomed,
} from "../src/viewer/layout";

const PANE = { x: 10, y: 20, width: 300, height: 200 };
const VIEW = { x: 40, y: 30, scale: 2.5 };

test("screen and image are each other's inverse", () => {
  const [x, y] = toImage(PANE, VIEW, ...toScreen(PANE, VIEW, 12.25, 70));
  assert.ok(Math.abs(x - 12.25) < 1e-12 && Math.abs(y - 70) < 1e-12);
});

test("panes cover the stage without overlap and show the target as large as possible", () => {
  const wide = panes(2, 800, 300, { width: 400, height: 300 });
  assert.deepEqual(
    wide.map((r) => [r.x, r.y]),
    [
      [0, 0],
      [403, 0],
    ],
  );
  const tall = panes(2, 300, 800, { width: 400, height: 300 });
  assert.equal(tall[1]!.x, 0);
  assert.ok(tall[1]!.y > tall[0]!.height);
  assert.equal(panes(4, 600, 600, { width: 1, height: 1 })[3]!.x, 303);
});

test("fit shows the target entirely, touching one pair of edges", () => {
  const target = { x: 5, y: 7, width: 100, height: 40 };
  const view = fitted(PANE, target);
  const [left, top] = toScreen(PANE, view, 5, 7);
  const [right, bottom] = toScreen(PANE, view, 105, 47);
  assert.deepEqual([left, right], [PANE.x, PANE.x + PANE.width]);
  assert.ok(top >= PANE.y && bottom <= PANE.y + PANE.height);
});

test("zooming keeps what lies under the cursor", () => {
  const at: [number, number] = [120, 90];
  const before = toImage(PANE, VIEW, ...at);
  const view = zoomed(PANE, VIEW, 1.7, { width: 200, height: 200 }, at);
  assert.ok(Math.abs(view.scale - 4.25) < 1e-12);
  toImage(PANE, view, ...at).forEach((value, k) => assert.ok(Math.abs(value - before[k]!) < 1e-9));
  assert.ok(zoomed(PANE, VIEW, 1e9, { width: 200, height: 200 }, at).scale <= 40);
});

test("two fingers keep what lies under each of them", () => {
  const from: [number, number][] = [
    [50, 60],
    [150, 60],
  ];
  const to: [number, number][] = [
    [30, 80],
    [230, 80],
  ];
  const view = pinched(PANE, VIEW, from, to);
  assert.equal(view.scale, 5);
  from.forEach((finger, k) => {
    const under = toImage(PANE, VIEW, ...finger);
    toImage(PANE, view, ...to[k]!).forEach((value, i) => assert.ok(Math.abs(value - under[i]!) < 1e-9));
  });
});

test("halving ends at one tile", () => {
  assert.equal(levels(512, 100, 512), 1);
  assert.equal(levels(513, 100, 512), 2);
  assert.equal(levels(5472, 3648, 512), 5);
});

test("tiles that are shown cover the pane and nothing beyond the source", () => {
  const size = { width: 2000, height: 1500 };
  const covers = [0, 0, 2000, 1500] as const;
  const all = shownTiles(PANE, { x: 1000, y: 750, scale: 0.1 }, size, covers, 512, 0);
  assert.equal(all.length, 4 * 3);
  const some = shownTiles(PANE, { x: 100, y: 100, scale: 1 }, size, covers, 512, 0);
  assert.deepEqual(some, [{ level: 0, column: 0, row: 0 }]);
  assert.deepEqual(shownTiles(PANE, { x: -900, y: 100, scale: 1 }, size, covers, 512, 0), []);
});

test("rectangles are drawn in any direction, typed in many ways, and cut to the frames", () => {
  assert.deepEqual(
    spanned([
      [30.4, 8],
      [10, 20.6],
    ]),
    [10, 8, 20, 13],
  );
  assert.deepEqual(within([-5, 10, 50, 500], [40, 60]), [0, 10, 40, 50]);
  assert.equal(within([50, 0, 5, 5], [40, 60]), null);
  for (const text of ["1,2,30,40", "1, 2, 30×40", "1 2 30 40"]) assert.deepEqual(parsed(text), [1, 2, 30, 40]);
  for (const text of ["", "1,2,3", "a,b,c,d", "1.5,2,3,4"]) assert.equal(parsed(text), null);
});
