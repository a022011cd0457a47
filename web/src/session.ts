// What the page asks of its server, and what it does with the answers.

import type { Batch } from "./dropped";
import { get, listen, Offline, post, Refusal, upload, type Event, type Values } from "./api";
import { Newest } from "./newest";
import { current, difference, newest, SENDING, type PaneChoice, type Store } from "./store";
import { attempt, complain, offerUndo, say } from "./views/messages";
import { serverWords, t } from "./words";
import type { DifferenceInfo, Mask, ResultInfo, SessionInfo, State, Stroke } from "./wire";

/** What happens to the frames that are open when others come. */
export type Mode = "add" | "replace" | "new" | "queue";

/** Milliseconds until what the user chose is kept by the server. */
const KEPT_AFTER = 800;

/** Panes of a comparison: one, the other, and the difference. */
const COMPARISON = (other: number): PaneChoice[] => [
  { map: "depth", result: 0 },
  { map: "depth", result: other },
  { map: "difference", result: 0 },
  { map: "fused", result: 0 },
];

export class Session {
  /** The chosen parameters, with the method. */
  parameters: () => Values = () => ({});
  private requests = new Newest<Values>(
    async ({ body, settled }) => (await post<{ version: number }>("/api/solve", { parameters: body, settled })).version,
    complain,
  );
  private connection: { now: () => void } | null = null;
  private sending: AbortController | null = null;
  private loading: Promise<void> | null = null;
  /** Counts what was heard, and what was heard of the queue. */
  private happened = 0;
  private moved = 0;
  /** Files are sent one after the other, whoever wants to send them. */
  private last: Promise<void> = Promise.resolve();

  constructor(readonly store: Store) {}

  /** Ask for the state; one that something happened after is asked for again. */
  load(): Promise<void> {
    this.happened++;
    this.loading ??= this.catchUp().finally(() => (this.loading = null));
    return this.loading;
  }

  private async catchUp(): Promise<void> {
    let asked: number;
    do {
      asked = this.happened;
      const { moved } = this;
      const state = await get<State>("/api/state");
      if (moved !== this.moved) state.queue = this.store.get().server.queue; // what was heard is newer
      const { unsent } = this;
      if (unsent) state.results = state.results.map((r) => (r.version === unsent.version ? { ...r, ...unsent } : r));
      // Requests and news take different ways: this may be older than what was heard meanwhile.
      if (asked === this.happened) this.store.dispatch({ do: "load", state });
    } while (asked !== this.happened);
  }

  /** Hear what happens, for ever. */
  listen(): void {
    let lost = false;
    this.connection = listen(
      (event) => this.hear(event),
      (connected) => {
        // Also at first: what happened between the state and the connection was not heard.
        if (connected) void attempt(() => (lost ? this.find() : this.load()));
        if (!connected) this.requests.cancel();
        lost = !connected;
        if (connected !== this.store.get().online) this.store.dispatch({ do: "online", yes: connected });
      },
    );
    let keeping = 0;
    this.store.watch(
      (m) => [m.choices],
      () => {
        clearTimeout(keeping);
        keeping = window.setTimeout(() => this.keepChoices(), KEPT_AFTER);
      },
    );
    this.store.watch(
      (m) => [difference(m)?.key],
      () => void attempt(() => this.subtract()),
    );
  }

  reconnect(): void {
    this.connection?.now();
  }

  /** After a restart of the server, go on with the work that was open here. */
  private async find(): Promise<void> {
    const { session } = this.store.get().choices;
    const state = await get<State>("/api/state");
    const idle = !state.frames.length && !state.results.length;
    const kept = session && session !== state.session && idle ? await get<SessionInfo[]>("/api/sessions") : [];
    if (kept.some((one) => one.name === session)) await post(`/api/sessions/${session}/open`);
    await this.load();
  }

  private keepChoices(): void {
    const { online, choices, server } = this.store.get();
    if (online && server.frames.length) post("/api/choices", choices).catch(() => undefined); // the next change tries again
  }

  private hear(event: Event): void {
    if (event.kind === "state") return void attempt(() => this.load());
    if (event.kind === "queue") this.moved++;
    else if (event.kind !== "progress") this.happened++;
    if (event.kind === "idle") this.requests.cancel();
    if (event.kind === "result" && !this.requests.result(event.result.version)) return;
    if (event.kind === "failed" && !this.requests.failed(event.version)) return;
    this.store.dispatch({ do: "hear", event });
    if (event.kind === "failed") say(serverWords(event.message));
  }

  // Reconstructing

  /** Reconstruct with what is chosen now; from then on everything speaks of what comes. */
  solve(settled: boolean): void {
    const { crop, panes } = this.store.get().choices;
    const parameters = this.parameters();
    const sole = panes.map((pane) => (pane.map === "difference" ? { map: "depth" as const, result: 0 } : pane));
    this.store.choose({ current: 0, compared: 0, panes: this.store.get().choices.compared ? sole : panes });
    this.requests.ask(crop ? { ...parameters, crop: crop.join(",") } : parameters, settled);
  }

  /** Reconstruct anew if something was reconstructed before. */
  solveAgain(settled = true): void {
    if (newest(this.store.get())) this.solve(settled);
  }

  cancel(): void {
    this.requests.cancel();
    this.sending?.abort();
    void attempt(() => post("/api/cancel"));
  }

  // Results

  choose(result: ResultInfo): void {
    const { compared } = this.store.get().choices;
    const latest = newest(this.store.get())?.version === result.version;
    this.store.choose({ current: latest ? 0 : result.version, compared: compared === result.version ? 0 : compared });
  }

  /** Show the current result, another one, and what is between them. */
  compare(other: ResultInfo): void {
    this.store.choose({ compared: other.version, panes: COMPARISON(other.version), view: "3", ranges: {} });
  }

  endComparison(): void {
    const panes = this.store
      .get()
      .choices.panes.map((pane, k): PaneChoice =>
        k === 0
          ? { map: "fused", result: 0 }
          : k === 1
            ? { map: "depth", result: 0 }
            : { ...pane, map: k === 2 ? "confidence" : "frame", result: 0 },
      );
    this.store.choose({ compared: 0, panes, view: "2" });
  }

  private async subtract(): Promise<void> {
    const model = this.store.get();
    const asked = difference(model);
    if (!asked || asked.info) return;
    const [a, b] = asked.versions;
    const info = await get<DifferenceInfo>(`/api/results/${a}/minus/${b}`);
    this.store.dispatch({ do: "difference", key: asked.key, info });
  }

  edit(result: ResultInfo, change: { name?: string; pinned?: boolean; deleted?: boolean }): void {
    void attempt(async () => {
      await post(`/api/results/${result.version}`, change);
      if (change.deleted) offerUndo(t("resultDeleted"), () => this.edit(result, { deleted: false }));
    });
  }

  /** Exchange near and far: seen at once, and in every measurement and surface from now on. */
  turn(): void {
    const model = this.store.get();
    const result = current(model);
    if (!result) return;
    const near = (model.server.near ?? result.near) === "small" ? "large" : "small";
    this.store.dispatch({ do: "near", near });
    void attempt(() => post("/api/near", { near }));
  }

  // Frames and what counts of them

  arrange(order: number[], excluded: number[], takeBack = true): void {
    const { frames } = this.store.get().server;
    const [before, out] = [frames.map((f) => f.id), frames.filter((f) => !f.included).map((f) => f.id)];
    void attempt(async () => {
      await post("/api/arrange", { order, excluded });
      if (takeBack) offerUndo(t("framesArranged"), () => this.arrange(before, out, false));
    });
  }

  mask(mask: Mask, takeBack = true): void {
    const before = this.store.get().server.mask ?? { outlines: [], base: false };
    this.store.dispatch({ do: "mask", mask: mask.outlines.length || mask.base ? mask : null });
    void attempt(async () => {
      await post("/api/mask", mask);
      if (takeBack) offerUndo(t("maskChanged"), () => this.mask(before, false));
      this.solveAgain();
    });
  }

  private drawn: { version: number; strokes: Stroke[] } | null = null;
  /** The newest strokes until the server has them: those in its state are older. */
  private unsent: { version: number; strokes: Stroke[] } | null = null;
  private drawing = false;

  /** Put strokes onto a result, instead of those it has; of several lists in a row the last counts. */
  async retouch(version: number, strokes: Stroke[]): Promise<void> {
    this.store.dispatch({ do: "strokes", version, strokes });
    this.drawn = this.unsent = { version, strokes };
    if (this.drawing) return;
    this.drawing = true;
    try {
      while (this.drawn) {
        const next: { version: number; strokes: Stroke[] } = this.drawn;
        this.drawn = null;
        try {
          await post(`/api/results/${next.version}/retouch`, { strokes: next.strokes });
        } catch (error) {
          complain(error);
          if (this.unsent === next) this.unsent = null;
          await attempt(() => this.load()); // what the server has counts
        }
      }
    } finally {
      this.drawing = false;
      this.unsent = null;
      this.happened++; // a state that was asked for before has older strokes
    }
  }

  slabs(version: number, size: number, overlap: number): Promise<void> {
    return attempt(() => post(`/api/results/${version}/slabs`, { size, overlap }));
  }

  // Opening

  /** Close what is open; it is kept, and offered where everything begins. */
  leave(): void {
    void attempt(() => post("/api/clear"));
  }

  example(): void {
    void attempt(() => post("/api/example"));
  }

  reopen(name: string): void {
    void attempt(async () => {
      await post(`/api/sessions/${name}/open`);
      await this.load();
    });
  }

  /** Send files. Nothing happens to what is open unless one of them is of use. */
  open(batch: Batch, mode: Mode): Promise<void> {
    return (this.last = this.last.then(async () => {
      await this.send(batch, mode);
    }));
  }

  /** Let stacks wait for their turn, with the settings as they are now. */
  enqueue(stacks: Batch[]): Promise<void> {
    return (this.last = this.last.then(async () => {
      let count = 0;
      for (const batch of stacks) {
        const taken = await this.send(batch, "queue");
        if (taken === null) break; // cancelled, or the server is gone
        if (taken) count++;
      }
      if (count) say(count === 1 ? t("oneQueued") : t("manyQueued", { count }), "note");
    }));
  }

  /** Change the queue: an entry is moved, cancelled, removed or done again. */
  queue(name: string, change: { do: "move"; by: -1 | 1 } | { do: "cancel" | "remove" | "again" }): void {
    void attempt(() => post(`/api/queue/${name}`, change));
  }

  /** Send the files of a stack; how many frames were of use, or null if it came to nothing. */
  private async send({ name, files }: Batch, mode: Mode): Promise<number | null> {
    const before = this.store.get().server.session;
    const empty = files.filter((f) => f.size === 0).map((f) => t("fileEmpty", { name: f.name }));
    const images = files.filter((f) => f.size > 0);
    const failures: string[] = [];
    this.sending = new AbortController();
    const { signal } = this.sending;
    try {
      for (const [k, file] of images.entries()) {
        const show = (share: number): void =>
          this.store.dispatch({
            do: "aside",
            busy: { version: SENDING, stage: t("sending", { name: file.name }), done: k + share, total: images.length },
          });
        show(0);
        try {
          await upload(file, `/api/upload?name=${encodeURIComponent(file.name)}&mode=${mode}`, show, signal);
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          failures.push(serverWords(error.message));
        }
      }
      const ready = { mode, name, ...(mode === "queue" ? { parameters: this.parameters() } : {}) };
      const taken = images.length ? (await post<{ frames: number }>("/api/uploaded", ready)).frames : 0;
      const words = [...empty, ...failures];
      if (words.length)
        say(`${taken ? t("someLeftOut", { count: words.length }) : t("noneOfUse")}\n${words.slice(0, 6).join("\n")}`);
      await this.load();
      const { replaced, session } = this.store.get().server;
      if (replaced && replaced === before && session !== before)
        offerUndo(t("stackReplaced"), () => this.reopen(before));
      return taken;
    } catch (error) {
      if (!(error instanceof Offline)) post("/api/uploaded", { mode, cancelled: true }).catch(() => undefined);
      complain(error);
      return null;
    } finally {
      this.store.dispatch({ do: "aside", busy: null });
    }
  }
}
