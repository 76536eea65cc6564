import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId } from "../../../core/contract/index.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import { Chain, Contents } from "./chain.fixture.ts";
import { ChainTails } from "./chain-tails.ts";
import { theaterEvents } from "./projector.ts";
import { verifyTheater } from "./verify-theater.ts";

/** Chains that are read: which events of which, in their order. */
class Read {
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

void test("a chain's newest events have the chain's own hashes, and each event is read once however often they are asked for", async () => {
  const read = new Read();
  const chain = read.chain("tally/t1", 3);
  const tails = read.tails();
  assert.deepEqual(await tails.newest("tally/t1"), await read.whole("tally/t1"));
  chain.event("add", {}, { count: 9 });
  assert.deepEqual(await Promise.all([tails.newest("tally/t1"), tails.newest("tally/t1")]), [
    await read.whole("tally/t1"),
    await read.whole("tally/t1"),
  ]);
  assert.deepEqual(read.seqs, [1, 2, 3, 4]);
  assert.deepEqual(await tails.newest("tally/nobody"), []);
});

void test("the newest events are at most 1,000, and of at most 2 MiB", async () => {
  const read = new Read();
  read.chain("tally/many", 600);
  const whole = await read.whole("tally/many");
  const newest = await read.tails().newest("tally/many");
  assert.deepEqual(newest, whole.slice(-1_000));
  assert.deepEqual(verifyTheater(newest, whole.at(-1_001)?.hash), { ok: true, events: 1_000 });

  const long = new Chain("tally/long");
  for (let at = 0; at < 60; at += 1) long.event("add", {}, { text: `${at} ${"x".repeat(16_000)}` });
  read.chains.set("tally/long", long);
  const few = await read.tails().newest("tally/long");
  const bytes = (events: readonly TheaterEvent[]): number => events.reduce((sum, { data }) => sum + data.length, 0);
  assert.ok(bytes(few) <= 2 * 1_048_576 && bytes(few) > 1_048_576, String(bytes(few)));
  assert.deepEqual(few, (await read.whole("tally/long")).slice(-few.length));
});

void test("only so many chains are kept track of: the one asked for longest ago is read from its first event again", async () => {
  const read = new Read();
  const tails = read.tails();
  for (let at = 0; at <= 32; at += 1) read.chain(`tally/t${at}`, 1);
  for (const id of read.chains.keys()) await tails.newest(id);
  read.seqs.length = 0;
  await tails.newest("tally/t32");
  assert.deepEqual(read.seqs, []);
  await tails.newest("tally/t0");
  assert.deepEqual(read.seqs, [1]);
});

void test("a chain that could not be read is told on from where that was", async () => {
  const read = new Read();
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
  await assert.rejects(tails.newest("tally/t1"), /away/);
  fails = false;
  assert.deepEqual(await tails.newest("tally/t1"), await read.whole("tally/t1"));
  assert.deepEqual(read.seqs, [1, 2, 3, 3, 4]);
});
