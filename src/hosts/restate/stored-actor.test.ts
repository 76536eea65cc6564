import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tallyKind } from "../../testing/conformance/index.ts";
import type { DurableReader } from "./durable-context.ts";
import { fakeIngress } from "./fake-ingress.fixture.ts";
import { ACTOR_KEY } from "./stored-actor.ts";
import { guarded } from "./outcome.ts";
import { GuardedIngress } from "./ingress.ts";
import { readEvents } from "./actor-reads.ts";
import { cancelledEverywhere } from "./story.fixture.ts";
import { World } from "./world.fixture.ts";

const ID = "tally/main";
const PLACE = "actor-tally/main ";
type Keys = Readonly<Record<string, string>>;

const add = (world: World) => world.call({ to: ID, action: "add", args: null, start: null });

async function afterEvents(count: number): Promise<World> {
  const world = new World({ kinds: [tallyKind("tally")] });
  for (let n = 0; n < count; n += 1) await add(world);
  return world;
}

/** Reads the actor's own key of one time, and its other keys of another. */
const torn = (own: Keys, alongside: Keys): DurableReader => ({
  get: async (name) => (name === ACTOR_KEY ? own : alongside)[`${PLACE}${name}`],
});

describe("law 2: a reader that other turns overtake", () => {
  test("gets what its actor's own key refers to, or STORE_CONFLICT, never events of two times", async () => {
    const world = await afterEvents(0);
    const times: Keys[] = [];
    for (let n = 0; n < 50; n += 1) {
      if (n === 45) await world.stop(ID, "over");
      await add(world);
      times.push(world.storedKeys(PLACE));
    }
    const ends = { whole: 0, conflicts: 0 };
    for (const [n, own] of times.entries()) {
      const whole = await readEvents(torn(own, own), ID, 0);
      for (const alongside of times.slice(n + 1))
        try {
          assert.deepEqual(await readEvents(torn(own, alongside), ID, 0), whole);
          ends.whole += 1;
        } catch (error) {
          assert.equal(Object(error).code, "STORE_CONFLICT", String(error));
          ends.conflicts += 1;
        }
    }
    assert.ok(ends.whole > 300 && ends.conflicts > 300, JSON.stringify(ends));
  });

  test("retries without an idempotency key, which would repeat the answer", async () => {
    const world = await afterEvents(40);
    const before = world.storedKeys(PLACE);
    await add(world);
    const after = world.storedKeys(PLACE);
    const attempts = [torn(before, after), torn(before, after), torn(after, after)];
    await using server = await fakeIngress(async ({ nth, response }) => {
      const reader = attempts[nth - 1] ?? assert.fail("It was read once more.");
      response.end(JSON.stringify(await guarded(() => readEvents(reader, ID, 0))));
    });
    const answer = await new GuardedIngress({ ingress: server.base }).read({ ...world.names.actor(ID, "events"), input: 0 });
    assert.deepEqual(answer, await readEvents(torn(after, after), ID, 0));
    assert.equal(Object(answer).archived, 32);
    assert.deepEqual(
      server.requests.map(({ key }) => key),
      [undefined, undefined, undefined],
    );
  });
});

describe("C3 blocks that are not those of the actor", () => {
  const WRONG: Readonly<Record<string, (block: string, others: Keys) => string | undefined>> = {
    missing: () => undefined,
    empty: () => "",
    "another block": (_, others) => others[`${PLACE}block/0`],
    "of fewer events": (block) => block.replace(/^(\d+) 8\n/, "$1 7\n"),
    "of another beginning": (block) => `1${block}`,
    "no block": () => "something else\nthat no actor wrote",
  };
  for (const [what, wrong] of Object.entries(WRONG))
    for (const n of [2, 3])
      test(`${what}, at ${n}: the turn that needs them is a fault and sets nothing`, async () => {
        const world = await afterEvents(40);
        const whole = world.storedKeys(PLACE);
        const block = whole[`${PLACE}block/${n}`] ?? assert.fail("There is no such block.");
        world.damage(ID, `block/${n}`, wrong(block, whole));
        const before = world.storedKeys();
        const outcome = await add(world);
        assert.match("fault" in outcome ? outcome.fault.code : "none", /^STORE_CO/);
        assert.deepEqual(world.invoked.at(-1)?.effects, []);
        assert.deepEqual(world.storedKeys(), before);
        world.damage(ID, `block/${n}`, block);
        await add(world);
        assert.equal((await world.chain(ID)).length, 41);
      });
});

test("an actor stops although its stop is cancelled while its blocks are read", async () => {
  let stops = 0;
  await cancelledEverywhere(
    {
      kinds: [tallyKind("tally")],
      async play(world) {
        for (let n = 0; n < 40; n += 1) await add(world);
        return world.stop(ID, "over");
      },
    },
    ({ handler }) => handler === "stop",
    ({ cut, whole }) => {
      stops += 1;
      assert.deepEqual(cut.storedKeys(), whole.storedKeys());
      assert.equal(cut.row(ID)?.status, "stopped");
    },
  );
  // Its own key and each block, and then its children, started and not.
  assert.ok(stops >= 12);
});
