import assert from "node:assert/strict";
import { test } from "node:test";
import { exportLine, importLine, readHeader, verify } from "../../core/chain/index.ts";
import type { ChainEvent } from "../../core/contract/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { putInArchive, archivedReply, type ArchiveInput, archivedEvents, seqRangeOf } from "./archive.ts";
import { claimKey } from "./commit.ts";
import type { StoredReply } from "./stored-actor.ts";
import { archivedCalls, type ArchivedCalls } from "./imported-actor.ts";
import { World } from "./world.fixture.ts";

const SLOT_EVENTS = 32;
const ID = "tally/main";

/** A chain as an actor leaves it. */
const chain: readonly ChainEvent[] = await (async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  for (let n = 0; n < 50; n += 1) await world.call({ to: ID, action: "add", args: { by: n }, start: null });
  return world.chain(ID);
})();

class Names {
  readonly stored = new Map<string, string>();
  writes = 0;

  async get(name: string): Promise<string | undefined> {
    return this.stored.get(name);
  }

  set(name: string, text: string): void {
    this.writes += 1;
    this.stored.set(name, text);
  }

  clear(name: string): void {
    this.stored.delete(name);
  }
}

const part = (from: number, to: number, more: Partial<ArchiveInput> = {}, of = chain): ArchiveInput => ({
  seq: from + 1,
  count: to - from,
  lines: of.slice(from, to).map(exportLine).join("\n"),
  replies: [],
  now: 0,
  ...more,
});

async function all(names: Names): Promise<readonly ChainEvent[]> {
  const found: ChainEvent[] = [];
  for (;;) {
    const some = await archivedEvents(names, ID, found.length);
    if (some.length === 0) return found;
    found.push(...some);
  }
}

void test("C7 events put in parts of any size are the chain again, byte for byte", async () => {
  assert.ok(chain.length === 50);
  for (const size of [1, 3, 15, 31, 32, 33, 50]) {
    const names = new Names();
    for (let from = 0; from < chain.length; from += size) await putInArchive(names, ID, part(from, Math.min(from + size, chain.length)));
    assert.deepEqual(await all(names), chain, `in parts of ${size}`);
    assert.equal(names.stored.size, Math.ceil(chain.length / SLOT_EVENTS));
    for (const after of [0, 1, 15, 31, 32, 49]) {
      const some = await archivedEvents(names, ID, after);
      assert.deepEqual(some, chain.slice(after, after + some.length));
      assert.ok(some.length > 0);
    }
    for (const after of [50, 51, 1_000]) assert.deepEqual(await archivedEvents(names, ID, after), []);
  }
});

void test("C6 a repeated put, after a lost answer, changes nothing", async () => {
  const names = new Names();
  await putInArchive(names, ID, part(0, 10));
  await putInArchive(names, ID, part(10, 30));
  const once = new Map(names.stored);
  await putInArchive(names, ID, part(10, 30));
  assert.deepEqual(names.stored, once);
  await putInArchive(names, ID, part(30, 50));
  assert.deepEqual(await all(names), chain);
});

void test("events without their predecessors are refused, and invalid input writes nothing", async () => {
  const names = new Names();
  await putInArchive(names, ID, part(0, 4));
  await assert.rejects(putInArchive(names, ID, part(6, 10)), { code: "STORE_CORRUPT" });
  assert.deepEqual(await all(names), chain.slice(0, 4));
  const before = names.writes;
  for (const bad of [null, {}, { ...part(0, 1), lines: [1] }, { ...part(0, 1), replies: [{}] }, { ...part(0, 1), seq: "1" }])
    await assert.rejects(putInArchive(names, ID, bad), { code: "STORE_CORRUPT" });
  assert.equal(names.writes, before);
});

void test("the name of a state key gives its range of events", () => {
  const names = ["events/0", "events/1", "events/12", "events/12.31", "over", "reply/events/1", "events/x", "events/1."];
  assert.deepEqual(names.map(seqRangeOf), [
    { after: 0, until: 32 },
    { after: 32, until: 64 },
    { after: 384, until: 416 },
    { after: 415, until: 416 },
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  for (const [n, event] of chain.entries()) assert.equal(readHeader(importLine(exportLine(event))).seq, n + 1);
});

void test("C7 events of any length are the chain again, and no state key is much longer than the longest event", async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  const sizes = [10, 300_000, 100, 70_000, 70_000, 70_000, 10, 200_000, 60_000, 40_000];
  for (let n = 0; n < 45; n += 1)
    await world.call({ to: ID, action: "add", args: { by: 1, pad: "x".repeat(sizes[n % sizes.length] ?? 0) }, start: null });
  const long = await world.chain(ID);
  assert.equal(long.length, 45);
  assert.equal(verify(long, { actor: ID }).flaw, undefined);
  const longest = Math.max(...Object.values(world.storedKeys("archive-tally/main ")).map((text) => text.length));
  assert.ok(longest < 400_000, `${longest} characters`);
  const lengths = long.map((event) => exportLine(event).length);
  for (const size of [1, 7, 45]) {
    const names = new Names();
    for (let from = 0; from < long.length; from += size)
      await putInArchive(names, ID, part(from, Math.min(from + size, long.length), {}, long));
    const once = new Map(names.stored);
    await putInArchive(names, ID, part(45 - (45 % size || size), 45, {}, long));
    assert.deepEqual(names.stored, once, "C6 the same again changes nothing");
    assert.deepEqual(await all(names), long, `in parts of ${size}`);
    const answers = new Set<number>();
    for (let after = 0; after < long.length; after += 1) {
      const some = await archivedEvents(names, ID, after);
      assert.deepEqual(some, long.slice(after, after + some.length));
      answers.add(some.length);
      assert.ok(some.length === 1 || lengths.slice(after, after + some.length).reduce((sum, length) => sum + length, 0) < 1_200_000);
    }
    assert.ok(answers.has(1) && answers.size > 3);
  }
});

void test("C7 a long event whose body was erased has its header left", async () => {
  const names = new Names();
  const [first, second] = chain;
  assert.ok(first !== undefined && second !== undefined);
  const erased = { id: first.id, header: first.header };
  await putInArchive(names, ID, part(0, 2, { lines: [erased, second].map(exportLine).join("\n") }));
  assert.deepEqual(await archivedEvents(names, ID, 0), [erased, second]);
});

const reply = (key: string, until: number): StoredReply => ({ key, call: "call", reply: { ok: key }, until, seq: 1, head: "head" });

void test("C4 replies are found by their keys, and pages of expired ones are removed", async () => {
  const names = new Names();
  const batch = (from: number, count: number, until: number, now: number): Promise<void> =>
    putInArchive(names, ID, part(0, 0, { replies: Array.from({ length: count }, (_, n) => reply(`key ${from + n}`, until)), now }));
  const replies = (): number => [...names.stored.keys()].filter((name) => name.startsWith("reply/")).length;
  await batch(0, 100, 1_000, 0);
  await batch(100, 100, 5_000, 0);
  assert.deepEqual(await archivedReply(names, "key 7"), reply("key 7", 1_000));
  assert.equal(await archivedReply(names, "key 500"), undefined);
  // Used again since: another reply is under that key.
  await batch(8, 1, 5_000, 1_500);
  assert.equal(await archivedReply(names, "key 7"), undefined);
  assert.deepEqual(await archivedReply(names, "key 8"), reply("key 8", 5_000));
  // On a page with some that have not expired.
  assert.deepEqual(await archivedReply(names, "key 70"), reply("key 70", 1_000));
  assert.deepEqual(await archivedReply(names, "key 107"), reply("key 107", 5_000));
  assert.equal(replies(), 200 - 64 + 1);
  await batch(1_000, 1, 9_000, 6_000);
  await batch(1_001, 1, 9_000, 6_000);
  assert.equal(await archivedReply(names, "key 107"), undefined);
  assert.equal(replies(), (200 % 64) + 3, "the page that is being filled stays");
  const longest = Math.max(...[...names.stored].flatMap(([name, text]) => (name.startsWith("over") ? [text.length] : [])));
  assert.ok(longest < 2_000);
});

void test("C4 with very many replies a put reads and writes as little as with few, and an export has all", async () => {
  const names = new Names();
  let characters = 0;
  const set = names.set.bind(names);
  names.set = (name, text) => {
    if (name.startsWith("over")) characters += text.length;
    set(name, text);
  };
  const PUTS = 400;
  for (let n = 0; n < PUTS; n += 1)
    await putInArchive(
      names,
      ID,
      part(0, 0, { replies: Array.from({ length: 8 }, (_, m) => reply(`k${n * 8 + m}`, 100_000 + n)), now: n }),
    );
  assert.ok(characters / PUTS < 2_000, `${characters / PUTS} a put`);
  const exported = new Set<string>();
  let answers = 0;
  for (let from: number | null | undefined = null; from !== undefined; answers += 1) {
    const { keys, next }: ArchivedCalls = await archivedCalls(names, from);
    for (const [key] of keys) exported.add(key);
    from = next;
  }
  assert.equal(exported.size, PUTS * 8);
  assert.ok(answers > 1);
  // All have expired: each put removes two pages.
  for (let n = 0; n < 40; n += 1) await putInArchive(names, ID, part(0, 0, { replies: [reply(`recent ${n}`, 300_000)], now: 200_000 }));
  assert.ok([...names.stored.keys()].filter((name) => name.startsWith("reply/")).length < 200);
});

void test("C4 the single list of the first version is continued", async () => {
  const names = new Names();
  const old = Array.from({ length: 200 }, (_, n) => reply(`old ${n}`, 1_000));
  for (const one of old) names.set(`reply/${one.key}`, JSON.stringify(one));
  names.set("over", JSON.stringify(old.map(({ key, until }) => [key, until])));
  assert.equal((await archivedCalls(names, null)).keys.length, 200);
  await putInArchive(names, ID, part(0, 0, { replies: [reply("new", 9_000)], now: 10 }));
  assert.equal((await archivedCalls(names, null)).keys.length, 201);
  assert.deepEqual(await archivedReply(names, "old 7"), reply("old 7", 1_000));
  for (let n = 0; n < 3; n += 1) await putInArchive(names, ID, part(0, 0, { replies: [reply(`new ${n}`, 9_000)], now: 2_000 }));
  assert.equal(await archivedReply(names, "old 7"), undefined);
  assert.deepEqual(await archivedReply(names, "new"), reply("new", 9_000));
});

void test("C4 keys that are not well-formed text have replies of their own", async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  const keys = ["\ud800", "\udfff", "\ufffd", '"\\ud800"'];
  const calls = async (): Promise<readonly unknown[]> => {
    const replies: unknown[] = [];
    for (const key of keys) replies.push(Object(await world.call({ to: ID, action: "add", args: null, start: null }, { key })).reply);
    return replies;
  };
  const first = await calls();
  for (let n = 0; n < 20; n += 1) await world.call({ to: ID, action: "add", args: null }, { key: `key ${n}` });
  assert.deepEqual(await calls(), first);
  assert.equal(new Set(keys.map((key) => claimKey("tally", key))).size, keys.length);
});
