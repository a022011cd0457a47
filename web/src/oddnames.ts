// Files among the frames that are named unlike the others: often a finished picture, made of them.

/** Frames per odd one that a stack must have for it to stick out. */
const MANY = 3;

/** What names have in common that only count: letters without the numbers between them. */
function pattern(name: string): string {
  return name.toLowerCase().replace(/\d+/g, "#");
}

/** The names that do not fit the one pattern which nearly all others follow. */
export function oddNames(names: string[]): Set<string> {
  const sizes = new Map<string, number>();
  for (const name of names) sizes.set(pattern(name), (sizes.get(pattern(name)) ?? 0) + 1);
  const [usual, count] = [...sizes].reduce((most, one) => (one[1] > most[1] ? one : most), ["", 0]);
  const odd = names.filter((name) => pattern(name) !== usual);
  return new Set(usual.includes("#") && count > MANY * odd.length ? odd : []);
}
