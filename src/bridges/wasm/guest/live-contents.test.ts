import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "../../../core/store/index.ts";
import { FaultyStore, SimulatedClock } from "../../../testing/index.ts";
import { RecentContents } from "./live-contents.ts";
import { bytesOf, guestMessage, type Script, stage, decoded } from "./stage.fixture.ts";

const echo: Script = {
  "actor.init": async ({ state }) => ({ state: state ?? "" }),
  "message-server-client.handle-send": async (_, [data]) => ({ state: decoded(data) }),
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(state ?? "") }),
};

test("contents that guests start from are recent for a time, and above the maximum the oldest are dropped", async () => {
  const clock = new SimulatedClock();
  const young = new RecentContents(clock, 1_000, 3);
  young.add("one");
  await clock.advance(600);
  young.add("two");
  await clock.advance(600);
  assert.deepEqual(young.all(), ["two"]);
  for (const digest of ["three", "two", "four", "five"]) young.add(digest);
  assert.deepEqual(young.all(), ["two", "four", "five"]);
});

test("contents of a call are recent until its turn commits, its actor's next call starts, or they expire", async () => {
  const clock = new SimulatedClock();
  const young = new RecentContents(clock, 1_000);
  const [mine, other] = [young.startCall("guest/mine", 5), young.startCall("guest/other", 2)];
  for (const digest of ["one", "both", "one"]) mine(digest);
  other("both");
  assert.deepEqual(young.all(), ["one", "both"]);
  young.onCommitted("guest/mine", 4);
  assert.deepEqual(young.all(), ["one", "both"]);
  young.onCommitted("guest/mine", 5);
  assert.deepEqual(young.all(), ["both"]);
  const again = young.startCall("guest/other", 2);
  other("late");
  again("two");
  assert.deepEqual(young.all(), ["two"]);
  await clock.advance(1_001);
  assert.deepEqual(young.all(), []);
});

test("a collection spares contents of a turn that is being committed, and removes those it replaced", async () => {
  let collecting: (() => Promise<unknown>) | undefined;
  const store = new (class extends FaultyStore {
    override async commit(...given: Parameters<FaultyStore["commit"]>): Promise<void> {
      await collecting?.();
      return super.commit(...given);
    }
  })(memoryStore(), () => "pass");
  await using on = await stage({ echo }, { store });
  const id = await on.start("echo", {}, "first");
  collecting = () => on.contents.collect(on.guests.live());
  await on.engine.call(guestMessage(id, "send", "second"));
  const { state: second } = await on.state(id);
  await on.engine.call(guestMessage(id, "send", "third"));
  collecting = undefined;
  assert.equal(await on.own(id), "third");
  assert.deepEqual(await on.contents.collect(on.guests.live()), { kept: 4, dropped: 1, bytes: 6 });
  assert.equal(await on.contents.has(second ?? ""), false);
  const { state: third } = await on.state(id);
  await on.engine.stop(id, "enough");
  await on.contents.collect(on.guests.live());
  assert.equal(await on.contents.has(third ?? ""), false, "nor is it young once its event is there");
});
