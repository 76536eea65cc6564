// What must not compile stands under `@ts-expect-error`: the type checker fails when one of these begins to compile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actorCapability } from "troupe/packet";
import { packetTest } from "troupe/packet-testing";

void test("a state has the type its capability gave it", async () => {
  const counter = actorCapability("counter", {
    intent: "Counts",
    initialState: { count: 0 },
    messages: {
      up: {
        run({ state }) {
          state.count += 1;
        },
      },
    },
  });
  await using on = await packetTest({ capabilities: [counter] });
  const one = await on.startTestActor(counter);
  await on.sendActorMessage(one, {});
  const count: number = (await on.getActorState(one)).count;
  assert.equal(count, 1);
  // @ts-expect-error there is no such field
  await assert.rejects(on.assertActorStateContains(one, "total"));
  // @ts-expect-error it is a number
  await assert.rejects(on.assertActorStateContains(one, { count: "1" }));
  const byId = await on.startTestActor("counter");
  const state: unknown = await on.getActorState(byId);
  assert.deepEqual(state, { count: 0 });
});
