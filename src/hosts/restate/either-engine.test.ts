// Whatever happens to a family of actors, both engines answer callers alike, and leave the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type ActorId, EngineError, type Json, type Outgoing } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { settle, SimulatedClock } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { World } from "./world.fixture.ts";

const IDS: readonly ActorId[] = ["tally/a", "tally/b", "other/c", "other/d"];

/** A call of an actor; without an action, a stop. */
interface Step {
  readonly to: ActorId;
  readonly action?: string;
  readonly args?: Json;
  /** It may start with it; `explode`: its initial state then throws. */
  readonly begins?: boolean | "explode";
  /** An operator restarts it. */
  readonly mends?: true;
}

const id = fc.constantFrom(...IDS);
const call = fc.record({
  to: id,
  action: fc.constantFrom("add", "work", "throw", "stop"),
  begins: fc.constantFrom(true, false, "explode" as const),
});
const send = fc
  .record({ from: id, to: id, action: fc.constantFrom("add", "work", "stop", "add") })
  .map(({ from, ...args }) => ({ to: from, action: "send", args: { ...args, start: null }, begins: true }));
/** Work that calls another actor; not its own, for which it would wait. */
const ask = fc
  .record({ from: id, to: id, action: fc.constantFrom("add", "throw"), start: fc.constantFrom(undefined, null) })
  .filter(({ from, to }) => from !== to)
  .map(({ from, start, ...args }) => ({ to: from, action: "call", args: { ...args, ...(start === null && { start }) }, begins: true }));
const restart = fc.record({ to: id, child: id }).map(({ to, child }) => ({ to, action: "restart", args: { child }, begins: true }));
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(call, send, send, ask, restart, fc.record({ to: id }), fc.record({ to: id, mends: fc.constant(true as const) })),
  { maxLength: 12 },
);

const KINDS = ["tally", "other"].map((kind) => tallyKind(kind, { restart: { max: 1, withinMs: 1_000_000 } }));

const outgoing = ({ to, args = { reason: "enough" }, begins }: Step, action: string): Outgoing => ({
  to,
  action,
  args,
  ...(begins === true && { start: null }),
  ...(begins === "explode" && { start: { explode: true } }),
});

/** What a caller got: a value, or a code. */
const short = (fields: unknown): Json => {
  const { ok, refused, fault, reply = { ok, refused } } = Object(fields);
  return fault?.code ?? reply.refused?.code ?? reply.ok ?? null;
};

const codeOf = (error: unknown): Json => (error instanceof EngineError ? error.code : String(error));

const stateOf = (read: unknown): unknown => {
  const { status, seq, state } = Object(read);
  return [status, seq, state];
};

async function inProcess(taken: readonly Step[]): Promise<readonly unknown[]> {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: KINDS, store: memoryStore({ clock }), clock });
  const left: unknown[] = [];
  for (const step of taken) {
    const done: Promise<unknown> = step.mends
      ? engine.restart(step.to)
      : step.action === undefined
        ? engine.stop(step.to, "over")
        : engine.call(outgoing(step, step.action));
    const answer = done.then(short, codeOf);
    await settle();
    // What failed is tried again by the clock, and a call waits behind its sender's message to the same actor.
    await clock.advance(3_000);
    left.push(await answer);
  }
  for (const one of IDS) {
    left.push(stateOf(await engine.read(one)));
  }
  return left;
}

async function onRestate(taken: readonly Step[]): Promise<readonly unknown[]> {
  const world = new World({ kinds: KINDS });
  const left: unknown[] = [];
  for (const step of taken) {
    const done: Promise<unknown> = step.mends
      ? world.ask(world.names.actor(step.to, "restart"), {})
      : step.action === undefined
        ? world.stop(step.to, "over")
        : world.call(outgoing(step, step.action));
    left.push(short(await done));
    await world.settle();
  }
  for (const one of IDS) {
    left.push(stateOf(Object(await world.ask(world.names.actor(one, "read"), null)).value));
  }
  return left;
}

void test("C2 C5 a family of actors notifies, fails and stops alike in both engines", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => assert.deepEqual(await onRestate(taken), await inProcess(taken))),
    { numRuns: 200 },
  );
});
