const LONGEST = 64;

/** The known name that was most likely meant: case, `_` and `-` aside. Undefined: none is like it. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST) return undefined;
  const given = plain(name);
  const [best] = known
    .map((one) => ({ one, off: distance(given, plain(one)) }))
    .filter(({ one, off }) => off <= Math.max(1, Math.floor(one.length / 3)))
    .toSorted((left, right) => left.off - right.off);
  return best?.one;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, "");

/** How many characters to add, drop, exchange, or swap with their neighbour until one is the other. */
function distance(one: string, other: string): number {
  let [beforeLast, last]: number[][] = [[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row += 1) {
    const here = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const exchanged = (last?.[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1);
      let steps = Math.min(exchanged, (last?.[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1);
      const areSwapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (areSwapped) steps = Math.min(steps, (beforeLast?.[column - 2] ?? 0) + 1);
      here.push(steps);
    }
    [beforeLast, last] = [last, here];
  }
  return last?.at(-1) ?? 0;
}
