// One bar over all stages of a reconstruction: how far it is in all, from how far it is in one stage.

/** Stages in their order, and about which share of the work each is. */
const WORK: [string, number][] = [
  ["starting", 0.5],
  ["reading", 4],
  ["looking", 4],
  ["aligning", 10],
  ["improving", 6],
  ["contrast", 14],
  ["learning", 6],
  ["searching", 12],
  ["minimising", 20],
  ["refining", 8],
  ["second look", 10],
  ["judging", 4],
  ["edges", 14],
  ["fusing", 6],
  ["writing", 8],
];

/** Stages that come before all of these, for another reason: a sketch first, then the whole. */
const SKETCH_SHARE = 0.06;

/** Stages that only some methods have. */
const ONLY: Record<string, string[]> = {
  robust: ["learning", "searching", "refining", "second look", "judging", "edges"],
  paper: ["minimising"],
  classic: [],
};
const SPECIAL = Object.values(ONLY).flat();

/** The share of the work that is done; 0 for a stage that is not known. */
export function shareDone(stage: string, done: number, total: number, method: string, full: boolean): number {
  const mine = ONLY[method === "auto" ? "robust" : method] ?? SPECIAL;
  const stages = WORK.filter(([name]) => !SPECIAL.includes(name) || mine.includes(name));
  const all = stages.reduce((sum, [, work]) => sum + work, 0);
  let before = 0;
  for (const [name, work] of stages) {
    if (name === stage) {
      const share = (before + work * (total > 0 ? Math.min(done / total, 1) : 0)) / all;
      return full ? SKETCH_SHARE + (1 - SKETCH_SHARE) * share : SKETCH_SHARE * share;
    }
    before += work;
  }
  return full ? SKETCH_SHARE : 0;
}

/** Seconds that remain, from what the work so far has taken; null while nobody can tell. */
export function secondsLeft(share: number, elapsed: number): number | null {
  if (share < 0.05 || elapsed < 1) return null;
  return (elapsed / share) * (1 - share);
}

/** A time as people say it. */
export function inWords(seconds: number): { count: number; unit: "seconds" | "minutes" | "moment" } {
  if (seconds < 1.5) return { count: 0, unit: "moment" };
  if (seconds < 90) return { count: Math.round(seconds), unit: "seconds" };
  return { count: Math.round(seconds / 60), unit: "minutes" };
}
