// Random graphs of actors that forward to and request from each other, over restarts at random moments: each keyed call gets one reply,
// and has the model's outcome.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ActorId, Json } from "../../src/core/contract/index.ts";
import { type Cut, PLACES } from "../../src/hosts/restate/journal.fixture.ts";
import { type Call, calls$, countsIn, expectedOf, GRAPHS, IDS, KINDS, outgoingOf, short } from "./model.fixture.ts";
import { ENGINES, onRestate, type TestEngine } from "./engines.ts";

const program$ = fc.array(fc.tuple(calls$, fc.boolean()), { minLength: 1, maxLength: 4 });

/** Makes the calls one after the other; the flag means that the process ends during the call. */
async function play(opened: TestEngine, program: readonly (readonly [Omit<Call, "call">, boolean])[]): Promise<void> {
  let place = opened;
  let deadLetters = 0;
  for (const [index, [made, restart]] of program.entries()) {
    const call: Call = { ...made, call: `c${index}` };
    const expected = expectedOf(call);
    const first = place.call(outgoingOf(call), { key: call.call }).then(short, () => "lost");
    if (restart) {
      place = await place.reopen();
      // It has a reply, or was refused because the engine closed.
      await first;
    }
    assert.equal(restart ? short(await place.call(outgoingOf(call), { key: call.call })) : await first, expected.reply);
    await place.settle();
    const states = new Map<ActorId, Json | undefined>();
    for (const id of IDS) {
      assert.equal(await place.pending(id), 0, id);
      states.set(id, await place.state(id));
    }
    assert.deepEqual(countsIn(states).get(call.call) ?? new Map(), expected.counts);
    deadLetters += expected.deadLetters;
    assert.equal((await place.letters()).length, deadLetters);
  }
  await place[Symbol.asyncDispose]();
}

for (const { name, open } of ENGINES)
  test(`${name}: every call through a random graph has the model's outcome, over restarts #actors.forward #actors.request #actors.settled`, async () => {
    await fc.assert(
      fc.asyncProperty(program$, async (program) => play(await open(KINDS), program)),
      { numRuns: 15 * GRAPHS },
    );
  });

const cuts$ = fc.array(fc.array(fc.record<Cut>({ step: fc.nat({ max: 8 }), place: fc.constantFrom(...PLACES) }), { maxLength: 3 }), {
  minLength: 1,
  maxLength: 20,
});

test("Restate: attempts that crash at random steps do not change the model's outcome #actors.forward #actors.request #actors.settled", async () => {
  await fc.assert(
    fc.asyncProperty(program$, cuts$, async (program, cuts) => {
      const faults = (_: string, nth: number) => ({ cuts: cuts[nth % cuts.length] ?? [] });
      await play(await onRestate(KINDS, faults), program);
    }),
    { numRuns: 15 * GRAPHS },
  );
});
