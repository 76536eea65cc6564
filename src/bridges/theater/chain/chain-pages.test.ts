import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId } from "../../../core/contract/index.ts";
import type { ChainPage, EventQuery, TheaterEvent } from "../stage.ts";
import { ChainTails, newestPage, olderPage } from "./chain-pages.ts";
import { Chain, Contents } from "./chain.fixture.ts";
import { verifyTheater } from "./link.ts";
import { theaterEvents } from "./projector.ts";

const actorOf = (id: ActorId) => ({ id, uid: `uid of ${id}` });

/** Chains in memory. Records the sequence numbers of the events that are read. */
class RecordingHistory {
  readonly chains = new Map<ActorId, Chain>();
  readonly seqs: number[] = [];
  readonly contents = new Contents();

  chain(id: ActorId, events: number): Chain {
    const chain = new Chain(id);
    for (let at = 0; at < events; at += 1) chain.event("add", { at }, { count: at });
    this.chains.set(id, chain);
    return chain;
  }

  async *history(id: ActorId, after = 0) {
    for (const [at, event] of (this.chains.get(id)?.events ?? []).entries()) {
      if (at < after) continue;
      this.seqs.push(at + 1);
      yield event;
      await Promise.resolve();
    }
  }

  async whole(id: ActorId): Promise<readonly TheaterEvent[]> {
    const whole: TheaterEvent[] = [];
    for await (const event of theaterEvents(this.chains.get(id)?.events ?? [], this.contents.get)) whole.push(event);
    return whole;
  }

  tails(): ChainTails {
    return new ChainTails(this, this.contents.get);
  }
}

void test("the newest events have the chain's hashes, and each is read once", async () => {
  const read = new RecordingHistory();
  const chain = read.chain("tally/t1", 3);
  const tails = read.tails();
  assert.deepEqual(await tails.newest(actorOf("tally/t1")), await read.whole("tally/t1"));
  chain.event("add", {}, { count: 9 });
  assert.deepEqual(await Promise.all([tails.newest(actorOf("tally/t1")), tails.newest(actorOf("tally/t1"))]), [
    await read.whole("tally/t1"),
    await read.whole("tally/t1"),
  ]);
  assert.deepEqual(read.seqs, [1, 2, 3, 4]);
  assert.deepEqual(await tails.newest(actorOf("tally/nobody")), []);
});

void test("the newest events are at most 1,000 and at most 2 MiB", async () => {
  const read = new RecordingHistory();
  read.chain("tally/many", 600);
  const whole = await read.whole("tally/many");
  const newest = await read.tails().newest(actorOf("tally/many"));
  assert.deepEqual(newest, whole.slice(-1_000));
  assert.deepEqual(verifyTheater(newest, whole.at(-1_001)?.hash), { ok: true, events: 1_000 });

  const long = new Chain("tally/long");
  for (let at = 0; at < 60; at += 1) long.event("add", {}, { text: `${at} ${"x".repeat(16_000)}` });
  read.chains.set("tally/long", long);
  const few = await read.tails().newest(actorOf("tally/long"));
  const bytes = (events: readonly TheaterEvent[]): number => events.reduce((sum, { data }) => sum + data.length, 0);
  assert.ok(bytes(few) <= 2 * 1_048_576 && bytes(few) > 1_048_576, String(bytes(few)));
  assert.deepEqual(few, (await read.whole("tally/long")).slice(-few.length));
});

void test("the least recently used chain is evicted and read from its start again", async () => {
  const read = new RecordingHistory();
  const tails = read.tails();
  for (let at = 0; at <= 32; at += 1) read.chain(`tally/t${at}`, 1);
  for (const id of read.chains.keys()) await tails.newest(actorOf(id));
  read.seqs.length = 0;
  await tails.newest(actorOf("tally/t32"));
  assert.deepEqual(read.seqs, []);
  await tails.newest(actorOf("tally/t0"));
  assert.deepEqual(read.seqs, [1]);
});

void test("after a failed read the chain continues where it stopped", async () => {
  const read = new RecordingHistory();
  read.chain("tally/t1", 4);
  let fails = true;
  const tails = new ChainTails(
    {
      async *history(id, after) {
        for await (const event of read.history(id, after)) {
          if (fails && read.seqs.length === 3) throw new Error("The store is away.");
          yield event;
        }
      },
    },
    read.contents.get,
  );
  await assert.rejects(tails.newest(actorOf("tally/t1")), /away/);
  fails = false;
  assert.deepEqual(await tails.newest(actorOf("tally/t1")), await read.whole("tally/t1"));
  assert.deepEqual(read.seqs, [1, 2, 3, 3, 4]);
});

const hashOf = (at: number): Uint8Array => Uint8Array.of(at, ...Array.from({ length: 19 }, () => 7));
const idOf = (at: number): string => Buffer.from(hashOf(at)).toString("hex");
const event = (at: number, bytes: number): TheaterEvent => ({
  hash: hashOf(at),
  parentHash: at === 1 ? null : hashOf(at - 1),
  eventType: "wasm",
  data: Buffer.alloc(bytes, "x"),
  timestamp: at,
  description: null,
});
const chainOf = (count: number, bytes = 10): readonly TheaterEvent[] => Array.from({ length: count }, (_, at) => event(at + 1, bytes));

async function* streamOf(chain: readonly TheaterEvent[]): AsyncGenerator<TheaterEvent> {
  await Promise.resolve();
  yield* chain;
}

const numbers = (page: ChainPage | undefined): readonly [readonly number[], boolean] | undefined =>
  page === undefined ? undefined : [page.events.map(({ timestamp }) => timestamp), page.more];
const older = async (chain: readonly TheaterEvent[], query: EventQuery) => numbers(await olderPage(streamOf(chain), query));

test("pages are the newest events, those before one or after one", async () => {
  const chain = chainOf(9);
  assert.deepEqual(await older(chain, { limit: 3 }), [[7, 8, 9], true]);
  assert.deepEqual(await older(chain, { limit: 9 }), [[1, 2, 3, 4, 5, 6, 7, 8, 9], false]);
  assert.deepEqual(await older(chain, { limit: 3, before: idOf(5) }), [[2, 3, 4], true]);
  assert.deepEqual(await older(chain, { limit: 4, before: idOf(5) }), [[1, 2, 3, 4], false]);
  assert.deepEqual(await older(chain, { limit: 3, before: idOf(1) }), [[], false]);
  assert.deepEqual(await older(chain, { limit: 3, after: idOf(5) }), [[6, 7, 8], true]);
  assert.deepEqual(await older(chain, { limit: 3, after: idOf(6) }), [[7, 8, 9], false]);
  assert.deepEqual(await older(chain, { limit: 9, after: idOf(3), before: idOf(6) }), [[4, 5], false]);
});

test("a page of the newest events is exact, or undefined if it needs older ones", async () => {
  const chain = chainOf(9);
  const tail = chain.slice(4);
  const page = (query: EventQuery) => numbers(newestPage(tail, query));
  const queries: readonly EventQuery[] = [
    { limit: 3 },
    { limit: 2, before: idOf(8) },
    { limit: 3, after: idOf(5) },
    { limit: 9, after: idOf(9) },
    { limit: 9, after: idOf(5), before: idOf(8) },
  ];
  for (const query of queries) assert.deepEqual(page(query), await older(chain, query), JSON.stringify(query));
  for (const query of [
    { limit: 4, before: idOf(8) },
    { limit: 1, after: idOf(4) },
    { limit: 1, before: idOf(4) },
  ])
    assert.equal(page(query), undefined);
  assert.deepEqual(numbers(newestPage(chain, { limit: 9, before: idOf(3) })), [[1, 2], false]);
  assert.deepEqual(numbers(newestPage([], { limit: 9 })), [[], false]);
});

test("a page is bounded in bytes, but has at least one event", async () => {
  const chain = chainOf(5, 4_000_000);
  assert.deepEqual(await older(chain, { limit: 9 }), [[5], true]);
  assert.deepEqual(await older(chain, { limit: 9, after: idOf(1) }), [[2], true]);
  assert.deepEqual(await older(chainOf(5, 1_000_000), { limit: 9 }), [[2, 3, 4, 5], true]);
});

test("an event of another chain cannot begin a page", async () => {
  for (const query of [
    { limit: 3, after: "ff" },
    { limit: 3, before: "ff" },
  ])
    await assert.rejects(older(chainOf(3), query), { code: "InvalidRequest", message: /no event "ff": take a hash/ });
});
