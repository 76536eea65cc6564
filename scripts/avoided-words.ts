// Owns: the words that readers stumbled over. Does not own: where they are looked for (test/words.test.ts, site/tools/readability.ts).

/** As nouns and flags they hide who does what: say "notified", "stored", "removed", "visible", "the caller". */
export const AVOIDED_WORDS: ReadonlySet<string> = new Set(
  (
    "told asked kept gone said shown beside late stray seldom owed standing vouch nobody whoever ride lead land house shelf ground " +
    "company young bell ear sight"
  ).split(" "),
);
