import assert from "node:assert/strict";
import { test } from "node:test";
import { containedIn, ftsQuery, searchableText, searchTerms } from "./internal.ts";

const matches = (query: string, ...texts: readonly string[]): boolean => {
  const text = searchableText(texts);
  return searchTerms(query).every((term) => text.includes(containedIn(term)));
};

test("case, accents, width and composition make no difference to words", () => {
  assert.equal(searchableText(["Ünïcode-Test", "ＡＢＣ ½"]), " unicode test \u{e000} abc 1 2 ");
  assert.ok(matches("uberfall STRASSE", "Überfall in der Straße"));
  assert.ok(matches("ΟΔΟΣ", "οδος"));
  assert.ok(matches("e\u0301te\u0301", "ÉTÉ"));
});

test("a phrase is within one text, a star begins a word, and scripts without spaces are found by characters", () => {
  assert.ok(matches('"disk is full"', "The disk, is full."));
  assert.ok(!matches('"disk is full"', "The disk", "is full"));
  assert.ok(!matches('"disk full"', "disk is full"));
  assert.ok(matches("dis*", "disk") && !matches("dis", "disk") && !matches("isk*", "disk"));
  assert.ok(matches("東京", "東京都") && !matches("京東", "東京都"));
  assert.ok(matches("disk\u{e000}full", "disk full") && !matches('"disk \u{e000} full"', "disk", "full"));
});

test("punctuation and symbols of scripts without spaces make no difference either", () => {
  assert.equal(searchableText(["接続「失敗」。", "ไทย๚ ฯ", "〽"]), " 接 続 失 敗 \u{e000} ไ ท ย ฯ ");
  assert.ok(matches("失敗。", "接続に失敗しました"));
  assert.ok(matches('"失敗しました再試行"', "接続に失敗しました。再試行してください") && matches('"接続失敗"', "接続「失敗」あり"));
  assert.ok(matches("A-B", "A·B") && matches('"a b"', "A・B"));
  assert.throws(() => searchTerms("。「」"), { code: "BAD_QUERY", message: /nothing to look for/ });
});

test("an FTS5 expression has quoted words only, whatever the query", () => {
  for (const query of ['a" OR "b', 'x NEAR(y) {col}: z*9 ^q "p-p" -n', "ⅷ ㈱ ⑴ ﷺ ﬁ*x", "\ud800a \0b", "接続「失敗」。 A·B"]) {
    const expression = ((): string => {
      try {
        return ftsQuery(searchTerms(query));
      } catch {
        return '"refused"';
      }
    })();
    assert.match(expression, /^"[\p{L}\p{N}\p{M} ]+"(?: \*)?(?: AND "[\p{L}\p{N}\p{M} ]+"(?: \*)?)*$/u, query);
  }
});
