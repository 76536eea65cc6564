import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ActorId } from "../../../core/contract/index.ts";
import { LocalEngine } from "../../../core/engine/index.ts";
import { memoryStore } from "../../../core/store/index.ts";
import { PacketError } from "../packet.ts";
import { searchIndex } from "./search.ts";
import { board, diary, found, searched, tell } from "./notes.fixture.ts";

const WORDS = ["abcd", "abcde", "Ábcd", "ABCDE", "xyz", "xýz1", "straße", "STRASSE", "и", "Й", "12", "東", "東京", "κόσμος", "ΚΌΣΜΟΣ"];
const GAPS = [" ", "  ", ", ", "\n", "-", "!(", ".", "。", "・"];
const OWNERS = ["ann", "bob", undefined] as const;

const word = fc.constantFrom(...WORDS);
const text = fc.array(fc.tuple(word, fc.constantFrom(...GAPS)), { maxLength: 6 }).map((parts) => parts.flat().join(""));
const note = fc.record({
  actor: fc.constantFrom<ActorId>("diary/a", "diary/b", "board/c"),
  title: text,
  text,
});
const term = fc.oneof(
  word.map((one) => ({ query: one, words: [one], prefix: false })),
  fc.constantFrom("abc", "ABCD", "strass", "κόσμ").map((one) => ({ query: `${one}*`, words: [one], prefix: true })),
  fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => ({ query: `"${words.join(" ")}"`, words, prefix: false })),
);

// The model: lists of words, searched one by one.
const plain = (one: string): string =>
  one
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/gu, "")
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll("ς", "σ");
const wordsIn = (one: string): readonly string[] => plain(one).match(/\p{sc=Han}|(?:(?!\p{sc=Han})[\p{L}\p{N}])+/gu) ?? [];
const has = (one: string, { words, prefix }: { readonly words: readonly string[]; readonly prefix: boolean }): boolean => {
  const there = wordsIn(one);
  const wanted = words.flatMap(wordsIn);
  return there.some((_, at) =>
    wanted.every((w, n) => (prefix && n === wanted.length - 1 ? (there[at + n] ?? "").startsWith(w) : there[at + n] === w)),
  );
};

test("it finds the same as a naive search of every text, for all users and after a rebuild #packet.phase.3-search", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(note, { maxLength: 20 }),
      fc.array(fc.array(term, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 }),
      async (notes, queries) => {
        await using engine = await LocalEngine.start({ kinds: [diary, board], store: memoryStore({}) });
        await using search = searchIndex({ engine, file: ":memory:", kinds: [searched(diary), searched(board)] });
        const seqs = new Map<string, number>();
        const model: { readonly id: string; readonly owner: string | undefined; readonly texts: readonly string[] }[] = [];
        for (const { actor, title, text: body } of notes) {
          const owner = actor === "board/c" ? undefined : actor === "diary/a" ? "ann" : "bob";
          const seq = (seqs.get(actor) ?? 0) + 1;
          seqs.set(actor, seq);
          model.push({ id: `${actor}#${seq}`, owner, texts: [title, body] });
          await tell(engine, actor, { title, text: body }, owner);
        }
        const check = async (): Promise<void> => {
          for (const terms of queries)
            for (const owner of OWNERS) {
              const query = terms.map((one) => one.query).join(" ");
              const wanted = model
                .filter((one) => one.owner === undefined || one.owner === owner)
                .filter(({ texts }) => terms.every((one) => texts.some((each) => has(each, one))));
              assert.deepEqual((await found(search, query, owner)).toSorted(), wanted.map(({ id }) => id).toSorted(), query);
            }
        };
        await search.caughtUp();
        await check();
        await search.rebuild();
        await check();
      },
    ),
    { numRuns: 60 },
  );
});

test("any query is answered, or refused with what to write instead", async () => {
  await using engine = await LocalEngine.start({ kinds: [diary, board], store: memoryStore({}) });
  await using search = searchIndex({
    engine,
    file: ":memory:",
    kinds: [searched(diary), searched(board)],
    onFault: (error) => assert.fail(String(error)),
  });
  await tell(engine, "diary/a", { text: "hidden AND found OR text scope NEAR k0 a1" }, "ann");
  await search.caughtUp();
  const hostile = fc.array(
    fc.oneof(
      fc.constantFrom(
        '"',
        "'",
        "*",
        "^",
        "(",
        ")",
        "{",
        "}",
        ":",
        "+",
        "-",
        " AND ",
        " OR ",
        " NOT ",
        "NEAR(",
        "hidden",
        "text",
        "scope",
        "\0",
        "\ue000",
        "\ud800",
      ),
      fc.string({ unit: "binary", maxLength: 5 }),
    ),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(hostile, async (parts) => {
      const query = parts.join("");
      try {
        assert.deepEqual(await found(search, query, "bob"), []);
        await found(search, query, "ann");
      } catch (error) {
        assert.ok(error instanceof PacketError, String(error));
        assert.equal(error.type, "validation_failed");
      }
    }),
    { numRuns: 2_000 },
  );
});
