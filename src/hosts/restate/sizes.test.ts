// slow: states and messages of many megabytes
// Turns that leave more than the server takes in one piece: the journal of these tests refuses such a piece as it does.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { verify } from "../../core/chain/index.ts";
import { DEFAULT_POLICY, type Behaviour, type Json, type Message, type Turn } from "../../core/contract/index.ts";
import { World } from "./world.fixture.ts";

const ID = "vast/main";
const MEBIBYTE = 2 ** 20;

interface Vast {
  readonly text: string;
  readonly n: number;
}

/** What the arguments request, of so many bytes. */
function turnOf(state: Vast, { action, args, id }: Message): Turn<Vast> {
  const text = "x".repeat(Number(args));
  const counted = { ...state, n: state.n + 1 };
  switch (action) {
    case "keep":
      return { state: { ...counted, text } };
    case "say":
      return { state: counted, reply: { ok: text } };
    case "say only":
      return { reply: { ok: text } };
    case "refuse":
      return { reply: { refused: { code: "NO", message: "No.", data: text } } };
    case "emit":
      return { emit: [text] };
    case "send":
      return { state: counted, send: [{ to: "vast/other", action: "note", args: text, start: null }] };
    case "to missing":
      return { state: counted, send: [{ to: "vast/missing", action: "note", args: text }] };
    case "later":
      return { state: { ...counted, text: id }, reply: "later" };
    case "answer":
      return { state: counted, answer: { [state.text]: { ok: text } } };
    default:
      return { state: counted, reply: { ok: counted.n } };
  }
}

const vast: Behaviour<Vast> = {
  kind: "vast",
  version: 1,
  policy: { ...DEFAULT_POLICY, maxStateBytes: 1_024 * MEBIBYTE },
  initial: () => ({ text: "", n: 0 }),
  receive: (state, message) =>
    message.action.startsWith("work ")
      ? async () => turnOf(state, { ...message, action: message.action.slice("work ".length) })
      : turnOf(state, message),
};

const call = (world: World, action: string, args: Json = null, key?: string) =>
  world.call({ to: ID, action, args, start: null }, key === undefined ? {} : { key });

async function begun(options: { readonly direct?: readonly number[] } = {}): Promise<World> {
  const world = new World({ kinds: [vast], ...options });
  await call(world, "count");
  return world;
}

const isIntact = async (world: World, events: number): Promise<void> => {
  const chain = await world.chain(ID);
  assert.equal(chain.length, events);
  assert.equal(verify(chain, { actor: ID }).flaw, undefined);
};

const PLAIN = ["keep", "say", "say only", "refuse", "emit"];
const REFUSED = 33 * MEBIBYTE;

describe("what the server would not accept", () => {
  for (const [how, actions, options] of [
    ["through the SDK", [...PLAIN, "send", "work keep", "work say", "work say only", "work send"], {}],
    ["without it", PLAIN, { direct: [] }],
  ] as const)
    test(`C3 is refused before anything is set, ${how}, and the actor continues`, async () => {
      for (const action of actions) {
        const world = await begun(options);
        const before = world.storedKeys();
        const outcome = await call(world, action, REFUSED);
        assert.ok("fault" in outcome, action);
        assert.equal(outcome.fault.code, "STATE_TOO_LARGE", action);
        assert.match(outcome.fault.message, /of vast\/main has more than \d+ bytes, and the Restate server takes no more at once: /u);
        assert.deepEqual(world.storedKeys(), before, action);
        assert.deepEqual(await call(world, "count").then((next) => "reply" in next && next.reply), { ok: 2 }, action);
        await isIntact(world, 2);
        assert.deepEqual(world.thrown, []);
      }
    });

  test("includes messages that arrive", async () => {
    const world = await begun();
    const outcome = await call(world, "count", "x".repeat(20 * MEBIBYTE));
    assert.ok("fault" in outcome);
    assert.equal(outcome.fault.code, "STATE_TOO_LARGE");
    await isIntact(world, 1);
  });
});

test("what it accepts is stored, replied and sent, and read again", async () => {
  const world = await begun();
  for (const [action, mebibytes] of [
    ["say", 14],
    ["send", 14],
    ["work say", 14],
    ["keep", 14],
    ["work keep", 14],
    ["count", 0],
  ] as const)
    assert.ok(!("fault" in (await call(world, action, mebibytes * MEBIBYTE))), action);
  await isIntact(world, 7);
});

test("C4 long replies to keyed calls are archived one by one", async () => {
  const world = await begun();
  const size = 14 * MEBIBYTE;
  for (const key of ["a", "b", "c"]) await call(world, "count", null, key);
  for (const key of ["one", "two"]) {
    await call(world, "keep", 1_000);
    const replies = await call(world, "say", size, key);
    assert.ok("reply" in replies && replies.reply !== undefined && "ok" in replies.reply);
    assert.ok((world.storedKeys(`actor-vast/main actor`)["actor-vast/main actor"]?.length ?? 0) < size + 100_000);
  }
  for (const key of ["one", "two"]) {
    const again = await call(world, "say", size, key);
    assert.ok("reply" in again && again.reply !== undefined && "ok" in again.reply);
    assert.ok(typeof again.reply.ok === "string" && again.reply.ok.length === size);
    assert.equal("change" in again, false, "it was applied once");
  }
  await isIntact(world, 8);
});

test("C4 a reply to a waiting call is bounded, too", async () => {
  const world = await begun();
  await call(world, "later");
  const outcome = await call(world, "answer", REFUSED);
  assert.ok("fault" in outcome);
  assert.equal(outcome.fault.code, "STATE_TOO_LARGE");
  assert.ok(!("fault" in (await call(world, "answer", 14 * MEBIBYTE))));
  await isIntact(world, 3);
});

test("C5 the longest message becomes a dead letter", async () => {
  const world = await begun();
  const size = 14 * MEBIBYTE;
  await call(world, "to missing", size);
  await world.pass(60_000);
  const letters = Object.entries(world.storedKeys("troupe-map/")).filter(([name, text]) => name.includes("letters") && text.length > size);
  assert.equal(letters.length, 1);
});
