import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Behaviour, Json } from "../../core/contract/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { replyOf, cancelledEverywhere, type Story } from "./story.fixture.ts";
import type { World } from "./world.fixture.ts";

// Cancelled at every wait: either nothing was applied and the caller knows, or all of it was.

const TALLY = "tally/main";
const kinds: readonly Behaviour[] = [tallyKind("tally"), tallyKind("other")];

/** State of the actors, and messages in flight, without the directory. */
const actors = (world: World): Json => ({
  ...Object.fromEntries(Object.entries(world.storedKeys("actor-"))),
  delivered: [...world.delivered],
  timers: world.timers,
});

const call = async (world: World, action: string, args: Json = null, key?: string): Promise<Json> =>
  replyOf(await world.call({ to: TALLY, action, args, start: null }, key === undefined ? {} : { key }));

/** The last call of each is the one that is cancelled. */
const CALLS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  "a first turn": (world) => call(world, "add", { by: 2 }),
  "a first turn that is keyed and whose actor expires": (world) =>
    world.call({ to: TALLY, action: "add", args: null, start: null, policy: { expireMs: 1_000 } }, { key: "one" }),
  "a keyed turn": async (world) => {
    await call(world, "add");
    return call(world, "add", { by: 2 }, "one");
  },
  work: async (world) => {
    await call(world, "add");
    return call(world, "work", { by: 2 }, "one");
  },
  "work that calls another": async (world) => {
    await call(world, "add");
    return call(world, "call", { to: "other/heap", action: "get", start: null });
  },
  "a call with a deadline": async (world) => {
    await call(world, "add");
    return world.call({ to: TALLY, action: "add", args: null, deadline: world.now + 1_000 });
  },
  "a call answered by its key, out of the archive": async (world) => {
    for (let n = 0; n < 40; n += 1) await call(world, "add", null, `key ${n}`);
    return call(world, "add", null, "key 0");
  },
};

describe("C3 a cancelled call", () => {
  for (const [title, play] of Object.entries(CALLS))
    test(`${title}: nothing is applied and its caller knows, or all of it`, async () => {
      const ended: unknown[] = [];
      await cancelledEverywhere(
        { kinds, play },
        (_, nth, { length }) => nth === length - 1,
        ({ cut, whole, outcome, effects }) => {
          const { fault, reply } = Object(outcome);
          ended.push(fault?.code ?? "applied");
          if (fault === undefined) {
            assert.deepEqual(reply, Object(whole.invoked.at(-1)?.outcome)["reply"]);
            assert.deepEqual(actors(cut), actors(whole));
          } else {
            assert.equal(fault.code, "CANCELLED");
            assert.ok(!effects.some((effect) => /^(set actor|send (?!troupe-map)) /.test(effect)), "it is as it was");
            if (cut.row(TALLY) === undefined) assert.deepEqual(cut.storedKeys("troupe-map/kind/"), {}, "and not counted");
          }
          assert.ok(!Object.keys(cut.storedKeys("actor-")).some((name) => name.endsWith(" work")), "nothing says that work goes on");
        },
      );
      assert.ok(ended.includes("CANCELLED"));
    });
});

const withChildren = async (world: World): Promise<void> => {
  for (const to of ["other/one", "other/two"]) await call(world, "send", { to, action: "note", with: { text: "hello" }, start: null });
  await world.call({ to: "other/one", action: "send", args: { to: "tally/grandchild", action: "add", start: null } });
};

describe("what must complete does, despite cancellation", () => {
  test("law 2: a turn that stops its actor is not applied, or its children stop too", async () => {
    const story: Story = {
      kinds,
      async play(world) {
        await withChildren(world);
        return call(world, "stop", { reason: "over" });
      },
    };
    let stopped = 0;
    await cancelledEverywhere(
      story,
      ({ handler, effects }) => handler === "turn" && effects.some((effect) => effect.includes("its parent")),
      ({ cut, whole, outcome }) => {
        if ("fault" in Object(outcome)) return assert.equal(cut.row("other/one")?.status, "live");
        stopped += 1;
        return assert.deepEqual(actors(cut), actors(whole));
      },
    );
    assert.ok(stopped > 2);
  });

  test("a stop by the engine stops its actor and all its children, at whichever of them it is cancelled #cluster.values", async () => {
    const story: Story = {
      kinds,
      async play(world) {
        await withChildren(world);
        return world.stop(TALLY, "over");
      },
    };
    await cancelledEverywhere(
      story,
      ({ handler }) => handler === "stop",
      ({ cut, whole }) => {
        assert.deepEqual(actors(cut), actors(whole));
        assert.equal(cut.row("tally/grandchild")?.status, "stopped");
      },
    );
  });

  test("C5 a delivery is repeated", async () => {
    const story: Story = {
      kinds,
      async play(world) {
        await call(world, "send", { to: "other/one", action: "work", with: { by: 2 }, start: null, replyAs: "answered" });
        await world.pass(2_000);
      },
    };
    await cancelledEverywhere(
      story,
      ({ handler }) => handler === "deliver",
      async ({ cut, whole }) => {
        assert.deepEqual(cut.state("other/one"), whole.state("other/one"));
        assert.deepEqual(cut.state(TALLY), whole.state(TALLY));
        // Once cancelled, it releases the key and is sent once more; its effect happens once.
        assert.deepEqual((await cut.chain("other/one")).length, (await whole.chain("other/one")).length);
      },
    );
  });

  test("C5 a delivery that waits for a retry is retried, and ends as a dead letter #cluster.values", async () => {
    const story: Story = {
      kinds,
      async play(world) {
        await call(world, "send", { to: "other/one", action: "add", start: null });
        // Otherwise a cancelled delivery of the first message would let the second one find no actor.
        await world.pass(2_000);
        await call(world, "send", { to: "other/one", action: "throw", replyAs: "answered" });
        await world.pass(2_000);
      },
    };
    await cancelledEverywhere(
      story,
      ({ handler, waits }) => handler === "deliver" && waits > 4,
      ({ cut }) => {
        assert.match(JSON.stringify(cut.storedKeys("troupe-map/letters/")), /CRASHED/);
        assert.match(JSON.stringify(cut.state(TALLY)), /answered.*CRASHED/);
      },
    );
  });

  test("a timer fires again", async () => {
    for (const action of ["tick", "work", "add"]) {
      const story: Story = {
        kinds,
        async play(world) {
          await call(world, "wake", { name: "soon", at: world.now + 100, action });
          await world.pass(2_000);
        },
      };
      await cancelledEverywhere(
        story,
        ({ handler }) => handler === "ring",
        async ({ cut, whole }) => {
          assert.equal((await cut.chain(TALLY)).length, 2);
          assert.deepEqual(cut.row(TALLY)?.wakes, {});
          assert.equal(Object(cut.state(TALLY))["n"], Object(whole.state(TALLY))["n"]);
        },
      );
    }
  });

  test("an actor that may expire does", async () => {
    const story: Story = {
      kinds: [tallyKind("tally", { expireMs: 1_000 })],
      async play(world) {
        await call(world, "add");
        await world.pass(10_000);
      },
    };
    await cancelledEverywhere(
      story,
      ({ handler }) => handler === "expire",
      ({ cut }) => assert.equal(cut.row(TALLY)?.status, "stopped"),
    );
  });

  test("a restart completes", async () => {
    const story: Story = {
      kinds: [tallyKind("tally", { restart: { max: 0, withinMs: 1_000 } })],
      async play(world) {
        await call(world, "add");
        await call(world, "throw");
        assert.equal(Object(await call(world, "add"))["fault"], "ACTOR_FAILED");
        return world.ask(world.names.actor(TALLY, "restart"), {});
      },
    };
    await cancelledEverywhere(
      story,
      ({ handler }) => handler === "restart",
      async ({ cut }) => assert.deepEqual(await call(cut, "add"), { ok: 2 }),
    );
  });
});
