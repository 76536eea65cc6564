import { containedIn, type SearchTerm } from "../../../core/contract/internal.ts";

/** A text that matches, as words. */
export interface Candidate {
  readonly id: bigint;
  readonly words: string;
}

interface Ranked {
  readonly id: bigint;
  /** The more the better. */
  readonly rank: number;
}

// BM25's usual constants: how soon more of a word counts no more, and how much a long text counts less.
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/**
 * The best first; of two as good as each other the order stays. By these texts alone: FTS5's bm25() also weighs words by how many texts
 * of all owners have them, and so would show each user what the others write.
 */
export function ranked(candidates: readonly Candidate[], terms: readonly SearchTerm[]): readonly Ranked[] {
  const average = candidates.reduce((sum, { words }) => sum + words.length, 0) / candidates.length;
  const marks = terms.map(containedIn);
  return candidates
    .map(({ id, words }) => {
      const damping = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * words.length) / average);
      const rank = marks.reduce((sum, mark) => {
        const times = timesIn(words, mark);
        return sum + times / (times + damping);
      }, 0);
      return { id, rank };
    })
    .toSorted((one, other) => other.rank - one.rank);
}

function timesIn(words: string, mark: string): number {
  let times = 0;
  // Two words that follow each other share the space between them.
  for (let at = words.indexOf(mark); at >= 0; at = words.indexOf(mark, at + mark.length - 1)) times += 1;
  return times;
}
