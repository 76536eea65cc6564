import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, OfferRef } from "../../../core/contract/index.ts";
import { settle } from "../../../testing/index.ts";
import { bytesOf, uuid } from "./scripted-stage.fixture.ts";
import { ada, faced, type Faced } from "./theater-face.fixture.ts";

// What a subscriber of each resource is told, and what not.

interface Ear {
  /** How often it was told since last asked. */
  heard(): number;
  readonly undo: () => void;
}

const listen = (made: Faced, ref: OfferRef, args: JsonObject): Ear => {
  let count = 0;
  const undo = made.face.watch(
    ada,
    (of) => {
      assert.equal(of, ref);
      count += 1;
    },
    { ref, args },
  );
  return {
    undo,
    heard() {
      const since = count;
      count = 0;
      return since;
    },
  };
};

describe("subscribed to an actor", () => {
  test("C8 details, state and events notify of that actor's changes only #theater.face.subscriptions", async () => {
    await using made = faced();
    const one = made.stage.add("one");
    const two = made.stage.add("two");
    const ears = [
      listen(made, "resources/actor", { actor_id: one }),
      listen(made, "resources/state", { actor_id: one }),
      listen(made, "resources/events", { actor_id: one }),
      listen(made, "resources/actor", { actor_id: "one" }),
      listen(made, `resources/actor/${one}`, {}),
    ];
    await settle();
    await made.call("send_message", { actor_id: two, data: "" });
    assert.deepEqual(
      ears.map((ear) => ear.heard()),
      [0, 0, 0, 0, 0],
    );
    await made.call("send_message", { actor_id: one, data: "" });
    assert.deepEqual(
      ears.map((ear) => ear.heard()),
      [1, 1, 1, 1, 1],
    );
    await made.call("stop_actor", { actor_id: one });
    assert.deepEqual(
      ears.map((ear) => ear.heard()),
      [1, 1, 1, 1, 1],
    );
    for (const ear of ears) ear.undo();
    assert.equal(made.stage.watched, 0);
  });

  test("C8 a state notifies only if it differs", async () => {
    await using made = faced();
    const one = made.stage.add("one");
    const ears = [one, "one"].map((actor_id) => listen(made, "resources/state", { actor_id }));
    await settle();
    const heard = async (): Promise<readonly number[]> => {
      await settle();
      return ears.map((ear) => ear.heard());
    };
    const data = (text: string): string => Buffer.from(text).toString("base64");
    await made.call("send_message", { actor_id: one, data: data("a") });
    assert.deepEqual(await heard(), [1, 1]);
    await made.call("send_message", { actor_id: one, data: data("a") });
    await made.call("request_message", { actor_id: one, data: data("b") });
    await made.call("restart_actor", { actor_id: one });
    assert.deepEqual(await heard(), [0, 0]);
    await made.call("send_message", { actor_id: one, data: data("b") });
    assert.deepEqual(await heard(), [1, 1]);
    await made.call("stop_actor", { actor_id: one });
    assert.deepEqual(await heard(), [1, 1]);
  });

  test("C8 a state notifies of two quick changes, even if the second reverts the first", async () => {
    await using made = faced();
    const one = made.stage.add("one");
    const ear = listen(made, "resources/state", { actor_id: one });
    await settle();
    await made.stage.send(one, bytesOf("a"));
    await settle();
    ear.heard();
    void made.stage.send(one, bytesOf("b"));
    void made.stage.send(one, bytesOf("a"));
    await settle();
    assert.ok(ear.heard() >= 1);
    made.stage.happen(one, "Nothing", null);
    await settle();
    assert.equal(ear.heard(), 0);
  });

  test("a name follows the next actor that has it #theater.mapping", async () => {
    await using made = faced();
    const first = made.stage.add("counter");
    const ear = listen(made, "resources/state", { actor_id: "counter" });
    await settle();
    await made.call("stop_actor", { actor_id: first });
    assert.equal(ear.heard(), 1);
    await made.call("start_actor", { manifest: "m", name: "other" });
    await settle();
    assert.equal(ear.heard(), 0);
    const { actor_id } = await made.call("start_actor", { manifest: "m", name: "counter" });
    await settle();
    assert.equal(ear.heard(), 1);
    await made.call("send_message", { actor_id: actor_id ?? "", data: "" });
    assert.equal(ear.heard(), 1);
  });

  test("a change while the name is being resolved is reported", async () => {
    await using made = faced();
    const id = made.stage.add("counter");
    const ear = listen(made, "resources/state", { actor_id: "counter" });
    made.stage.happen(id, "StateChanged", 1);
    await settle();
    assert.equal(ear.heard(), 1);
  });

  test("events before a given event never notify", async () => {
    await using made = faced();
    const id = made.stage.add("counter");
    const ear = listen(made, "resources/earlier", { actor_id: id, before: "x" });
    made.stage.happen(id, "StateChanged", 1);
    assert.equal(ear.heard(), 0);
    assert.equal(made.stage.watched, 0);
  });
});

describe("subscribed to theater://actors", () => {
  test("notifies of starts and ends at once, and of status changes soon #theater.face.subscriptions", async () => {
    await using made = faced();
    const id = made.stage.add("counter");
    const ear = listen(made, "resources/actors", {});
    await settle();
    await made.call("start_actor", { manifest: "m" });
    assert.equal(ear.heard(), 1);
    await made.clock.advance(1_000);
    ear.heard();
    made.stage.happen(id, "StateChanged", 1);
    await made.clock.advance(1_000);
    assert.equal(ear.heard(), 0);
    made.stage.pause(id, "it trapped");
    await made.clock.advance(1_000);
    assert.equal(ear.heard(), 1);
    await made.call("stop_actor", { actor_id: id });
    assert.ok(ear.heard() >= 1);
    ear.undo();
    assert.equal(made.stage.watched, 0);
    assert.equal(made.clock.pending, 0);
  });

  test("C8 a thousand changes cost a bounded number of polls", async () => {
    await using made = faced();
    const id = made.stage.add("counter");
    const ear = listen(made, "resources/actors", {});
    await settle();
    const before = made.stage.lists;
    for (let n = 0; n < 1_000; n += 1) made.stage.happen(id, "StateChanged", n);
    await made.clock.advance(1_000);
    assert.equal(made.stage.lists - before, 1);
    assert.equal(ear.heard(), 0);
  });
});

describe("subscribed to an event", () => {
  test("notifies of new children in any chain #theater.face.subscriptions", async () => {
    await using made = faced();
    const one = made.stage.add("one");
    const two = made.stage.add("two");
    const event = made.stage.happen(one, "StateChanged", 1);
    const ear = listen(made, "resources/event", { event_id: event.id });
    await settle();
    made.stage.happen(two, "StateChanged", bytesOf("unrelated"));
    await made.clock.advance(250);
    assert.equal(ear.heard(), 0);
    made.stage.happen(one, "StateChanged", 2);
    await made.clock.advance(250);
    assert.equal(ear.heard(), 1);
    made.stage.happen(one, "StateChanged", 3);
    await made.clock.advance(250);
    assert.equal(ear.heard(), 0);
  });

  test("a change before the first poll is reported", async () => {
    await using made = faced();
    const one = made.stage.add("one");
    const event = made.stage.happen(one, "StateChanged", 1);
    const ear = listen(made, "resources/event", { event_id: event.id });
    made.stage.happen(one, "StateChanged", 2);
    await settle();
    assert.equal(ear.heard(), 1);
  });
});

describe("the list of resources", () => {
  test("notifies of starts and ends only #theater.list-changed", async () => {
    await using made = faced();
    const id = made.stage.add("counter");
    let told = 0;
    const undo = made.face.watch(ada, (ref) => {
      assert.equal(ref, undefined);
      told += 1;
    });
    const before = await made.face.surface(ada);
    made.stage.happen(id, "StateChanged", 1);
    assert.equal(told, 0);
    assert.equal(await made.face.surface(ada), before, "the same list is the same object");
    await made.call("start_actor", { manifest: "m" });
    assert.ok(told >= 1);
    assert.equal((await made.face.surface(ada)).catalogue.resources.length, before.catalogue.resources.length + 1);
    told = 0;
    await made.call("stop_actor", { actor_id: id });
    assert.ok(told >= 1);
    assert.equal((await made.face.surface(ada)).catalogue.resources.length, before.catalogue.resources.length);
    undo();
    assert.equal(made.stage.watched, 0);
  });

  test("is read again after a delay if it is full, and at once if a listed actor ended", async () => {
    await using made = faced({ listed: 2 });
    const first = made.stage.add("a");
    made.stage.add("b");
    let told = 0;
    const undo = made.face.watch(ada, () => (told += 1));
    await made.face.surface(ada);
    const before = made.stage.lists;
    const asked = async (): Promise<readonly number[]> => {
      await made.face.surface(ada);
      return [told, made.stage.lists - before];
    };
    for (let n = 0; n < 100; n += 1) made.stage.tell({ actor: made.stage.add(`more ${n}`), what: "began" });
    made.stage.tell({ actor: uuid(50), what: "ended" });
    assert.deepEqual(await asked(), [0, 0]);
    await made.clock.advance(1_000);
    assert.deepEqual(await asked(), [1, 1]);
    await made.call("stop_actor", { actor_id: first });
    assert.deepEqual(await asked(), [told, 2]);
    assert.ok(told > 1);
    made.stage.tell({ actor: uuid(99), what: "began" });
    undo();
    assert.equal(made.clock.pending, 0);
  });

  test("is read again on each request while there is no watcher", async () => {
    await using made = faced();
    const first = await made.face.surface(ada);
    made.stage.add("quiet");
    assert.equal((await made.face.surface(ada)).catalogue.resources.length, first.catalogue.resources.length + 1);
  });

  test("is not outdated by an answer that was requested before a change", async () => {
    await using made = faced();
    made.face.watch(ada, () => undefined);
    const list = made.stage.list.bind(made.stage);
    const held = Promise.withResolvers<void>();
    made.stage.list = async (limit) => {
      const actors = await list(limit);
      await held.promise;
      return actors;
    };
    const old = made.face.surface(ada);
    await settle();
    made.stage.list = list;
    const id = made.stage.add("late");
    made.stage.tell({ actor: id, what: "began" });
    const newest = await made.face.surface(ada);
    held.resolve();
    await old;
    assert.equal(newest.catalogue.resources.at(-1)?.name, `actor/${id}`);
    assert.equal(await made.face.surface(ada), newest);
  });

  test("stays unchanged while the stage is unreachable, as do the tools", async () => {
    await using made = faced();
    made.stage.add("counter");
    const before = await made.face.surface(ada);
    made.stage.fail("list", "CommunicationError", "gone");
    assert.equal(await made.face.surface(ada), before);
    made.stage.failing.clear();
    made.stage.add("more");
    assert.notEqual(await made.face.surface(ada), before);
  });
});
