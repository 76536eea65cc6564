import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { checkpointEntry } from "../../../core/chain/index.ts";
import { LocalEngine } from "../../../core/engine/index.ts";
import { memoryStore, sqliteStore } from "../../../core/store/index.ts";
import { SimulatedClock } from "../../../testing/index.ts";
import { PacketError } from "../packet.ts";
import { searchIndex } from "./search.ts";
import { board, chat, diary, folder, found, kinds, notes, searched, tell } from "./notes.fixture.ts";

async function stage(clock = new SimulatedClock()) {
  const store = memoryStore({ clock });
  const engine = await LocalEngine.start({ kinds: [diary, board, chat], store, clock });
  const search = searchIndex({ engine, file: ":memory:", kinds, clock, onFault: (error) => assert.fail(String(error)) });
  return {
    clock,
    engine,
    search,
    store,
    async [Symbol.asyncDispose]() {
      await search[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

test("messages and replies of actors are found, each event once", async () => {
  await using on = await stage();
  await tell(on.engine, "board/a", { text: "the cat sleeps" });
  await tell(on.engine, "board/a", { answer: { text: "a dog barks" } });
  await tell(on.engine, "board/a", { text: "cat and dog", answer: { text: "cat and dog" } });
  await tell(on.engine, "board/a", { other: "cat", answer: "dog" });
  await tell(on.engine, "board/a", { notes: [{ text: "one cat" }, { text: 7 }, "cat", { text: "two mice" }] });
  await on.search.caughtUp();
  assert.deepEqual((await found(on.search, "cat")).toSorted(), ["board/a#1", "board/a#3", "board/a#5"]);
  assert.deepEqual((await found(on.search, "dog")).toSorted(), ["board/a#2", "board/a#3"]);
  assert.deepEqual(await found(on.search, "mice cat"), ["board/a#5"]);
  const [hit] = await on.search.search("barks", { owner: undefined });
  const { value: event } = await on.engine.history("board/a", 1).next();
  assert.deepEqual(hit, {
    actor: "board/a",
    seq: 2,
    event: event?.id,
    at: on.clock.now(),
    field: "result:text",
    snippet: "a dog barks",
    score: 1,
  });
});

test("all words must occur, in any fields; better matches come first, of equal ones the newer #packet.search.index", async () => {
  await using on = await stage();
  await tell(on.engine, "board/a", { text: "retention of users, and much else that was said on that day about other matters" });
  await on.clock.advance(1);
  await tell(on.engine, "board/a", { text: "users: retention, retention, retention" });
  await tell(on.engine, "board/b", { title: "retention", text: "of users" });
  await tell(on.engine, "board/b", { title: "retention" });
  await tell(on.engine, "board/b", { text: "nothing of either" });
  await on.clock.advance(1);
  await tell(on.engine, "board/c", { title: "retention" });
  await on.search.caughtUp();
  const hits = await on.search.search("user* RETENTION", { owner: undefined });
  assert.deepEqual(
    hits.map(({ actor, seq }) => `${actor}#${seq}`),
    ["board/a#2", "board/b#1", "board/a#1"],
  );
  assert.equal(hits[0]?.score, 1);
  assert.ok(hits.every(({ score }, n) => score > 0 && score <= (hits[n - 1]?.score ?? 1)));
  assert.deepEqual((await found(on.search, "retention", undefined, { limit: 3 })).slice(0, 3), ["board/a#2", "board/c#1", "board/b#2"]);
});

test("what others write changes neither the order nor the scores of what one finds", async () => {
  await using on = await stage();
  const search = () => on.search.search("merger common", { owner: "eve" });
  for (const text of ["merger merger common", "merger common common", "merger common"]) await tell(on.engine, "diary/eve", { text }, "eve");
  await on.search.caughtUp();
  const before = await search();
  for (const text of ["nothing of it", "common", "merger merger merger", "a long one ".repeat(100)]) {
    await tell(on.engine, "diary/victim", { text }, "victim");
    await on.search.caughtUp();
    assert.deepEqual(await search(), before);
  }
});

test("the best match is found among many newer and longer ones, and the user's own among others'", async () => {
  await using on = await stage();
  await tell(on.engine, "diary/ann", { text: "merger merger merger" }, "ann");
  const long = `merger ${"and much else ".repeat(100)}`;
  for (let n = 0; n < 40; n += 1) await tell(on.engine, "diary/ann", { text: `${long} ${n}` }, "ann");
  for (let n = 0; n < 90; n += 1) await tell(on.engine, "board/a", { text: `${long} ${n}` });
  await on.search.caughtUp();
  const [best] = await on.search.search("merger", { owner: "ann", limit: 3 });
  assert.deepEqual([best?.actor, best?.seq], ["diary/ann", 1]);
});

test("case, accents and composition do not matter, and scripts without spaces are found by characters #packet.search.index", async () => {
  await using on = await stage();
  const texts = [
    "Überraschung im Café",
    "re\u0301sume\u0301 der Woche",
    "ΑΘΉΝΑ και Σπάρτη",
    "Привет, МИР",
    "我昨天去了东京大学",
    "きのうはデータを見た",
    "naïve 👍 co-operation",
    "Straße finden, Αθηνας",
  ];
  for (const text of texts) await tell(on.engine, "board/a", { text });
  await on.search.caughtUp();
  const wanted: readonly (readonly [string, number])[] = [
    ["uberraschung CAFE", 1],
    ["u\u0308berraschung", 1],
    ["résumé", 2],
    ["RESUME", 2],
    ["αθηνα σπαρτη", 3],
    ["привет мир", 4],
    ["东京", 5],
    ["大学 昨天", 5],
    ["データ", 6],
    ["naive", 7],
    ["operation", 7],
    ['"co-operation"', 7],
    ["ＣＡＦＥ", 1],
    ["Αθήνας*", 8],
    ["STRASSE ﬁnden", 8],
    ["Naïv*", 7],
    ["ПРИВ*", 4],
  ];
  for (const [query, seq] of wanted) assert.deepEqual(await found(on.search, query), [`board/a#${seq}`], query);
  for (const query of ["京东", "去东", "uberrasch", "kaffee"]) assert.deepEqual(await found(on.search, query), [], query);
});

test("a phrase is adjacent words of one field; a star matches any ending", async () => {
  await using on = await stage();
  await tell(on.engine, "board/a", { title: "the north", text: "wind blows" });
  await tell(on.engine, "board/a", { text: "the north wind" });
  await tell(on.engine, "board/a", { text: "wind, the north" });
  await tell(on.engine, "board/a", { notes: [{ text: "northern wind" }] });
  await on.search.caughtUp();
  assert.deepEqual(await found(on.search, '"north wind"'), ["board/a#2"]);
  assert.deepEqual((await found(on.search, "north wind")).toSorted(), ["board/a#1", "board/a#2", "board/a#3"]);
  assert.deepEqual((await found(on.search, "nor* wind")).length, 4);
  assert.deepEqual(await found(on.search, '"the nor"*').then((hits) => hits.length), 3);
  await assert.rejects(found(on.search, "\ue001"), PacketError, "what stands between fields is no word");
});

test("a user finds the user's own and shared actors, by the owner of each life", async () => {
  await using on = await stage();
  await tell(on.engine, "diary/a", { text: "secret of ann" }, "ann");
  await tell(on.engine, "diary/b", { text: "secret of bob" }, "bob");
  await tell(on.engine, "board/x", { text: "secret of all" }, "ann");
  await tell(on.engine, "diary/n", { text: "secret of nobody" });
  await tell(on.engine, "diary/a", { text: "secret end" }, "ann", "end");
  await tell(on.engine, "diary/a", { text: "secret of another life" }, "bob");
  await tell(on.engine, "chat/c", { text: "secret word" }, "ann");
  await on.engine.call({
    to: "board/own",
    action: "note",
    args: { text: "secret board" },
    start: null,
    policy: { owner: "starter" },
    viewer: { principal: "ann", scopes: [] },
  });
  await on.search.caughtUp();
  const own = { ann: ["board/own#1", "board/x#1", "chat/c#1", "diary/a#1", "diary/a#2"], bob: ["board/x#1", "diary/a#3", "diary/b#1"] };
  const check = async () => {
    assert.deepEqual((await found(on.search, "secret", "ann")).toSorted(), own.ann);
    assert.deepEqual((await found(on.search, "secret", "bob")).toSorted(), own.bob);
    for (const principal of ["eve", "", "everybody", "nobody", "=ann", "%", undefined])
      assert.deepEqual(await found(on.search, "secret", principal), ["board/x#1"], principal);
    assert.deepEqual(await found(on.search, "secret", "bob", { actor: "diary/a" }), ["diary/a#3"]);
    assert.deepEqual(await found(on.search, "secret", "eve", { actor: "diary/a" }), []);
    assert.deepEqual(await found(on.search, "secret", "eve", { actor: "diary/n" }), ["diary/n#1"], "who knows its key could ask it too");
  };
  await check();
  await on.search.rebuild();
  await check();
});

test("kind, actor, time and limit narrow a search", async () => {
  await using on = await stage();
  const start = on.clock.now();
  for (let n = 0; n < 6; n += 1) {
    await tell(on.engine, n % 2 === 0 ? "board/a" : "diary/b", { text: `word ${n}` }, "ann");
    await tell(on.engine, "board/z", { text: `word also ${n}` }, "ann");
    await on.clock.advance(1_000);
  }
  await on.search.caughtUp();
  const seen = (options: object) => found(on.search, "word -also", "ann", options).then((hits) => hits.length);
  assert.equal(await seen({}), 6);
  assert.deepEqual((await found(on.search, "word", "ann", { kind: "diary" })).toSorted(), ["diary/b#1", "diary/b#2", "diary/b#3"]);
  assert.deepEqual((await found(on.search, "word", "ann", { actor: "board/a" })).toSorted(), ["board/a#1", "board/a#2", "board/a#3"]);
  assert.deepEqual(await found(on.search, "word", "ann", { actor: "board/a", kind: "diary" }), []);
  assert.deepEqual(await found(on.search, "word", "ann", { kind: "none" }), []);
  assert.deepEqual(await found(on.search, "word", "ann", { actor: "board/none" }), []);
  const between = { after: start + 2_000, before: start + 4_000 };
  assert.deepEqual((await found(on.search, "word", "ann", between)).toSorted(), ["board/a#2", "board/z#3", "board/z#4", "diary/b#2"]);
  assert.deepEqual(await found(on.search, "word", "ann", { before: start }), []);
  assert.deepEqual(await found(on.search, "word", "ann", { after: start + 6_000 }), []);
  assert.equal((await found(on.search, "word", "ann", { limit: 2 })).length, 2);
});

test("many texts of one moment are all found, within their time range", async () => {
  await using on = await stage();
  const start = on.clock.now();
  for (let n = 0; n < 300; n += 1) await tell(on.engine, `board/a${n % 7}`, { text: `all word${n}` });
  await on.clock.advance(10);
  await tell(on.engine, "board/late", { text: "all later" });
  await on.search.caughtUp();
  for (let n = 0; n < 300; n += 1)
    assert.equal((await found(on.search, `word${n}`, undefined, { before: start + 1 })).length, 1, `word${n}`);
  assert.deepEqual(await found(on.search, "all", undefined, { after: start + 1 }), ["board/late#1"]);
});

test("an invalid query is refused with what to write instead", async () => {
  await using on = await stage();
  const bad = async (query: string, says: RegExp, options: object = {}) =>
    assert.rejects(on.search.search(query, { owner: undefined, ...options }), (error: unknown) => {
      assert.ok(error instanceof PacketError);
      assert.equal(error.type, "validation_failed");
      assert.match(error.message, says);
      assert.match(JSON.stringify(error.details), /^\{"issues":\[\{"path":"\/(?:query|limit|snippetChars|after)",/u);
      return true;
    });
  await bad("", /at least one word/u);
  await bad("?!* -- ()", /at least one word/u);
  await bad('"open phrase', /close the phrase/u);
  await bad("ab*", /at least 3 letters before the star/u);
  await bad("word a*", /at least 3 letters before the star/u);
  await bad('"long phrase a"*', /at least 3 letters/u);
  await bad("x".repeat(513), /at most 512/u);
  await bad(Array.from({ length: 17 }, (_, n) => `w${n}`).join(" "), /at most 16/u);
  await bad(`"${"a ".repeat(33)}"`, /at most 32/u);
  await bad("word", /from 1 to 50/u, { limit: 51 });
  await bad("word", /from 1 to 50/u, { limit: 1.5 });
  await bad("word", /from 20 to 2000/u, { snippetChars: 1e9 });
  await bad("word", /milliseconds since 1970/u, { after: Number.NaN });
});

test("a query cannot inject syntax", async () => {
  await using on = await stage();
  await tell(on.engine, "board/a", { text: "alpha beta" });
  await tell(on.engine, "diary/a", { text: "alpha hidden" }, "ann");
  await on.search.caughtUp();
  const queries = [
    "alpha OR hidden",
    "alpha NOT beta",
    "NOT zeta",
    "hidden",
    "{scope} : k0",
    "scope:k0",
    "text:alpha)) OR ((hidden",
    '"alpha" OR "hidden"',
    '""alpha"" OR ""zeta""',
    "^alpha hidden",
    "NEAR(alpha hidden, 10)",
    "alpha + hidden",
    "k0",
    "k1",
    "a1",
    "a2",
    "'; DROP TABLE doc; --",
    "alpha\0hidden",
    "alpha \ue000 beta \ue001",
    "\ud800alpha hidden",
    "-alpha zeta",
    "words MATCH 'alpha'",
    "rank bm25(words)",
  ];
  for (const query of queries)
    assert.deepEqual(await found(on.search, query), query.startsWith("alpha \ue000") ? ["board/a#1"] : [], query);
  assert.deepEqual(await found(on.search, '^alpha! (beta):* "alpha beta"'), ["board/a#1"]);
  assert.deepEqual(await found(on.search, "hidden", "ann"), ["diary/a#1"]);
});

test("a snippet is one line around the first match, within its length, without split characters", async () => {
  await using on = await stage();
  const far = `${"before ".repeat(60)}the\nneedle  is here ${"after ".repeat(60)}`;
  await tell(on.engine, "board/a", { title: "no match in this one", text: far });
  await tell(on.engine, "board/b", { text: `${"😀".repeat(200)}needle${"😀".repeat(200)}` });
  await tell(on.engine, "board/c", { title: "x", text: "Nadel, Nädel, needle" });
  await on.search.caughtUp();
  const hitOf = async (actor: "board/a" | "board/b" | "board/c", snippetChars: number) => {
    const [hit] = await on.search.search("needle", { owner: undefined, actor, snippetChars });
    assert.ok(hit);
    return hit;
  };
  const hit = await hitOf("board/a", 120);
  assert.equal(hit.field, "payload:text");
  assert.match(hit.snippet, /^…before .*the needle is here after.*…$/u);
  assert.ok(hit.snippet.length <= 122);
  for (const length of [20, 21, 240, 2_000])
    for (const actor of ["board/a", "board/b", "board/c"] as const) {
      const { snippet } = await hitOf(actor, length);
      assert.ok(snippet.includes("needle"), snippet);
      assert.ok(snippet.isWellFormed());
      assert.ok(snippet.length <= length + 2);
    }
  assert.equal((await hitOf("board/c", 240)).snippet, "Nadel, Nädel, needle");
});

test("texts are bounded: what exceeds a limit or is not declared is not found, the rest is", async () => {
  const store = memoryStore({});
  await using engine = await LocalEngine.start({ kinds: [board], store });
  await using search = searchIndex({
    engine,
    file: ":memory:",
    kinds: [searched(board, ["text", "result:said", "notes.*.text"])],
    maxChars: 100,
  });
  await tell(engine, "board/a", { text: `start ${"x".repeat(500)} unreached`, said: "payload", answer: { said: "too late" } });
  await tell(engine, "board/a", { text: "[redacted]", answer: { said: "short" }, notes: { a: { text: "inner" } } });
  await tell(engine, "board/a", { notes: Array.from({ length: 20_000 }, (_, n) => ({ text: n === 19_999 ? "unreached" : "" })) });
  await search.caughtUp();
  assert.deepEqual(await found(search, "start"), ["board/a#1"]);
  for (const query of ["unreached", "payload", "late", "redacted"]) assert.deepEqual(await found(search, query), [], query);
  assert.deepEqual(await found(search, "short inner"), ["board/a#2"]);
});

test("a definition that can find nothing is refused", async () => {
  await using on = await stage();
  const open = (fields: readonly string[], more: object = {}) =>
    searchIndex({ engine: on.engine, file: ":memory:", kinds: [searched(board, fields)], ...more });
  for (const fields of [
    [],
    [""],
    ["a..b"],
    ["reply:a"],
    ["a."],
    [Array.from({ length: 17 }, () => "a").join(".")],
    Array.from({ length: 33 }, (_, n) => `f${n}`),
  ])
    assert.throws(() => open(fields), { code: "BAD_DEFINITION" });
  assert.throws(() => open(["a"], { maxChars: 0 }), { code: "BAD_DEFINITION" });
  assert.throws(() => open(["a"], { kinds: [searched(board), searched(notes("board"))] }), { code: "BAD_DEFINITION" });
});

test("erased bodies and removed actors are not found, nor left in the file", async () => {
  using at = folder();
  const clock = new SimulatedClock();
  await using store = sqliteStore({ directory: at.path("data"), clock });
  await using engine = await LocalEngine.start({ kinds: [board, diary], store, clock });
  const file = at.path("search.db");
  await using search = searchIndex({ engine, file, kinds: kinds.slice(0, 2), clock, onFault: (error) => assert.fail(String(error)) });
  for (let n = 0; n < 40; n += 1) await tell(engine, "board/a", { text: `zebracrossing number${n}` });
  await tell(engine, "board/b", { text: "okapihouse" });
  await tell(engine, "board/b", { text: "giraffe" });
  await tell(engine, "board/gone", { text: "quaggastable" }, undefined, "end");
  await search.caughtUp();
  const fileText = (): string => ["", "-wal"].map((end) => (existsSync(file + end) ? readFileSync(file + end, "latin1") : "")).join("");
  for (const word of ["zebracrossing", "okapihouse", "quaggastable", "giraffe"]) assert.ok(fileText().includes(word), word);
  await engine.append("board/a", (stored) =>
    checkpointEntry("board/a", stored, { messageId: "m", at: clock.now(), seed: "00".repeat(16) }),
  );
  assert.ok((await store.erase("board/a", 41)) > 0);
  assert.ok(await store.remove({ id: "board/gone", head: (await store.load("board/gone"))?.head ?? "" }));
  await Promise.all([search.rebuild("board/a"), search.rebuild("board/gone")]);
  for (const word of ["zebracrossing", "quaggastable"]) {
    assert.deepEqual(await found(search, word), []);
    assert.ok(!fileText().includes(word), `${word} is left in the file`);
  }
  assert.deepEqual(await found(search, "giraffe"), ["board/b#2"]);
  assert.deepEqual(await found(search, "okapihouse"), ["board/b#1"]);
});
