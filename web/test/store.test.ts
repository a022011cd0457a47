// What the page knows after what it has heard.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../src/api";
import {
  busy,
  current,
  difference,
  FIRST_CHOICES,
  near,
  newest,
  outdated,
  reduce,
  Store,
  type Action,
  type Model,
} from "../src/store";
import type { FrameInfo, ResultInfo, State } from "../src/wire";

const result = (version: number, preview = false): ResultInfo =>
  ({
    version,
    preview,
    saved: false,
    files: [],
    maps: {},
    place: [0, 0, 4, 3],
    width: 4,
    height: 3,
    parameters: {},
    frames: [1, 2, 3],
    near: "small",
    slabs: [],
  }) as unknown as ResultInfo;

const frame = (id: number): FrameInfo => ({ id, name: `${id}.png`, included: true, focus: null }) as FrameInfo;

const state = (frames: number[], results: ResultInfo[] = [], session = "one"): State =>
  ({
    frames: frames.map(frame),
    results,
    busy: null,
    queue: [],
    width: 4,
    height: 3,
    session,
    choices: null,
    near: null,
  }) as unknown as State;

const after = (model: Model, ...events: Event[]): Model =>
  events.reduce((m, event) => reduce(m, { do: "hear", event }), model);

const opened = (...results: ResultInfo[]): Model => {
  const server = state([1, 2, 3], results);
  return reduce(
    { server, sketch: null, differences: {}, aside: null, online: true, choices: FIRST_CHOICES },
    { do: "load", state: server },
  );
};

const came = (made: ResultInfo): Event => ({ kind: "result", result: made, busy: null });

test("a sketch replaces the sketch before it, a full result replaces its own sketch", () => {
  let model = after(opened(result(1)), came(result(2, true)), came(result(3, true)));
  assert.deepEqual(
    model.server.results.map((r) => r.version),
    [1, 3],
  );
  model = after(model, came(result(3)));
  assert.deepEqual(
    model.server.results.map((r) => [r.version, r.preview]),
    [
      [1, false],
      [3, false],
    ],
  );
});

test("the current result is the newest, until another is chosen, as long as that is there", () => {
  let model = after(opened(), came(result(4)), came(result(5)));
  assert.equal(current(model)?.version, 5);
  model = reduce(model, { do: "choose", choices: { current: 4 } });
  assert.equal(current(model)?.version, 4);
  assert.equal(newest(model)?.version, 5);
  model = reduce(model, { do: "load", state: state([1, 2, 3], [result(5)]) });
  assert.equal(current(model)?.version, 5);
});

test("progress of the reconstruction counts, that of anything else only if there is none", () => {
  const progress = (id: number, done: number): Event => ({ kind: "progress", id, stage: "reading", done, total: 4 });
  let model = after(opened(), progress(7, 1));
  assert.equal(busy(model)?.done, 1);
  model = after(model, { kind: "busy", version: 8, stage: "starting", done: 0, total: 1 }, progress(7, 3));
  assert.equal(busy(model)?.version, 8);
  assert.equal(busy(after(model, progress(8, 2)))?.done, 2);
  assert.equal(busy(after(model, { kind: "failed", version: 8, message: "" })), null);
});

test("no progress stands still when the server is gone", () => {
  const model = after(opened(), { kind: "busy", version: 8, stage: "starting", done: 0, total: 1 });
  const gone = reduce(model, { do: "online", yes: false });
  assert.equal(busy(gone), null);
  assert.equal(gone.online, false);
  const step = { stage: "fitting", done: 1, total: 2, full: true };
  const entry = { name: "a", title: "ant", method: "", state: "running" as const, message: "", busy: step };
  const queued = reduce(after(opened(), { kind: "queue", queue: [entry] }), { do: "online", yes: false });
  assert.deepEqual(queued.server.queue, [{ ...entry, state: "waiting", busy: null }]);
  assert.equal(reduce(gone, { do: "online", yes: true }).online, true);
});

test("another session takes with it what was chosen on the frames, the same one does not", () => {
  const chosen = reduce(opened(), { do: "choose", choices: { pixel: [1, 1], crop: [0, 0, 2, 2], view: "4" } });
  const same = reduce(chosen, { do: "load", state: state([3, 2, 1]) });
  assert.deepEqual(same.choices.pixel, [1, 1]);
  const other = reduce(chosen, { do: "load", state: state([11, 12], [], "two") });
  assert.equal(other.choices.pixel, null);
  assert.equal(other.choices.crop, null);
  assert.equal(other.choices.view, "4");
});

test("choices that the server kept come back with their session", () => {
  const kept = { ...state([11, 12], [], "two"), choices: { pixel: [3, 2], view: "wipe" } } as unknown as State;
  const model = reduce(opened(), { do: "load", state: kept });
  assert.deepEqual(model.choices.pixel, [3, 2]);
  assert.equal(model.choices.view, "wipe");
  assert.equal(model.choices.session, "two");
});

test("a result is outdated when its frames are not those that are chosen, or in another order", () => {
  const model = opened(result(1));
  assert.equal(outdated(model, current(model)), false);
  const reversed = reduce(model, { do: "load", state: state([3, 2, 1], [result(1)]) });
  assert.equal(outdated(reversed, current(reversed)), true);
  const fewer = reduce(model, { do: "load", state: state([1, 2], [result(1)]) });
  assert.equal(outdated(fewer, current(fewer)), true);
});

test("near and far are what the user says, or what was seen", () => {
  const model = opened(result(1));
  assert.equal(near(model, current(model)!), "small");
  assert.equal(near(reduce(model, { do: "near", near: "large" }), current(model)!), "large");
});

test("a comparison is between two results that are there, in full size", () => {
  const model = reduce(opened(result(1), result(2)), { do: "choose", choices: { compared: 1 } });
  assert.deepEqual(difference(model)?.versions, [2, 1]);
  const touched = reduce(model, {
    do: "load",
    state: state([1, 2, 3], [{ ...result(1), revision: 1 }, result(2)]),
  });
  assert.notEqual(difference(touched)?.key, difference(model)?.key); // another depth, another difference
  const chosen = reduce(model, { do: "choose", choices: { current: 1 } });
  assert.equal(difference(chosen), null);
  const gone = reduce(model, { do: "load", state: state([1, 2, 3], [result(2)]) });
  assert.equal(gone.choices.compared, 0);
});

test("files belong to the result they were written for", () => {
  const model = after(opened(result(1), result(2)), { kind: "saved", version: 1, files: ["depth.tif"] });
  assert.deepEqual(
    model.server.results.map((r) => r.saved),
    [true, false],
  );
});

test("a watcher is told when its part is another, and only then", () => {
  const store = new Store(opened());
  const seen: string[] = [];
  store.watch(
    (m) => [m.choices.view],
    (m) => seen.push(m.choices.view),
  );
  const actions: Action[] = [
    { do: "choose", choices: { pixel: [1, 2] } },
    { do: "choose", choices: { view: "wipe" } },
    { do: "choose", choices: { view: "wipe" } },
  ];
  for (const action of actions) store.dispatch(action);
  assert.deepEqual(seen, ["2", "wipe"]);
});

test("what a watcher changes in turn is the last that the others hear of", () => {
  const store = new Store(opened());
  const seen: string[] = [];
  store.watch(
    (m) => [m.choices.tool],
    (m) => {
      if (m.choices.tool === "retouch") store.choose({ view: "4" });
    },
  );
  store.watch(
    (m) => [m.choices.view, m.choices.tool],
    (m) => seen.push(`${m.choices.view} ${m.choices.tool}`),
  );
  store.choose({ tool: "retouch" });
  assert.deepEqual(seen, ["2 probe", "4 retouch"]);
});

test("what is painted from is there: a slab or result that the current one does not have is left", () => {
  const slabs = [{ file: "", first: "", last: "", made: 1 }];
  const choose = (model: Model, source: Model["choices"]["brush"]["source"]): Model =>
    reduce(model, { do: "choose", choices: { brush: { ...model.choices.brush, source } } });
  let model = choose(opened({ ...result(1), slabs }, result(2)), { from: "slab", slab: 0 });
  assert.deepEqual(model.choices.brush.source, { from: "frame" }); // the newest has none
  model = choose(reduce(model, { do: "choose", choices: { current: 1 } }), { from: "slab", slab: 0 });
  assert.deepEqual(model.choices.brush.source, { from: "slab", slab: 0 });
  // A sketch of the next reconstruction has no slabs, either: the pane beside was empty while it was made.
  const sketched = after(reduce(model, { do: "choose", choices: { current: 0 } }), came(result(3, true)));
  assert.deepEqual(sketched.choices.brush.source, { from: "frame" });
  model = choose(model, { from: "result", version: 2 });
  assert.deepEqual(model.choices.brush.source, { from: "result", version: 2 });
  model = reduce(model, { do: "load", state: state([1, 2, 3], [result(1)]) });
  assert.deepEqual(model.choices.brush.source, { from: "frame" });
});

test("nothing goes on any more after all was cancelled", () => {
  const model = after(opened(), { kind: "progress", id: 7, stage: "reading", done: 1, total: 3 }, { kind: "idle" });
  assert.equal(busy(model), null);
});
