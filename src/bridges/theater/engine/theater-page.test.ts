import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventQuery } from "../stage.ts";
import type { ChainPage, TheaterEvent } from "../theater-stage.ts";
import { olderPage, newestPage } from "./theater-page.ts";

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

async function* read(chain: readonly TheaterEvent[]): AsyncGenerator<TheaterEvent> {
  await Promise.resolve();
  yield* chain;
}

const numbers = (page: ChainPage | undefined): readonly [readonly number[], boolean] | undefined =>
  page === undefined ? undefined : [page.events.map(({ timestamp }) => timestamp), page.more];
const older = async (chain: readonly TheaterEvent[], query: EventQuery) => numbers(await olderPage(read(chain), query));

test("a page of a chain: the newest, those before an event, those after one, and whether there are more", async () => {
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

test("the newest events tell what they can, and nothing that they cannot", async () => {
  const chain = chainOf(9);
  const tail = chain.slice(4);
  const told = (query: EventQuery) => numbers(newestPage(tail, query));
  const queries: readonly EventQuery[] = [
    { limit: 3 },
    { limit: 2, before: idOf(8) },
    { limit: 3, after: idOf(5) },
    { limit: 9, after: idOf(9) },
    { limit: 9, after: idOf(5), before: idOf(8) },
  ];
  for (const query of queries) assert.deepEqual(told(query), await older(chain, query), JSON.stringify(query));
  for (const query of [
    { limit: 4, before: idOf(8) },
    { limit: 1, after: idOf(4) },
    { limit: 1, before: idOf(4) },
  ])
    assert.equal(told(query), undefined);
  assert.deepEqual(numbers(newestPage(chain, { limit: 9, before: idOf(3) })), [[1, 2], false]);
  assert.deepEqual(numbers(newestPage([], { limit: 9 })), [[], false]);
});

test("what is too long for one page is the next one's, and one event is told however long", async () => {
  const chain = chainOf(5, 4_000_000);
  assert.deepEqual(await older(chain, { limit: 9 }), [[5], true]);
  assert.deepEqual(await older(chain, { limit: 9, after: idOf(1) }), [[2], true]);
  assert.deepEqual(await older(chainOf(5, 1_000_000), { limit: 9 }), [[2, 3, 4, 5], true]);
});

test("an event that is none of the chain's is no beginning of a page", async () => {
  for (const query of [
    { limit: 3, after: "ff" },
    { limit: 3, before: "ff" },
  ])
    await assert.rejects(older(chainOf(3), query), { code: "InvalidRequest", message: /no event "ff": take a hash/ });
});
