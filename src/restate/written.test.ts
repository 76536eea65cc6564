import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Json } from "../contract/index.ts";
import { tallyKind } from "../testing/index.ts";
import { World } from "./world.fixture.ts";

const ID = "tally/main";
/** Events and replies an actor's own key has at most, and how long either may be. */
const MOST_OWN = 32;
const MOST_CHARACTERS = 16_384;

const add = (world: World, args: Json = null, key?: string) =>
  world.call({ to: ID, action: "add", args, start: null }, key === undefined ? {} : { key });

describe("an actor's own key stays short", () => {
  test("events leave it once they are many", async () => {
    const world = new World({ kinds: [tallyKind("tally")] });
    for (let n = 1; n <= 100; n += 1) {
      await add(world);
      const { own = 0, seq = 0 } = world.own(ID) ?? {};
      assert.ok(own >= 1 && own <= MOST_OWN, `${own} of ${seq}`);
      assert.equal((await world.chain(ID)).length, n, "none is missing, none is there twice");
    }
  });

  test("events leave it once they are long", async () => {
    const world = new World({ kinds: [tallyKind("tally")] });
    for (let n = 1; n <= 20; n += 1) {
      await add(world, { by: 1, pad: "x".repeat(6_000) });
      const { own = 0, lines = "" } = world.own(ID) ?? {};
      // What is over the bound leaves with the next turn, so one more may be there.
      assert.ok(lines.length < MOST_CHARACTERS + 7_000, `${own} events of ${lines.length} characters`);
    }
    assert.equal((await world.chain(ID)).length, 20);
  });

  test("C4 replies leave it for the archive, and those that are over are forgotten", async () => {
    const world = new World({ kinds: [tallyKind("tally")] });
    for (let n = 0; n < 60; n += 1) {
      await add(world, { by: 1 }, `key ${n}`);
      assert.ok((world.own(ID)?.replies.length ?? 0) <= MOST_OWN);
    }
    assert.equal(world.own(ID)?.archived, true);
    // 60 s is how long this world keeps them.
    await world.pass(60_001);
    await add(world);
    assert.deepEqual(world.own(ID)?.replies, []);
    await add(world, { by: 1 }, "key 0");
    assert.equal(Object(world.state(ID))["n"], 62, "a key that is over is another call's");
  });
});

test("another life goes on with the chain, and has its own events alone in its own key", async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  for (let n = 0; n < 5; n += 1) await add(world);
  await world.call({ to: ID, action: "stop", args: { reason: "over" } });
  await add(world);
  assert.equal(world.own(ID)?.own, 1);
  const chain = await world.chain(ID);
  assert.equal(chain.length, 7);
  assert.equal(new Set(chain.map(({ header }) => JSON.parse(header).life)).size, 2);
});

test("what a turn leaves follows from its message: nothing in it hangs on when it is run", async () => {
  const play = async (lateMs: number): Promise<unknown> => {
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
    world.now += lateMs;
    await world.ask(world.names.actor(ID, "turn"), { message });
    await world.settle();
    return world.kept("actor-");
  };
  assert.deepEqual(await play(12_345), await play(0));
});
