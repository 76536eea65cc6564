import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { INDEX, PAGE_BYTES, readPage, readPages } from "./map-pages.ts";
import { BetweenWrites, MapText } from "./map-text.fixture.ts";
import { PagedMap, PagedReader, type MapList, type Range } from "./paged-map.ts";

/** Without shrinking, which takes minutes. The reported seed and path run the same again. */
const RUNS = { numRuns: 60, endOnFailure: true };

const byCode = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
const ordered = (model: ReadonlyMap<string, Json>): [string, Json][] => [...model].toSorted(([one], [other]) => byCode(one, other));

const key = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 60 }).map((n) => `key ${n.toString().padStart(2, "0")}`) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 4 }) },
  // Lone surrogates, and text that code units and code points order differently.
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom("\ud83d", "\ude00", "\uff5e", "k"), maxLength: 4 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 9 }).map((n) => `${"k".repeat(1_000)}${n}`) },
);
const plain = <T>(of: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> => fc.record(of, { noNullPrototype: true });
const value: fc.Arbitrary<Json> = fc.oneof(
  {
    weight: 6,
    arbitrary: plain({ at: fc.integer({ min: 0, max: 50 }), pad: fc.integer({ min: 0, max: 4_000 }).map((n) => "x".repeat(n)) }),
  },
  { weight: 1, arbitrary: fc.integer({ min: 15_000, max: 40_000 }).map((n) => "☃".repeat(n)) },
  { weight: 1, arbitrary: fc.constantFrom(null, 0, [], { at: "text" }) },
);

type Step =
  | { readonly do: "put"; readonly entries: readonly (readonly [string, Json])[] }
  | { readonly do: "patch"; readonly key: string; readonly at: number }
  | { readonly do: "delete"; readonly key: string }
  | { readonly do: "take"; readonly before: number; readonly limit: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("put" as const), entries: fc.tuple(fc.tuple(key, value)) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("put" as const), entries: fc.array(fc.tuple(key, value), { maxLength: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("patch" as const), key, at: fc.integer({ min: 0, max: 50 }) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("delete" as const), key }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("take" as const),
      before: fc.integer({ min: 0, max: 50 }),
      limit: fc.integer({ min: 1, max: 20 }),
    }),
  },
);
/** A failure is reported without the padding, which is a megabyte. */
const step = anyStep.map((one) => ({
  ...one,
  [fc.toStringMethod]: () => JSON.stringify(one).replaceAll(/(.)\1{99,}/gu, (run, unit) => `${unit}*${run.length}`),
}));

const atOf = (of: Json | undefined): number | undefined => {
  const at: unknown = Object(of)["at"];
  return typeof at === "number" ? at : undefined;
};

/** The same on a map in pages and on a plain one. */
async function both(map: PagedMap, model: Map<string, Json>, taken: Step): Promise<void> {
  if (taken.do === "put") {
    const news = new Set(taken.entries.map(([name]) => name).filter((name) => !model.has(name)));
    for (const [name, put] of taken.entries) model.set(name, put);
    assert.equal(await map.putMany(taken.entries), news.size);
  } else if (taken.do === "delete") {
    assert.equal(await map.delete(taken.key), model.delete(taken.key));
  } else if (taken.do === "patch") {
    const old = model.get(taken.key);
    assert.equal(await map.patch(taken.key, { at: taken.at }, "at"), isJsonObject(old));
    if (isJsonObject(old) && (atOf(old) ?? -1) < taken.at) model.set(taken.key, { ...old, at: taken.at });
  } else {
    const due = ordered(model).flatMap(([name, of]) => ((atOf(of) ?? taken.before) < taken.before ? [name] : []));
    const { keys, more } = await map.take({ before: taken.before, field: "at", limit: taken.limit });
    assert.deepEqual(keys, due.slice(0, taken.limit));
    assert.ok(more || keys.length === due.length);
    for (const name of keys) model.delete(name);
  }
}

const LIST_BYTES = 1_048_576;

/** A list is the start of `found`: as many as requested, or as fit. */
function checkListed({ entries, more }: MapList, found: readonly (readonly [string, Json])[], limit: number): void {
  assert.deepEqual(entries, found.slice(0, entries.length));
  assert.equal(more, found.length > entries.length);
  const bytes = (of: readonly unknown[]): number => of.reduce<number>((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0);
  assert.ok(entries.length <= limit && (entries.length <= 1 || bytes(entries) <= LIST_BYTES));
  if (more && entries.length < limit) assert.ok(entries.length > 0 && bytes(found.slice(0, entries.length + 1)) > LIST_BYTES);
}

/** List after list, because one is bounded in bytes. */
async function listAll(reader: PagedReader): Promise<[string, Json][]> {
  const all: [string, Json][] = [];
  for (;;) {
    const after = all.at(-1)?.[0];
    const { entries, more } = await reader.list({ limit: 1_000, ...(after !== undefined && { after }) });
    for (const [name, of] of entries) all.push([name, of]);
    if (!more) return all;
  }
}

/** The pages: in order, without gaps, none too large or unnecessary. */
async function checkPages(text: MapText): Promise<void> {
  const { refs } = readPages(await text.get(INDEX));
  const names = new Set([...(refs.length > 0 ? [INDEX, "count"] : []), ...refs.map(({ name }) => `page/${name}`)]);
  assert.deepEqual(new Set(text.values.keys()), names);
  assert.equal(refs[0]?.from ?? "", "");
  for (const [at, { from, name, least }] of refs.entries()) {
    const page = readPage(await text.get(`page/${name}`)) ?? assert.fail();
    const until = refs[at + 1]?.from ?? null;
    assert.deepEqual([page.from, page.until], [from, until]);
    assert.ok(page.entries.length > 0);
    assert.ok(page.entries.length === 1 || Buffer.byteLength(JSON.stringify(page.entries)) <= PAGE_BYTES);
    for (const [n, [name_, of]] of page.entries.entries()) {
      assert.ok(name_ >= from && (until === null || name_ < until));
      assert.ok(n === 0 || (page.entries[n - 1]?.[0] ?? "") < name_);
      const number = atOf(of);
      assert.ok(least === undefined || number === undefined || (least !== null && least <= number));
    }
  }
}

test("a map in pages equals an ordered map, after any operations", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 120, size: "max" }),
      fc.record({ after: fc.option(key), prefix: fc.constantFrom("", "k", "key 1", "\ud83d"), limit: fc.integer({ min: 1, max: 30 }) }),
      async (steps, wanted) => {
        const text = new MapText();
        const map = new PagedMap(text);
        const model = new Map<string, Json>();
        for (const one of steps) {
          await both(map, model, one);
          await checkPages(text);
        }
        assert.equal(await map.count(), model.size);
        for (const [name, of] of model) assert.deepEqual(await map.get(name), of);
        assert.equal(await map.get("missing"), undefined);
        checkListed(await map.list({ limit: 1_000 }), ordered(model), 1_000);
        assert.deepEqual(await listAll(map), ordered(model));
        const range: Range = { limit: wanted.limit, prefix: wanted.prefix, ...(wanted.after !== null && { after: wanted.after }) };
        const found = ordered(model).filter(([name]) => name.startsWith(wanted.prefix) && (wanted.after === null || name > wanted.after));
        checkListed(await map.list(range), found, wanted.limit);
        for (const name of model.keys()) await map.delete(name);
        assert.equal(text.values.size, 0);
      },
    ),
    RUNS,
  );
});

test("a concurrent reader finds every entry that is not being changed, once and in order", async () => {
  const steady = new Map(
    Array.from({ length: 40 }, (_, n) => [`key ${n.toString().padStart(2, "0")} steady`, { pad: "y".repeat(n * 40) }]),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40, size: "max" }),
      fc.infiniteStream(fc.nat({ max: 6 })),
      async (steps, pace) => {
        const text = new MapText();
        const map = new PagedMap(text);
        for (const entry of steady) await map.putMany([entry]);
        const before = new Map(text.values);
        text.forget();
        const all = new Map<string, Json>(steady);
        for (const one of steps) await both(map, all, one);
        let reads = 0;
        const between = new BetweenWrites(before, text.writes, () => pace.next().value + (++reads % 4 === 0 ? 1 : 0));
        const reader = new PagedReader(between);
        for (let n = 0; !between.over || n === 0; n += 1) {
          const entries = await listAll(reader);
          const names = entries.map(([name]) => name);
          assert.deepEqual(names, [...new Set(names)].toSorted(byCode));
          assert.deepEqual(
            entries.filter(([name]) => steady.has(name)),
            [...steady],
          );
          for (const [name, of] of steady) if (n % 3 === 0) assert.deepEqual(await reader.get(name), of);
        }
      },
    ),
    RUNS,
  );
});

test("an operation that ends half-way leaves a usable map", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60, size: "max" }), fc.nat(), async (steps, cut) => {
      const text = new MapText();
      const model = new Map<string, Json>();
      for (const one of steps.slice(0, -1)) await both(new PagedMap(text), model, one);
      const before = new Map(text.values);
      const last = steps.at(-1);
      if (last === undefined) return;
      text.forget();
      const ended = new Map(model);
      await both(new PagedMap(text), ended, last);
      const halfway = new MapText(before);
      for (const write of text.writes.slice(0, cut % (text.writes.length + 1))) halfway.write(write);
      const map = new PagedMap(halfway);
      const found = new Map(await listAll(map));
      for (const [name, of] of model) if (ended.get(name) === of) assert.deepEqual(found.get(name), of);
      await map.put("one more", { at: 1 });
      await map.putMany(ordered(model).map(([name]) => [name, "x".repeat(700)]));
      for (const name of model.keys()) assert.equal(await map.get(name), "x".repeat(700));
    }),
    RUNS,
  );
});

test("keys are any text, in the order of code units, lone surrogates too", async () => {
  const text = new MapText();
  const map = new PagedMap(text);
  const keys = ["a", "\ud83d", "\ud83d\ud83d", "\u{1f600}", "\u{1f600}b", "\u{1f601}", "\u{1f900}", "\ude00", "\uff5e", "\uffff"];
  assert.deepEqual(keys, keys.toSorted(byCode));
  // One page each, so that pages start in the middle of a character.
  for (const name of keys.toReversed()) await map.put(name, name + "x".repeat(9_000));
  await checkPages(text);
  const { refs } = readPages(await text.get(INDEX));
  assert.ok(refs.length === keys.length && refs.some(({ from }) => from === "\ud83d"));
  for (const name of keys) assert.equal(await map.get(name), name + "x".repeat(9_000));
  const listed = async (range: Omit<Range, "limit">): Promise<readonly string[]> =>
    (await map.list({ ...range, limit: 100 })).entries.map(([name]) => name);
  assert.deepEqual(await listed({}), keys);
  assert.deepEqual(await listed({ after: "\ud83d\ud83d" }), keys.slice(3));
  assert.deepEqual(await listed({ prefix: "\ud83d" }), keys.slice(1, 6));
  assert.deepEqual(await listed({ prefix: "\u{1f600}" }), keys.slice(3, 5));
  assert.deepEqual(await listed({ prefix: "\ud83d", after: "\u{1f600}" }), keys.slice(4, 6));
  assert.deepEqual(await listed({ prefix: "\ud83d", after: "\ude00" }), []);
  for (const name of keys) assert.equal(await map.delete(name), true);
  assert.equal(text.values.size, 0);
});

/** 4,000 entries of about 500 bytes. */
async function large(): Promise<{ readonly text: MapText; readonly map: PagedMap }> {
  const text = new MapText();
  const map = new PagedMap(text);
  for (let n = 0; n < 4_000; n += 500)
    await map.putMany(
      Array.from({ length: 500 }, (_, m) => [`key ${String(n + m).padStart(5, "0")}`, { at: n + m, pad: "x".repeat(460) }]),
    );
  text.forget();
  return { text, map };
}

const written = (text: MapText): number => text.writes.reduce((sum, [, one]) => sum + Buffer.byteLength(one ?? ""), 0);

test("what an operation reads and writes does not grow with the map", async () => {
  const { text, map } = await large();
  const within = async (reads: number, writes: number, bytes: number, run: () => Promise<unknown>): Promise<void> => {
    text.forget();
    await run();
    assert.ok(text.reads.length <= reads, `read ${text.reads.join()}`);
    assert.ok(
      text.writes.length <= writes && written(text) <= bytes,
      `wrote ${text.writes.map(([name]) => name).join()}: ${written(text)}`,
    );
  };
  await within(1, 0, 0, () => map.count());
  await within(2, 0, 0, () => map.get("key 02000"));
  await within(3, 0, 0, () => map.delete("missing"));
  await within(3, 1, PAGE_BYTES + 100, () => map.put("key 02000", { at: 2_000, pad: "y".repeat(460) }));
  await within(3, 1, PAGE_BYTES + 100, () => map.patch("key 02000", { at: 2_001 }, "at"));
  const indexBytes = Buffer.byteLength(text.values.get(INDEX) ?? "");
  assert.ok(indexBytes < 20_000);
  for (let n = 0; n < 100; n += 1)
    await within(3, 4, indexBytes + PAGE_BYTES + 2_000, () => map.put(`key 02000 ${n}`, { at: 5_000, pad: "z".repeat(460) }));
  for (let n = 0; n < 400; n += 1)
    await within(5, 4, indexBytes + PAGE_BYTES + 2_000, () => map.delete(`key ${String(n).padStart(5, "0")}`));
});

test("`take` reads each page once to learn its least number, then only those with entries to take", async () => {
  const { text, map } = await large();
  const takeAll = async (before: number): Promise<number> => {
    let taken = 0;
    for (;;) {
      const { keys, more } = await map.take({ before, field: "at", limit: 1_000 });
      taken += keys.length;
      if (!more) return taken;
    }
  };
  assert.equal(await takeAll(0), 0);
  const pages = readPages(await text.get(INDEX)).refs.length;
  assert.ok(text.reads.filter((name) => name.startsWith("page/")).length <= pages);
  text.forget();
  assert.equal(await takeAll(0), 0);
  assert.deepEqual(text.writes, []);
  assert.deepEqual(new Set(text.reads), new Set([INDEX, "count"]));
  await map.put("key 03999", { at: 5 });
  text.forget();
  assert.equal(await takeAll(10), 11);
  assert.ok(text.reads.filter((name) => name.startsWith("page/")).length <= 4, text.reads.join());
  assert.equal(await takeAll(3_000), 2_990);
  assert.equal(await map.count(), 999);
  await checkPages(text);
});

test("a map whose index is full refuses entries, and retains what it has", async () => {
  const text = new MapText();
  const map = new PagedMap(text);
  const hostile = (n: number): string => `${"k".repeat(1_000)}${String(n).padStart(4, "0")}${"☃".repeat(20)}`;
  let most = 0;
  const fill = async (): Promise<void> => {
    for (; most < 5_000; most += 20) await map.putMany(Array.from({ length: 20 }, (_, n) => [hostile(most + n), "x".repeat(9_000)]));
  };
  await assert.rejects(fill(), { code: "STORE_FULL" });
  assert.equal(await map.count(), most);
  assert.equal((await map.get(hostile(most - 1)))?.valueOf(), "x".repeat(9_000));
  assert.equal(await map.get(hostile(most)), undefined);
  await map.put(hostile(0), "y");
  assert.equal(await map.delete(hostile(1)), true);
});

test("a value is bounded, also one that grows by patches", async () => {
  const text = new MapText();
  const map = new PagedMap(text);
  const half = "x".repeat(13_000_000);
  await map.put("key", { one: half });
  await assert.rejects(map.patch("key", { other: half }), { code: "STATE_TOO_LARGE", applied: false });
  await assert.rejects(map.put("other", half + half), { code: "STATE_TOO_LARGE" });
  assert.deepEqual(await map.get("key"), { one: half });
  assert.equal(await map.count(), 1);
});

test("a list is bounded in bytes, not in characters, and the rest follows it", async () => {
  const map = new PagedMap(new MapText());
  const model = new Map<string, Json>(Array.from({ length: 12 }, (_, n) => [`\u{1f600}${n}`, "☃".repeat(40_000)]));
  for (const [name, of] of model) await map.put(name, of);
  const first = await map.list({ limit: 1_000 });
  checkListed(first, ordered(model), 1_000);
  assert.equal(first.entries.length, 8);
  assert.deepEqual(await listAll(map), ordered(model));
});

test("a list has a bounded size, and foreign values are no map", async () => {
  const text = new MapText();
  const map = new PagedMap(text);
  for (let n = 0; n < 10; n += 1) await map.put(`${n}`, "x".repeat(200_000));
  const first = await map.list({ limit: 5_000 });
  assert.ok(first.more && first.entries.length >= 1 && first.entries.length < 10);
  const next = await map.list({ limit: 5_000, after: first.entries.at(-1)?.[0] ?? "" });
  assert.deepEqual(
    [...first.entries, ...next.entries].map(([name]) => name),
    Array.from({ length: 10 }, (_, n) => `${n}`),
  );
  for (const [name, foreign] of [
    ["pages", "[]"],
    ["pages", '{"next":1,"refs":[{}]}'],
    ["page/0", "7"],
    ["page/0", '{"from":"","until":null,"entries":[[1,2]]}'],
  ] as const) {
    const other = new MapText();
    await new PagedMap(other).put("key", 1);
    other.values.set(name, foreign);
    await assert.rejects(new PagedMap(other).put("key", 2), { code: "STORE_CORRUPT" });
    await assert.rejects(new PagedMap(other).get("key"), { code: "STORE_CORRUPT" });
  }
});
