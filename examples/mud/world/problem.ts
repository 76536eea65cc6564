/** An error in a world: its path, and what to write instead. */
export interface Problem {
  /** The path in the data, such as `["rooms", "hall", "exits", "north"]`. */
  readonly path: readonly (string | number)[];
  readonly text: string;
  /** Whether the error is in the key at `path`, not in its value. */
  readonly atKey?: boolean;
}

/** A world that cannot be played. `message` holds one line per problem, `file:line:col: what is wrong and what to write instead`. */
export class WorldError extends Error {
  override readonly name = "WorldError";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

const FARTHEST = 3;

/** ` Did you mean "x"?` where one of the known names is near, else a list of them. */
export function suggest(name: string, known: readonly string[]): string {
  let best: string | undefined;
  let least = FARTHEST;
  for (const one of known) {
    const distance = edits(name, one);
    if (distance < least) {
      best = one;
      least = distance;
    }
  }
  if (best !== undefined) return ` Did you mean "${best}"?`;
  return known.length === 0 || known.length > 20 ? "" : ` Known: ${known.join(", ")}.`;
}

function edits(a: string, b: string): number {
  if (Math.abs(a.length - b.length) >= FARTHEST) return FARTHEST;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost));
    }
    row = next;
  }
  return row[b.length] ?? FARTHEST;
}
