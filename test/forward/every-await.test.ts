// C2, C4, C5: calls go at once through random graphs of actors that forward to and request from each other, and processes end at every
// await, one after the other: each of the store's in LocalEngine, each step of each invocation on Restate. Each caller gets one reply, the
// model's; each actor counts each call as often as the model says; nothing is left waiting. `FORWARD_GRAPHS=100` tries more graphs.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type ActorId, EngineError, type Json } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { type Cut, PLACES } from "../../src/hosts/restate/journal.fixture.ts";
import { FaultyStore, SimulatedClock, SimulatedEntropy } from "../../src/testing/index.ts";
import { freshSeed, seeded, withSeed } from "../torture/seed.ts";
import { type Call, calls$, countsIn, expectedOf, GRAPHS, IDS, KINDS, outgoingOf, short } from "./model.fixture.ts";
import { onRestate } from "./engines.ts";

const CALLS = 2;

type Graph = readonly Call[];

const graphs = (seed: number): readonly Graph[] =>
  Array.from({ length: GRAPHS }, (_, graph) =>
    fc
      .sample(calls$, { numRuns: CALLS, seed: seed + graph })
      .map((made, index): Call => ({ ...made, steps: made.steps.slice(0, 4), call: `c${index}` })),
  );

interface Left {
  readonly replies: readonly string[];
  readonly states: ReadonlyMap<ActorId, Json | undefined>;
  readonly pending: number;
  readonly deadLetters: number;
}

function check(graph: Graph, { replies, states, pending, deadLetters }: Left, what: string): void {
  const counts = countsIn(states);
  for (const [index, call] of graph.entries()) {
    const expected = expectedOf(call);
    const about = `${what}: ${JSON.stringify(call)}`;
    assert.equal(replies[index], expected.reply, about);
    assert.deepEqual(counts.get(call.call) ?? new Map(), expected.counts, about);
  }
  assert.deepEqual([pending, deadLetters], [0, graph.reduce((sum, call) => sum + expectedOf(call).deadLetters, 0)], what);
}

// ── LocalEngine ───────────────────────────────────────────────────────────────

/** More than any of these calls takes, including retries of messages. */
const MOST_ROUNDS = 60;

/** `ends`: at which await of its store each process ends. Returns how many awaits the last one had, which ends at none. */
async function onDisk(graph: Graph, ends: readonly number[]): Promise<number> {
  const disk = new SimulatedClock();
  const store = memoryStore({ clock: disk });
  const replies: readonly string[][] = graph.map(() => []);
  for (let life = 0; ; life += 1) {
    const end = ends[life];
    const met = { awaits: 0, isOver: false };
    const faulty = new FaultyStore(store, () => (!met.isOver && (met.awaits += 1) === end ? "crash" : "pass"));
    // Timers of a process end with it.
    const clock = new SimulatedClock(disk.now());
    const crashed = faulty.whenCrashed.then(() => undefined);
    const entropy = new SimulatedEntropy(1 + life);
    const engine = await Promise.race([LocalEngine.start({ kinds: KINDS, store: faulty, clock, entropy }), crashed]);
    if (engine !== undefined) {
      const state = { waiting: graph.length };
      // Answered calls are repeated under their keys.
      const ask = async (call: Call, index: number): Promise<void> => {
        const reply = await engine.call(outgoingOf(call), { key: call.call }).then(short, codeOf);
        replies[index]?.push(reply);
        state.waiting -= 1;
      };
      for (const [index, call] of graph.entries()) void ask(call, index);
      const isOver = async (): Promise<boolean> => state.waiting === 0 && (await store.undelivered(1)).length === 0;
      for (let round = 0; round < MOST_ROUNDS && !faulty.crashed && !(await isOver()); round += 1)
        await Promise.race([clock.advance(1_000), crashed]);
      await disk.advance(clock.now() - disk.now());
    }
    if (faulty.crashed) {
      await faulty.answered();
      continue;
    }
    met.isOver = true;
    assert.ok(engine !== undefined);
    const states = new Map<ActorId, Json | undefined>();
    let pending = (await store.undelivered(1)).length;
    for (const id of IDS) {
      pending += Object.keys((await store.load(id))?.row.pending ?? {}).length;
      states.set(id, (await engine.read(id))?.state);
    }
    const deadLetters = (await engine.letters()).length;
    check(graph, { replies: replies.map(oneOf), states, pending, deadLetters }, `ended at ${ends.join(", then at ")}`);
    await engine.drain(0);
    return met.awaits;
  }
}

/** All of them are the same (C4). */
const oneOf = (replies: readonly string[]): string => [...new Set(replies)].join(" and ");

const codeOf = (error: unknown): string => (error instanceof EngineError ? error.code : String(error));

test("LocalEngine: a process that ends at any await of its store changes no reply of random graphs #actors.forward #actors.request #actors.settled", async (t) => {
  const random = seeded(freshSeed());
  await withSeed(random.seed, async () => {
    let runs = 0;
    for (const graph of graphs(random.seed)) {
      const awaits = await onDisk(graph, []);
      for (let end = 1; end <= awaits; end += 1) {
        // Every second time the next process ends too.
        await onDisk(graph, end % 2 === 0 ? [end] : [end, 1 + random.under(awaits)]);
        runs += 1;
      }
    }
    t.diagnostic(`seed ${random.seed}: ${GRAPHS} graphs, ${runs} runs with one or two ends`);
    assert.ok(runs > GRAPHS);
  });
});

// ── Restate ───────────────────────────────────────────────────────────────────

/** `cuts`: of the nth invocation of an actor. Returns how many steps each invocation had. */
async function onServer(graph: Graph, nth: number, cuts: readonly Cut[]): Promise<readonly number[]> {
  const place = await onRestate(KINDS, (_, index) => (index === nth ? { cuts } : {}));
  const ask = (): Promise<readonly string[]> =>
    Promise.all(graph.map(async (call) => short(await place.call(outgoingOf(call), { key: call.call }))));
  const replies = await ask();
  await place.settle();
  const what = `invocation ${nth} cut at ${JSON.stringify(cuts)}`;
  const steps = place.world.invoked.toSorted((one, other) => one.nth - other.nth).map((invoked) => invoked.steps);
  assert.deepEqual(await ask(), replies, `${what}: replies that are requested again are the same`);
  const states = new Map<ActorId, Json | undefined>();
  let pending = 0;
  for (const id of IDS) {
    pending += await place.pending(id);
    states.set(id, await place.state(id));
  }
  check(graph, { replies, states, pending, deadLetters: (await place.letters()).length }, what);
  return steps;
}

test("Restate: an attempt that ends at any step changes no reply of random graphs #actors.forward #actors.request #actors.settled", async (t) => {
  const random = seeded(freshSeed());
  await withSeed(random.seed, async () => {
    let runs = 0;
    for (const graph of graphs(random.seed)) {
      for (const [nth, steps] of (await onServer(graph, -1, [])).entries())
        for (let step = 0; step < steps; step += 1) {
          const place = random.pick(PLACES) ?? "before";
          // Every second time the next attempt ends too.
          const again: readonly Cut[] = step % 2 === 0 ? [] : [{ step: random.under(steps), place: random.pick(PLACES) ?? "kept" }];
          await onServer(graph, nth, [{ step, place }, ...again]);
          runs += 1;
        }
    }
    t.diagnostic(`seed ${random.seed}: ${GRAPHS} graphs, ${runs} runs with one or two ends`);
    assert.ok(runs > GRAPHS);
  });
});
