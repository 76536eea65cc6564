const MOST = 256;
const LONGEST = 256;

interface Judged<T> {
  readonly text: string;
  readonly value: T;
}

/**
 * The same function, which keeps what it said: clients repeat themselves. Bounded, since the text is theirs. The text before is
 * compared first: to be looked up, one that was just read must be hashed, and that takes longer.
 */
export function remembering<T>(judge: (text: string) => T): (text: string) => T {
  const known = new Map<string, Judged<T>>();
  let last: Judged<T> | undefined;
  return (text) => {
    if (last !== undefined && last.text === text) return last.value;
    let found = known.get(text);
    if (found === undefined) {
      found = { text, value: judge(text) };
      if (text.length > LONGEST) return found.value;
      if (known.size >= MOST) known.clear();
      known.set(text, found);
    }
    last = found;
    return found.value;
  };
}
