import assert from "node:assert/strict";
import { test } from "node:test";
import { readBody, reexecute, sha256, verify } from "../chain/index.ts";
import { stamp } from "../chain/internal.ts";
import { DEFAULT_POLICY, type Behaviour, type ChainEvent, type Clock, type Entropy, type Json, type Message } from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { memoryStore } from "../store/index.ts";
import { golden, goldenCalls, runGolden } from "../testing/index.ts";
import { DurableActor } from "./durable-actor.ts";
import type { WorkHost } from "./durable-work.ts";
import { Journal, type Cut } from "./journal.fixture.ts";
import { SEGMENT_EVENTS } from "./kept.ts";
import { errorFrom, type Outcome } from "./outcome.ts";

const ID = "golden/some%20one";

const host: WorkHost = {
  now: () => 0,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  call: () => Promise.reject(new Error("Nobody to call.")),
  fault: () => {},
};

const clockAt = (at: number): Clock => ({ now: () => at, after: (ms, run) => host.after(ms, run) });

function counting(): Entropy {
  let drawn = 0;
  return { hex: (bytes) => sha256(`draw ${drawn++}`).slice(0, bytes * 2), uuid: () => "unused" };
}

const messagesOf = (entropy: Entropy): readonly Message[] =>
  goldenCalls(ID).map(({ outgoing }) => stamp(outgoing, undefined, 5_000, entropy));

async function eventsOf(actor: DurableActor, journal: Journal): Promise<ChainEvent[]> {
  const events: ChainEvent[] = [];
  for (;;) {
    const more = await actor.events(journal, events.length);
    if (more.length === 0) return events;
    events.push(...more);
  }
}

/** What the caller of a `LocalEngine` would have been told. */
function told(outcome: Outcome): Json {
  if ("reply" in outcome) return { ...outcome.reply };
  const { code, message } = errorFrom(outcome.fault);
  return { fault: code, message };
}

async function play(cuts: (index: number) => Cut | undefined = () => undefined) {
  const actor = new DurableActor(golden("distributed"), host);
  const journal = new Journal();
  const others = new Journal();
  const said: Json[] = [];
  let steps = 0;
  for (const [index, message] of messagesOf(counting()).entries()) {
    const run = await (message.to === ID ? journal : others).turn((context) => actor.turn(context, message), cuts(index));
    said.push(told(run.outcome));
    steps = Math.max(steps, run.steps);
  }
  return { journal, said, steps, events: await eventsOf(actor, journal), snapshot: await actor.read(journal, ID) };
}

void test("the golden workload leaves byte-equal chains in the local engine and in durable turns", async () => {
  await using store = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [golden("disk")], store, clock: clockAt(5_000), entropy: counting() });
  const local = await runGolden(engine, goldenCalls(ID));
  const durable = await play();
  assert.deepEqual(durable.said, local);
  const chain: ChainEvent[] = [];
  for await (const event of engine.history(ID)) chain.push(event);
  assert.ok(chain.length > 2 * SEGMENT_EVENTS);
  assert.deepEqual(durable.events, chain);
  const wholes = chain.filter((event) => readBody(event)?.state !== undefined);
  assert.ok(wholes.length > 2 && wholes.length < chain.length / 2, "both whole states and patches");
  const { id, seq, head, status, state } = (await engine.read(ID)) ?? assert.fail();
  assert.deepEqual(durable.snapshot, { id, seq, head, status, state });
});

void test("law 4: a turn that is cut anywhere and run again leaves the same chain, keys, sends and replies", async () => {
  const whole = await play();
  for (let step = 0; step < whole.steps; step += 1) {
    for (const kept of [false, true]) {
      const cut = await play(() => ({ step, kept }));
      assert.deepEqual(cut.said, whole.said);
      assert.deepEqual(cut.events, whole.events);
      assert.deepEqual(cut.journal.keys, whole.journal.keys);
    }
  }
});

void test("C3 what throws, refuses, needs or is no JSON sets no key, in work too", async () => {
  const { journal, said } = await play();
  said.slice(1).forEach((value, index) => {
    const applied = typeof value === "object" && value !== null && "ok" in value;
    assert.ok(applied || journal.writes[index] === 0, `turn ${index} was told ${JSON.stringify(value)} and wrote`);
  });
});

void test("C6 one state key is written per turn, and a segment every 32", async () => {
  const { journal, events } = await play();
  const written = journal.writes.filter((count) => count > 0);
  assert.equal(written.length, events.length);
  assert.equal(written.filter((count) => count === 2).length, Math.floor((events.length - 1) / SEGMENT_EVENTS));
  assert.ok(written.every((count) => count <= 2));
  assert.equal(
    [...journal.keys.keys()].filter((name) => name.startsWith("events/")).length,
    Math.floor((events.length - 1) / SEGMENT_EVENTS),
  );
});

void test("C7 the chain verifies, runs again as it was recorded, and holds nothing secret", async () => {
  const { events } = await play();
  assert.equal(verify(events, { actor: ID }).flaw, undefined);
  assert.deepEqual(reexecute(golden("distributed"), events).mismatches, []);
  assert.ok(!events.some(({ body }) => body?.includes("hidden")));
});

void test("events can be asked for from any place, and a page never ends before the chain does", async () => {
  const { journal, events } = await play();
  const actor = new DurableActor(golden("distributed"), host);
  for (const after of [0, 1, SEGMENT_EVENTS - 1, SEGMENT_EVENTS, events.length - 1]) {
    const page = await actor.events(journal, after);
    assert.ok(page.length > 0);
    assert.deepEqual(page, events.slice(after, after + page.length));
  }
  assert.deepEqual(await actor.events(journal, events.length), []);
  assert.deepEqual(await actor.events(journal, events.length + 100), []);
});

const slow: Behaviour<Json> = {
  kind: "slow",
  version: 1,
  policy: { ...DEFAULT_POLICY, workMs: 5 },
  initial: () => 0,
  receive: (_, { action }) =>
    action === "wake"
      ? { wake: { soon: { at: 1, action: "look" } } }
      : action === "later"
        ? { reply: "later" }
        : (context) =>
            new Promise((resolve) => {
              context.signal.addEventListener("abort", () => resolve({ state: 1 }));
            }),
};

const slowly = (action: string): Message => ({ id: action, to: "slow/one", action, args: null, at: 1, seed: "0".repeat(32), start: null });

void test("work past its time is aborted, what it returns then is dropped, and another run of the turn does not run it again", async () => {
  const actor = new DurableActor(slow, host);
  const journal = new Journal();
  const { outcome } = await journal.turn((context) => actor.turn(context, slowly("work")), { step: 1, kept: true });
  assert.ok("fault" in outcome);
  assert.equal(outcome.fault.code, "WORK_TIMEOUT");
  assert.equal(journal.keys.size, 0);
});

void test("what is not carried yet is refused in clear words, never silently dropped", async () => {
  const actor = new DurableActor(slow, host);
  for (const action of ["wake", "later"]) {
    const journal = new Journal();
    const { outcome } = await journal.turn((context) => actor.turn(context, slowly(action)));
    assert.ok("fault" in outcome);
    assert.equal(outcome.fault.code, "NOT_APPLIED");
    assert.equal(journal.keys.size, 0);
  }
});

/** Shows what state it was given. */
const versioned = (version: number): Behaviour<Json> => ({
  kind: "slow",
  version,
  policy: DEFAULT_POLICY,
  initial: () => ["first"],
  migrate: (state, from) => ({ state, from }),
  receive: (state) => ({ state: { of: state }, reply: { ok: state } }),
});

void test("a state of a lower version is migrated with the next turn, one of a higher version is refused", async () => {
  const journal = new Journal();
  const turn = async (version: number): Promise<Json> => {
    const { outcome } = await journal.turn((context) => new DurableActor(versioned(version), host).turn(context, slowly(`v${version}`)));
    return told(outcome);
  };
  assert.deepEqual(await turn(1), { ok: ["first"] });
  assert.deepEqual(await turn(2), { ok: { state: { of: ["first"] }, from: 1 } });
  const refused = await turn(1);
  assert.ok(typeof refused === "object" && refused !== null && "fault" in refused && refused["fault"] === "STATE_NEWER");
  const last = (await new DurableActor(versioned(2), host).events(journal, 1))[0];
  assert.ok(last && readBody(last)?.state !== undefined, "the first event of a new version holds the whole state");
});

const textless: Behaviour<Json> = {
  kind: "slow",
  version: 1,
  policy: DEFAULT_POLICY,
  initial: () => 0,
  receive(_, { action }) {
    const turn: object = JSON.parse("{}");
    const big = BigInt(1);
    if (action === "reply") Object.assign(turn, { reply: { ok: big } });
    if (action === "record") Object.assign(turn, { state: 1, record: big });
    if (action === "send") Object.assign(turn, { send: [{ to: "slow/two", action: "reply", args: null, start: big }] });
    if (action === "promise") return Object(Promise.resolve());
    if (action === "work") return () => Promise.resolve({ state: 1, ...Object({ record: big }) });
    return turn;
  },
};

void test("a turn that has no text is a crash, not an invocation that is tried for ever", async () => {
  const actor = new DurableActor(textless, host);
  for (const action of ["reply", "record", "send", "promise", "work"]) {
    const journal = new Journal();
    const { outcome } = await journal.turn((context) => actor.turn(context, slowly(action)));
    assert.ok("fault" in outcome, action);
    assert.equal(outcome.fault.code, "CRASHED");
    assert.deepEqual([journal.keys.size, journal.sent.length], [0, 0]);
  }
});
