// Searches 100,000 notes in a file for the newest and the best ones, by one principal of ten.
import { statSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_POLICY, type Behaviour } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { searchIndex } from "troupe/packet";
import { memoryStore } from "troupe/store";
import type { BenchOptions } from "./options.ts";
import { temporaryFolder } from "./cleanup.ts";
import { print } from "./table.ts";

const WORDS = 30;
const VOCABULARY = 20_000;

const noted: Behaviour<number> = {
  kind: "noted",
  version: 1,
  policy: { ...DEFAULT_POLICY, owner: "starter", maxStateBytes: 1_000 },
  initial: () => 0,
  receive: (state) => ({ state: state + 1 }),
};

// A Zipf distribution, as in natural language: the nth word is 1/n as frequent as the first. Words share prefixes.
const SYLLABLES = "ka to mi ra su ne lo be vi du fa go ha ji ke la mo nu pa ri".split(" ");
const syllable = (n: number): string => SYLLABLES[n % SYLLABLES.length] ?? "";
const wordAt = (n: number): string =>
  syllable(n * 7) + syllable(Math.floor(n / 20) * 3) + syllable(Math.floor(n / 400)) + syllable(Math.floor(n / 8_000) + 5);
const sums: number[] = [];
for (let n = 0, sum = 0; n < VOCABULARY; n += 1) sums.push((sum += 1 / (n + 1)));

let state = 1;
const dice = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;

function word(): string {
  const wanted = dice() * (sums.at(-1) ?? 1);
  let low = 0;
  for (let high = VOCABULARY - 1; low < high;) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return wordAt(low);
}

const QUERIES: Readonly<Record<string, string>> = {
  "a rare word": wordAt(9_000),
  "a word": wordAt(100),
  "the commonest word": wordAt(0),
  "two words": `${wordAt(20)} ${wordAt(50)}`,
  "three common words": `${wordAt(0)} ${wordAt(1)} ${wordAt(2)}`,
  "a phrase of common words": `"${wordAt(0)} ${wordAt(1)}"`,
  "a prefix": `${wordAt(900).slice(0, 4)}*`,
  "a short prefix": `${wordAt(0).slice(0, 3)}*`,
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  const notes = quick ? 10_000 : 100_000;
  for (const owners of [1, 10]) {
    const file = join(data.path, `search-${owners}.db`);
    await using engine = await LocalEngine.start({ kinds: [noted], store: memoryStore({}) });
    for (let n = 0; n < notes; n += 1) {
      const text = Array.from({ length: WORDS }, word).join(" ");
      const viewer = { principal: `p${n % owners}`, scopes: [] };
      await engine.call({ to: `noted/${n % 1_000}`, action: "note", args: { text }, start: null, viewer });
    }
    const started = performance.now();
    await using search = searchIndex({ engine, file, kinds: [{ kind: noted.kind, policy: noted.policy, fields: ["text"] }] });
    await search.rebuild();
    const what = `${notes} notes of ${owners} principal${owners === 1 ? "" : "s"}`;
    print({ what: `${what}: indexed anew`, measured: [performance.now() - started], unit: "ms" });
    print({ what: `${what}: the index's file`, measured: [statSync(file).size], unit: "bytes" });
    for (const [name, query] of Object.entries(QUERIES)) {
      const measured: number[] = [];
      while (measured.length < (quick ? 5 : 25)) {
        const from = performance.now();
        await search.search(query, { owner: "p0" });
        measured.push(performance.now() - from);
      }
      print({ what: `${what}: one looks for ${name}`, measured, unit: "ms", target: 20 });
    }
  }
};
