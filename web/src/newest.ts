// Newest wins: which change is sent next, and which answers still count.

export interface Change<Body> {
  body: Body;
  /** False while a slider moves. */
  settled: boolean;
}

interface Asked {
  /** 0 until the server has said it. */
  version: number;
  cancelled: boolean;
}

/**
 * While a slider moves one answer is awaited, so that there is something to see, and only the last
 * change waits. What has settled does not wait. Answers to anything older than what was shown or
 * cancelled do not count, and nor do complaints about it.
 */
export class Newest<Body> {
  /** What was asked for last and is not answered. */
  private asked: Asked | null = null;
  private following: Change<Body> | null = null;
  private answered = 0;
  private cancelled = 0;
  private newestKnown = 0;
  /** Cancelled changes whose versions are on their way. */
  private voided = 0;

  /**
   * @param send asks the server and returns the version of the answer to come
   * @param complain is called with a change that the server refused, if none has followed it
   */
  constructor(
    private send: (change: Change<Body>) => Promise<number>,
    private complain: (error: unknown) => void,
  ) {}

  ask(body: Body, settled: boolean): void {
    this.following = { body, settled };
    if (!this.asked || (settled && this.asked.version)) void this.next();
  }

  /** A result has come; returns whether to show it. */
  result(version: number): boolean {
    const voided = this.voided > 0 && !this.asked;
    const counts = version >= this.answered && version > this.cancelled && !voided;
    this.hear(version);
    return counts;
  }

  /** A change could not be answered, or something else failed; returns whether to say so. */
  failed(version: number | undefined): boolean {
    if (version === undefined) return true;
    const counts = version >= this.newestKnown && version > this.cancelled;
    this.hear(version);
    return counts;
  }

  /** Whatever was asked for is not wanted any more. */
  cancel(): void {
    if (this.asked && !this.asked.version) {
      this.asked.cancelled = true;
      this.voided++;
    }
    this.following = this.asked = null;
    this.cancelled = this.newestKnown;
  }

  /** An answer, of whatever kind, is there: the next may follow. */
  private hear(version: number): void {
    this.answered = Math.max(this.answered, version);
    this.newestKnown = Math.max(this.newestKnown, version);
    if (this.asked?.version && version >= this.asked.version) void this.next();
  }

  private async next(): Promise<void> {
    const change = this.following;
    this.following = this.asked = null;
    if (!change) return;
    const mine: Asked = { version: 0, cancelled: false };
    this.asked = mine;
    try {
      mine.version = await this.send(change);
      this.newestKnown = Math.max(this.newestKnown, mine.version);
      if (mine.cancelled) this.cancelled = Math.max(this.cancelled, mine.version);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it may have changed meanwhile
      if (this.asked === mine && !this.following) this.complain(error);
    }
    if (mine.cancelled) this.voided--;
    if (this.asked !== mine) return;
    // The answer may have overtaken its version, and another change have settled meanwhile.
    const waiting = this.following as Change<Body> | null;
    if (!mine.version || this.answered >= mine.version || waiting?.settled) void this.next();
  }
}
