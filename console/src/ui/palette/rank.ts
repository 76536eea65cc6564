// Owns: which commands match what was typed, the best first. Does not own: drawing them.

/** `texts`: of a command, the most important first. All words must match, each in one of them. */
export function rank<T>(commands: readonly T[], typed: string, texts: (command: T) => readonly string[]): readonly T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return commands;
  return commands
    .map((command) => ({ command, score: scoreOf(words, texts(command)) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .map(({ command }) => command);
}

function scoreOf(words: readonly string[], texts: readonly string[]): number {
  let sum = 0;
  for (const word of words) {
    const best = Math.max(...texts.map((text, index) => match(word, text.toLowerCase()) / (index + 1)));
    if (best === 0) return 0;
    sum += best;
  }
  return sum;
}

/** 0: not at all. */
function match(word: string, text: string): number {
  const at = text.indexOf(word);
  if (at === 0) return 100 - Math.min(text.length, 50) / 10;
  if (at > 0) return /[^a-z0-9]/.test(text[at - 1] ?? "") ? 80 : 50;
  // The letters in their order, as in `ovw` for Overview.
  let from = 0;
  for (const letter of word) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return 0;
  }
  return word.length > 1 && text.startsWith(word[0] ?? "") ? 20 : 0;
}
