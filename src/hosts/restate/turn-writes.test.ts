import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { verify } from "../../core/chain/index.ts";
import type { Json } from "../../core/contract/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { eventsIn } from "./event-lines.ts";
import { cutEverywhere } from "./story.fixture.ts";
import { World } from "./world.fixture.ts";

const ID = "tally/main";
/** An actor's recent events, in its own key and in blocks, before older ones are archived. */
const MOST_OWN = 8;
const MOST_BLOCKS = 4;
const BLOCK_CHARACTERS = 4_096;
const MOST_CHARACTERS = 16_384;
/** Events in an archive segment. */
const SLOT_EVENTS = 32;
const MOST_REPLIES = 16;

const add = (world: World, args: Json = null, key?: string) =>
  world.call({ to: ID, action: "add", args, start: null }, key === undefined ? {} : { key });

/** The texts under such names of one object, by their numbers. */
function texts(world: World, before: string): readonly string[] {
  const found = world.storedKeys(before);
  const all = Array.from({ length: Object.keys(found).length }, (_, n) => found[`${before}${n}`]);
  return all.map((text, n) => text ?? assert.fail(`${before}${n} is missing: ${Object.keys(found).join()}`));
}

/** Where its events are: as many as there should be, each readable. */
function places(world: World) {
  const { seq = 0, own = 0, held = { blocks: 0, events: 0, characters: 0 }, lines = "" } = world.own(ID) ?? {};
  assert.equal(eventsIn(ID, lines, seq - own + 1).length, own);
  const blocks = texts(world, "actor-tally/main block/").map((text) => {
    const [first = "", ...rest] = text.split("\n");
    const [from = 0, count = 0] = first.split(" ").map(Number);
    assert.equal(eventsIn(ID, rest.join("\n"), from).length, count);
    return { from, count, characters: rest.join("\n").length };
  });
  const sum = (of: (block: (typeof blocks)[number]) => number): number => blocks.reduce((all, block) => all + of(block), 0);
  assert.deepEqual(held, { blocks: blocks.length, events: sum(({ count }) => count), characters: sum(({ characters }) => characters) });
  const archived = seq - own - held.events;
  for (const [n, { from }] of blocks.entries())
    assert.equal(from, 1 + archived + blocks.slice(0, n).reduce((all, { count }) => all + count, 0));
  const slots = texts(world, "archive-tally/main events/").map((text, n) => eventsIn(ID, text, 1 + n * SLOT_EVENTS).length);
  assert.deepEqual(
    slots,
    Array.from({ length: Math.ceil(archived / SLOT_EVENTS) }, (_, n) => Math.min(SLOT_EVENTS, archived - n * SLOT_EVENTS)),
    "the archive has what left, and its names are full",
  );
  return {
    seq,
    own,
    blocks: blocks.length,
    characters: held.characters,
    longest: Math.max(0, ...blocks.map((block) => block.characters)),
    lines,
    archived,
  };
}

const intact = async (world: World, events: number): Promise<void> => {
  const chain = await world.chain(ID);
  assert.equal(chain.length, events, "none is missing, none is there twice");
  assert.equal(verify(chain, { actor: ID }).flaw, undefined);
};

describe("an actor's own key stays short", () => {
  test("events leave it once they are many #cluster.key", async () => {
    const world = new World({ kinds: [tallyKind("tally")] });
    const seen = new Set<string>();
    for (let n = 1; n <= 120; n += 1) {
      await add(world);
      const { seq, own, blocks, archived } = places(world);
      assert.equal(seq, n);
      assert.ok(own >= 1 && own <= MOST_OWN, `${own} of ${n}`);
      assert.ok(blocks <= MOST_BLOCKS && n - archived <= MOST_OWN * (MOST_BLOCKS + 1), `${blocks} blocks, ${archived} of ${n} left`);
      assert.equal(archived % SLOT_EVENTS, 0);
      seen.add(`${blocks} ${own}`);
      if (n % 5 === 0) await intact(world, n);
    }
    assert.equal(seen.size, MOST_OWN * (MOST_BLOCKS + 1), "each fill of them came about");
    assert.ok(places(world).archived >= 2 * SLOT_EVENTS);
    for (const text of texts(world, "archive-tally/main events/")) assert.ok(text.startsWith("life "), "as it came, not written anew");
  });

  for (const [what, size] of [
    ["long", 1_500],
    ["very long", 6_000],
  ] as const)
    test(`events leave it once they are ${what} #cluster.key`, async () => {
      const world = new World({ kinds: [tallyKind("tally")] });
      let most = 0;
      for (let n = 1; n <= 40; n += 1) {
        // Nothing in common with the one before it.
        await add(world, { by: 1, pad: String.fromCodePoint(0x61 + (n % 26)).repeat(size) });
        const { own, lines, blocks, characters, longest, archived } = places(world);
        // What exceeds a bound leaves with the next turn, so one more may be there.
        for (const length of [lines.length, longest])
          assert.ok(length < BLOCK_CHARACTERS + 2 * size, `${own} events of ${length} characters`);
        assert.ok(characters <= MOST_CHARACTERS, `${blocks} blocks of ${characters} characters`);
        most = Math.max(most, n - archived);
        if (n % 5 === 0) await intact(world, n);
      }
      assert.ok(most < (2 * (MOST_CHARACTERS + BLOCK_CHARACTERS)) / size && most > MOST_CHARACTERS / size / 2, `${most} at most`);
    });

  test("C4 replies leave it for the archive, and expired ones are removed #cluster.key", async () => {
    const world = new World({ kinds: [tallyKind("tally")] });
    for (let n = 0; n < 60; n += 1) {
      await add(world, { by: 1 }, `key ${n}`);
      assert.ok((world.own(ID)?.replies.length ?? 0) <= MOST_REPLIES);
    }
    assert.equal(world.own(ID)?.archived, true);
    // This world stores them for 60 s.
    await world.pass(60_001);
    await add(world);
    assert.deepEqual(world.own(ID)?.replies, []);
    await add(world, { by: 1 }, "key 0");
    assert.equal(Object(world.state(ID))["n"], 62, "a key that is over is another call's");
  });
});

describe("another life continues the chain, and has only its own events with it", () => {
  // The stop is an event as well: none, some and all blocks are there, with some and all of the newest events.
  for (const events of [1, 5, 7, 8, 12, 31, 38, 39, 40, 45])
    test(`after ${events} events and a stop`, async () => {
      const world = new World({ kinds: [tallyKind("tally")] });
      for (let n = 0; n < events; n += 1) await add(world);
      await world.call({ to: ID, action: "stop", args: { reason: "over" } });
      await add(world);
      const { own, blocks, archived } = places(world);
      assert.deepEqual({ own, blocks, archived }, { own: 1, blocks: 0, archived: events + 1 });
      assert.deepEqual(Object.keys(world.storedKeys("actor-tally/main")), ["actor-tally/main actor"]);
      for (let n = 0; n < 50; n += 1) {
        await add(world);
        places(world);
      }
      await intact(world, events + 52);
      const chain = await world.chain(ID);
      assert.equal(new Set(chain.map(({ header }) => JSON.parse(header).life)).size, 2);
    });
});

test("law 4: a turn that makes or archives blocks leaves the same wherever it is cut", async () => {
  const world = await cutEverywhere({
    kinds: [tallyKind("tally")],
    async play(of) {
      for (let n = 0; n < 42; n += 1) await add(of);
      await of.call({ to: ID, action: "stop", args: { reason: "over" } });
      return add(of);
    },
  });
  const effects = world.invoked.flatMap((invocation) => invocation.effects);
  for (const effect of ["set block/3", "clear block/3", "send archive-tally/main/put"])
    assert.ok(
      effects.some((one) => one.startsWith(effect)),
      effect,
    );
  await intact(world, 44);
});

test("what a turn leaves follows from its message: nothing depends on when it runs", async () => {
  const play = async (delayMs: number): Promise<unknown> => {
    const world = new World({ kinds: [tallyKind("tally"), tallyKind("other")] });
    const message = {
      id: "one",
      to: ID,
      action: "send",
      args: { to: "other/one", action: "note", with: { text: "hello" }, start: null, replyAs: "answered" },
      at: world.now,
      seed: "0".repeat(32),
      start: null,
    };
    world.now += delayMs;
    await world.ask(world.names.actor(ID, "turn"), { message });
    await world.settle();
    return world.storedKeys("actor-");
  };
  assert.deepEqual(await play(12_345), await play(0));
});
