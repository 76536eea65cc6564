import assert from "node:assert/strict";
import { test } from "node:test";
import { errorOf, world } from "./core.fixture.ts";
import { actorCapability } from "./define-actor.ts";

// As a module is served: without its types.
const made = (messages: object): ReturnType<typeof actorCapability> =>
  Reflect.apply(actorCapability, undefined, ["odd", { intent: "Gives odd things", initialState: { n: 0 }, messages }]);

const run = (give: () => unknown) => ({
  run({ state }: { readonly state: { n: number } }) {
    state.n += 1;
    return give();
  },
});
const odd: readonly (() => unknown)[] = [() => 10n, () => () => 1, () => Symbol("s")];

void test("a turn that gives what no reply can hold is a crash, and changes nothing", async () => {
  for (const give of odd) {
    await using on = await world([
      made({ look: { match: { look: true }, view: ({ state }: { readonly state: object }) => state }, go: run(give) }),
    ]);
    assert.equal(errorOf(await on.say("odd", "a", {}))?.type, "actor_crash");
    assert.deepEqual((await on.say("odd", "a", { look: true })).payload, { n: 0 });
    assert.match(String(on.faults[0]), /gave a (bigint|function|symbol)/);
  }
});

void test("a view that gives a promise, or what no reply can hold, failed inside, and that is told", async () => {
  for (const give of [...odd, async () => ({ n: 1 }), () => Promise.reject(new Error("late"))]) {
    await using on = await world([made({ look: { view: give } })]);
    assert.equal(errorOf(await on.say("odd", "a", {}))?.type, "execution_failed");
    assert.match(on.faults.map(String).join(), /messages\.look.*gave a/);
    assert.equal(on.faults.length, 1);
  }
});
