// Run by `npm test`: what the page asks for and what it believes, with a server that is made up.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Newest } from "../src/newest";

interface Waiting {
  body: string;
  settled: boolean;
  answer: (version: number) => Promise<void>;
  refuse: (words: string) => Promise<void>;
}

/** Let everything that waits for a promise go on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function page(): { newest: Newest<string>; sent: Waiting[]; complaints: string[] } {
  const sent: Waiting[] = [];
  const complaints: string[] = [];
  const newest = new Newest<string>(
    ({ body, settled }) =>
      new Promise((resolve, reject) => {
        sent.push({
          body,
          settled,
          answer: (version) => (resolve(version), turn()),
          refuse: (words) => (reject(new Error(words)), turn()),
        });
      }),
    (error) => complaints.push((error as Error).message),
  );
  return { newest, sent, complaints };
}

test("while a slider moves one answer is awaited and only the last change waits", async () => {
  const { newest, sent } = page();
  for (const body of ["a", "b", "c", "d"]) newest.ask(body, false);
  assert.deepEqual(
    sent.map((s) => s.body),
    ["a"],
  );
  await sent[0]!.answer(1);
  assert.equal(sent.length, 1);
  assert.equal(newest.result(1), true);
  assert.deepEqual(
    sent.map((s) => s.body),
    ["a", "d"],
  );
  await sent[1]!.answer(2);
  newest.result(2);
  assert.equal(sent.length, 2);
});

test("what has settled does not wait for the answer", async () => {
  const { newest, sent } = page();
  newest.ask("a", false);
  await sent[0]!.answer(1);
  newest.ask("b", true);
  assert.deepEqual(
    sent.map((s) => [s.body, s.settled]),
    [
      ["a", false],
      ["b", true],
    ],
  );
});

test("what settles while the version is on its way follows at once", async () => {
  const { newest, sent } = page();
  newest.ask("a", false);
  newest.ask("b", true);
  assert.equal(sent.length, 1);
  await sent[0]!.answer(1);
  assert.equal(sent[1]!.body, "b");
});

test("an older answer never overwrites a newer one", async () => {
  const { newest, sent } = page();
  newest.ask("a", true);
  await sent[0]!.answer(1);
  newest.ask("b", true);
  await sent[1]!.answer(2);
  assert.equal(newest.result(2), true);
  assert.equal(newest.result(1), false);
  assert.equal(newest.result(2), true, "the same in full size");
});

test("an answer that overtakes its version lets the next change follow", async () => {
  const { newest, sent } = page();
  newest.ask("a", false);
  newest.ask("b", false);
  assert.equal(newest.result(1), true);
  await sent[0]!.answer(1);
  assert.equal(sent[1]!.body, "b");
});

test("what was cancelled is not shown, also when its version comes later", async () => {
  const { newest, sent } = page();
  newest.ask("a", true);
  await sent[0]!.answer(1);
  newest.cancel();
  assert.equal(newest.result(1), false);
  newest.ask("b", true);
  newest.cancel();
  await sent[1]!.answer(2);
  assert.equal(newest.result(2), false);
  newest.ask("c", true);
  await sent[2]!.answer(3);
  assert.equal(newest.result(3), true);
});

test("cancelling drops the change that waits", async () => {
  const { newest, sent } = page();
  newest.ask("a", false);
  newest.ask("b", false);
  newest.cancel();
  await sent[0]!.answer(1);
  newest.result(1);
  assert.equal(sent.length, 1);
});

test("a refusal is told, but not once a newer change has followed", async () => {
  const { newest, sent, complaints } = page();
  newest.ask("a", false);
  newest.ask("b", false);
  await sent[0]!.refuse("wrong a");
  assert.deepEqual(complaints, []);
  assert.equal(sent[1]!.body, "b");
  await sent[1]!.refuse("wrong b");
  assert.deepEqual(complaints, ["wrong b"]);
  newest.ask("c", true);
  newest.cancel();
  await sent[2]!.refuse("wrong c");
  assert.deepEqual(complaints, ["wrong b"]);
});

test("failures of old versions are ignored, those of the newest and of other things are not", async () => {
  const { newest, sent } = page();
  newest.ask("a", true);
  await sent[0]!.answer(1);
  newest.ask("b", true);
  await sent[1]!.answer(2);
  assert.equal(newest.failed(1), false);
  assert.equal(newest.failed(undefined), true);
  assert.equal(newest.failed(2), true);
  newest.ask("c", false);
  assert.equal(sent.length, 3, "a failure is an answer, too");
});
