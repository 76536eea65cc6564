import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour, ChainEvent, Turn } from "../contract/index.ts";
import { counter, richChain, Scribe } from "./chain.fixture.ts";
import { seal } from "./event.ts";
import { diffStates, readBody, reexecute, stateAt, secretsIn, withoutSecrets, causeTree, rootCause, sha256, readHeader } from "./index.ts";

const chain = await richChain();

test("law 4: re-executed turns leave the same events; work is taken from the record #chain.reexecute", () => {
  assert.deepEqual(reexecute(counter(), chain), {
    run: 11,
    taken: { work: 1, version: 0, redacted: 1, erased: 0, engine: 0 },
    mismatches: [],
  });
});

test("another program is detected in each turn, from the recorded state #chain.reexecute", () => {
  const { mismatches } = reexecute(counter(1), chain);
  assert.deepEqual(
    mismatches.map(({ seq, what }) => `${seq} ${what}`),
    "1 state,1 reply,2 patch,2 reply,7 state,7 reply,9 patch,9 reply,12 state,12 reply,13 patch,13 reply".split(","),
  );
  const [first] = mismatches;
  assert.deepEqual(first, { seq: 1, what: "state", recorded: { n: 5, log: ["5 at 1000"] }, now: { n: 6, log: ["6 at 1000"] } });
});

test("a changed record with valid hashes is detected by re-execution", () => {
  const event = chain[1];
  assert.ok(event);
  const body = readBody(event);
  assert.ok(body);
  const rich = seal(readHeader(event), { ...body, patch: { n: [1_000_000] } });
  const { mismatches } = reexecute(counter(), chain.with(1, rich).slice(0, 2));
  assert.deepEqual(
    mismatches.map(({ seq, what }) => [seq, what]),
    [[2, "patch"]],
  );
});

test("re-execution skips erased bodies up to a whole state, and turns of other versions", async () => {
  const erased = chain.map(({ id, header, body }, index): ChainEvent =>
    index < 4 || body === undefined ? { id, header } : { id, header, body },
  );
  const result = reexecute(counter(), erased);
  assert.deepEqual(result.mismatches, []);
  assert.equal(result.taken.erased, 7);
  assert.equal(result.run, 5);
  const newer = reexecute(counter(0, 2), chain);
  assert.deepEqual([newer.run, newer.taken.version, newer.mismatches], [0, 13, []]);
});

test("a turn that throws now, or has no effect now, is a mismatch", async () => {
  const scribe = new Scribe(counter());
  await scribe.tell("add", {}, { start: null });
  await scribe.tell("add");
  const picky = counter();
  const throwing = reexecute(
    { ...picky, receive: (state, message) => (message.id === "m2" ? fail() : picky.receive(Object(state), message)) },
    scribe.events,
  );
  assert.deepEqual(throwing.mismatches, [{ seq: 2, what: "threw", now: "not today" }]);
  const idle = reexecute(
    { ...picky, receive: (state, message) => (message.id === "m2" ? {} : picky.receive(Object(state), message)) },
    scribe.events,
  );
  assert.deepEqual(idle.mismatches, [{ seq: 2, what: "nothing" }]);
});

test("an old event without effect, as of an undone write, is no mismatch", async () => {
  const picky = counter();
  const undone = (state: unknown): Turn<unknown> => ({ state: structuredClone(state), reply: { ok: 7 } });
  const unchanged = (): Turn<unknown> => ({ reply: { ok: 7 } });
  const other = (): Turn<unknown> => ({ reply: { ok: 8 } });
  const heard = (how: (state: unknown) => Turn<unknown>): Behaviour => ({
    ...picky,
    receive: (state, message) => (message.id === "m2" ? how(state) : picky.receive(Object(state), message)),
  });
  const scribe = new Scribe(heard(undone));
  await scribe.tell("add", {}, { start: null });
  await scribe.tell("add");
  await scribe.tell("add");
  assert.equal(scribe.events.length, 3);
  assert.deepEqual(reexecute(heard(unchanged), scribe.events).mismatches, []);
  assert.deepEqual(reexecute(heard(other), scribe.events).mismatches, [{ seq: 2, what: "nothing" }]);
});

test("a re-executed turn gets a deeply frozen state, as in an engine", async () => {
  const scribe = new Scribe(counter());
  await scribe.tell("add", {}, { start: null });
  await scribe.tell("add");
  await scribe.tell("add");
  const same = counter();
  const writing: Behaviour = {
    ...same,
    receive(state, message) {
      Object.assign(Object(state).log, { 0: "mine" });
      return same.receive(Object(state), message);
    },
  };
  const { mismatches } = reexecute(writing, scribe.events);
  assert.deepEqual(
    mismatches.map(({ seq, what }) => [seq, what]),
    [
      [1, "threw"],
      [2, "threw"],
      [3, "threw"],
    ],
  );
});

function fail(): never {
  throw new Error("not today");
}

test("states at two events, and their differences #chain.state-at #chain.diff", () => {
  assert.deepEqual(stateAt(chain, 2).state, { n: 6, log: ["5 at 1000", "1 at 2000"] });
  assert.deepEqual(stateAt(chain.slice(6), 9).state, { n: 114, log: ["5 at 1000", "1 at 2000", "3 at 7000", "4 at 9000"], askId: "m4" });
  assert.throws(() => stateAt(chain, 14), { code: "STORE_CORRUPT" });
  assert.throws(() => stateAt(chain.slice(7), 9), { code: "STORE_CORRUPT" });
  assert.throws(() => stateAt(chain, 0), { code: "STORE_CORRUPT" });
  assert.throws(() => stateAt([], 1), { code: "STORE_CORRUPT" });
  assert.deepEqual(diffStates(stateAt(chain, 1).state, stateAt(chain, 2).state), [
    { path: "/n", before: 5, after: 6 },
    { path: "/log/1", after: "1 at 2000" },
  ]);
  assert.deepEqual(diffStates({ "a/b": { "~": 1 }, removed: [1] }, { "a/b": { "~": 2 }, came: null }), [
    { path: "/a~1b/~0", before: 1, after: 2 },
    { path: "/removed", before: [1] },
    { path: "/came", after: null },
  ]);
  assert.deepEqual(diffStates({ a: 1 }, { a: 1 }), []);
  assert.equal(
    diffStates(
      Array.from({ length: 100 }, (_, index) => index),
      [],
      7,
    ).length,
    7,
  );
});

test("secret arguments are redacted in the record too #chain.redact #spec.6.access", () => {
  const login = chain[7];
  assert.ok(login);
  assert.ok(!login.body?.includes("hunter2!"));
  assert.deepEqual(readBody(login)?.record, { sent: 'token="[redacted]";', n: 1 });
  assert.deepEqual(
    secretsIn(
      { a: "longer secret", b: { c: 12_345, d: true, e: "x" }, f: ["same", "list"] },
      { a: "[redacted]", b: "[redacted]", f: ["same", "[redacted]"] },
    ),
    ["longer secret", "12345", "list"],
  );
  assert.deepEqual(withoutSecrets([{ k: "a longer secret!", n: 12_345 }, null], ["longer secret", "12345"]), [
    { k: "a [redacted]!", n: "[redacted]" },
    null,
  ]);
});

test("causes are followed across actors, up to the root and down as a tree, with limits #chain.causes", async () => {
  const events = new Map<string, ChainEvent>();
  let count = 0;
  const make = (actor: string, cause?: string): string => {
    count += 1;
    const event = seal(
      { actor: `room/${actor}`, life: actor, seq: count, parent: null, at: 1, type: "t", ...(cause === undefined ? {} : { cause }) },
      { message: count, version: 1, sent: [] },
    );
    events.set(event.id, event);
    return event.id;
  };
  const root = make("a");
  const b = make("b", root);
  const c = make("c", root);
  const d = make("d", b);
  const lookup = {
    event: async (id: string) => events.get(id),
    caused: async (id: string) => [...events.values()].filter((event) => readHeader(event).cause === id),
  };
  assert.equal(await rootCause(d, lookup), root);
  assert.equal(await rootCause(sha256("x"), lookup), undefined);
  const tree = await causeTree(root, lookup);
  assert.deepEqual(
    tree?.effects.map((effect) => [effect.id, effect.header.actor, effect.effects.map(({ id }) => id)]),
    [
      [b, "room/b", [d]],
      [c, "room/c", []],
    ],
  );
  const cut = await causeTree(root, lookup, 2);
  assert.deepEqual([cut?.cut, cut?.effects.length], [true, 1]);
  assert.equal(await causeTree(sha256("x"), lookup), undefined);
  const loop = { event: lookup.event, caused: async () => [...events.values()] };
  assert.equal((await causeTree(root, loop))?.effects.length, 3);
});
