// C2, C4, C5: processes crash around every await of the store while calls go through random graphs of actors. Each caller that repeats its call
// gets the model's one reply, each actor counts each call as often as in the model, and nothing is left waiting.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type ActorId, EngineError, type Json, type Reply } from "../../src/core/contract/index.ts";
import { checkFile } from "../../src/core/store/index.ts";
import { type Life, Machine, rounds } from "../torture/crashing-machine.ts";
import { seeded, withSeed } from "../torture/seed.ts";
import { type Call, calls$, countsIn, expectedOf, GRAPHS, IDS, KINDS, outgoingOf, short } from "./model.fixture.ts";

const CRASHES = 40 * GRAPHS;
const CALLERS = 4;

interface PlannedCall {
  readonly call: Call;
  /** The caller disconnects while it waits, so the outcome of the call is open. */
  readonly left: boolean;
  reply?: string;
}

test(`over ${CRASHES} crashes around every await of the store, each forwarded call has the model's outcome #actors.forward #actors.request #actors.settled #actors.forward.cancel`, async (t) => {
  const random = seeded(20_261_129);
  await withSeed(random.seed, async () => {
    await using machine = new Machine(random, KINDS);
    const made = fc.sample(calls$, { numRuns: 100 * CRASHES, seed: random.seed });
    const all: PlannedCall[] = [];
    const state = { over: false };
    let now = Promise.withResolvers<Life>();

    const callsOf = async (): Promise<void> => {
      while (!state.over) {
        const next = made[all.length];
        assert.ok(next !== undefined, "there are enough calls");
        const planned: PlannedCall = { call: { ...next, call: `c${all.length}` }, left: random.under(8) === 0 };
        all.push(planned);
        await ask(planned);
        // C4: a repeated call gets the same reply.
        if (!state.over && !planned.left && random.under(8) === 0) await ask(planned);
      }
    };
    const ask = async (planned: PlannedCall): Promise<void> => {
      for (;;) {
        const life = await now.promise;
        const leaving = new AbortController();
        const options = { key: planned.call.call, signal: leaving.signal };
        const answer = life.engine.call(outgoingOf(planned.call), options).catch((error: unknown) => error);
        if (planned.left) {
          for (let round = random.under(4); round > 0; round -= 1) await rounds();
          leaving.abort();
        }
        const reply = await Promise.race([answer, life.faulty.whenCrashed]);
        if (planned.left) return;
        if (isReply(reply)) {
          const text = short(reply);
          assert.equal(text, planned.reply ?? text, `${planned.call.call} gets its first reply again`);
          planned.reply = text;
          return;
        }
        assert.ok(reply === undefined || reply instanceof EngineError, String(reply));
        await rounds();
      }
    };

    const callers = Promise.all(Array.from({ length: CALLERS }, callsOf));
    for (let life = 0; machine.crashes < CRASHES; life += 1) {
      const { life: begun, dead } = await machine.begin(life);
      if (begun !== undefined) now.resolve(begun);
      await Promise.race([dead, callers.then(() => dead)]);
      if (begun !== undefined) now = Promise.withResolvers();
    }
    state.over = true;
    machine.tame();
    const { life: last } = await machine.begin(CRASHES * 2);
    assert.ok(last !== undefined);
    now.resolve(last);
    await callers;
    while ((await machine.disk.undelivered(1)).length > 0) await rounds();
    await rounds();
    const states = new Map<ActorId, Json | undefined>();
    for (const id of IDS) {
      const stored = await machine.disk.load(id);
      assert.deepEqual(stored?.row.pending ?? {}, {}, `${id} waits for nothing`);
      states.set(id, (await last.engine.read(id))?.state);
    }
    await last.engine.close();
    await machine.remount();
    const counts = countsIn(states);
    for (const { call, reply, left } of all) {
      const expected = expectedOf(call);
      const found = counts.get(call.call) ?? new Map<string, number>();
      if (left) for (const [what, count] of found) assert.ok(count <= (expected.counts.get(what) ?? 0), `${call.call} ${what}: ${count}`);
      else {
        assert.equal(reply, expected.reply, JSON.stringify(call));
        assert.deepEqual(found, expected.counts, JSON.stringify(call));
      }
    }
    assert.deepEqual(checkFile({ directory: machine.directory }), []);
    const ended = all.filter(({ left }) => !left);
    t.diagnostic(`seed ${random.seed}: ${machine.crashes} crashes, ${ended.length} calls, ${all.length - ended.length} callers left`);
    t.diagnostic([...machine.places].map(([place, count]) => `${place}: ${count}`).join(", "));
  });
});

const isReply = (value: unknown): value is Reply =>
  typeof value === "object" && value !== null && ("ok" in value || "refused" in value || "needs" in value);
