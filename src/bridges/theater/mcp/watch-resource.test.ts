import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, OfferRef } from "../../../core/contract/index.ts";
import { settle } from "../../../testing/index.ts";
import { bytesOf, uuid } from "./scripted-stage.fixture.ts";
import { ada, faceFixture, type FaceFixture } from "./theater-face.fixture.ts";

interface Subscriber {
  /** How often it was notified since the last call. */
  notifications(): number;
  readonly undo: () => void;
}

const subscribe = (fixture: FaceFixture, ref: OfferRef, args: JsonObject): Subscriber => {
  let count = 0;
  const undo = fixture.face.watch(
    ada,
    (of) => {
      assert.equal(of, ref);
      count += 1;
    },
    { ref, args },
  );
  return {
    undo,
    notifications() {
      const since = count;
      count = 0;
      return since;
    },
  };
};

describe("subscribed to an actor", () => {
  test("C8 details, state and events notify of that actor's changes only #theater.face.subscriptions", async () => {
    await using fixture = faceFixture();
    const one = fixture.stage.add("one");
    const two = fixture.stage.add("two");
    const subscribers = [
      subscribe(fixture, "resources/actor", { actor_id: one }),
      subscribe(fixture, "resources/state", { actor_id: one }),
      subscribe(fixture, "resources/events", { actor_id: one }),
      subscribe(fixture, "resources/actor", { actor_id: "one" }),
      subscribe(fixture, `resources/actor/${one}`, {}),
    ];
    await settle();
    await fixture.call("send_message", { actor_id: two, data: "" });
    assert.deepEqual(
      subscribers.map((subscriber) => subscriber.notifications()),
      [0, 0, 0, 0, 0],
    );
    await fixture.call("send_message", { actor_id: one, data: "" });
    assert.deepEqual(
      subscribers.map((subscriber) => subscriber.notifications()),
      [1, 1, 1, 1, 1],
    );
    await fixture.call("stop_actor", { actor_id: one });
    assert.deepEqual(
      subscribers.map((subscriber) => subscriber.notifications()),
      [1, 1, 1, 1, 1],
    );
    for (const subscriber of subscribers) subscriber.undo();
    assert.equal(fixture.stage.watched, 0);
  });

  test("C8 a state notifies only if it differs", async () => {
    await using fixture = faceFixture();
    const one = fixture.stage.add("one");
    const subscribers = [one, "one"].map((actor_id) => subscribe(fixture, "resources/state", { actor_id }));
    await settle();
    const notifications = async (): Promise<readonly number[]> => {
      await settle();
      return subscribers.map((subscriber) => subscriber.notifications());
    };
    const data = (text: string): string => Buffer.from(text).toString("base64");
    await fixture.call("send_message", { actor_id: one, data: data("a") });
    assert.deepEqual(await notifications(), [1, 1]);
    await fixture.call("send_message", { actor_id: one, data: data("a") });
    await fixture.call("request_message", { actor_id: one, data: data("b") });
    await fixture.call("restart_actor", { actor_id: one });
    assert.deepEqual(await notifications(), [0, 0]);
    await fixture.call("send_message", { actor_id: one, data: data("b") });
    assert.deepEqual(await notifications(), [1, 1]);
    await fixture.call("stop_actor", { actor_id: one });
    assert.deepEqual(await notifications(), [1, 1]);
  });

  test("C8 a state notifies of two quick changes, even if the second reverts the first", async () => {
    await using fixture = faceFixture();
    const one = fixture.stage.add("one");
    const subscriber = subscribe(fixture, "resources/state", { actor_id: one });
    await settle();
    await fixture.stage.send(one, bytesOf("a"));
    await settle();
    subscriber.notifications();
    void fixture.stage.send(one, bytesOf("b"));
    void fixture.stage.send(one, bytesOf("a"));
    await settle();
    assert.ok(subscriber.notifications() >= 1);
    fixture.stage.addEvent(one, "Nothing", null);
    await settle();
    assert.equal(subscriber.notifications(), 0);
  });

  test("a name follows the next actor that has it #theater.mapping", async () => {
    await using fixture = faceFixture();
    const first = fixture.stage.add("counter");
    const subscriber = subscribe(fixture, "resources/state", { actor_id: "counter" });
    await settle();
    await fixture.call("stop_actor", { actor_id: first });
    assert.equal(subscriber.notifications(), 1);
    await fixture.call("start_actor", { manifest: "m", name: "other" });
    await settle();
    assert.equal(subscriber.notifications(), 0);
    const { actor_id } = await fixture.call("start_actor", { manifest: "m", name: "counter" });
    await settle();
    assert.equal(subscriber.notifications(), 1);
    await fixture.call("send_message", { actor_id: actor_id ?? "", data: "" });
    assert.equal(subscriber.notifications(), 1);
  });

  test("an actor is prioritized under its id and name, for as long as that lasts", async () => {
    await using fixture = faceFixture();
    const first = fixture.stage.add("counter");
    const subscribers = [
      subscribe(fixture, "resources/events", { actor_id: first }),
      subscribe(fixture, "resources/state", { actor_id: "counter" }),
      subscribe(fixture, "resources/actors", {}),
    ];
    await settle();
    assert.deepEqual(fixture.stage.prioritized, [first, first]);
    await fixture.call("stop_actor", { actor_id: first });
    const { actor_id: second } = await fixture.call("start_actor", { manifest: "m", name: "counter" });
    await settle();
    assert.deepEqual(fixture.stage.prioritized, [first, second]);
    for (const { undo } of subscribers) undo();
    assert.deepEqual(fixture.stage.prioritized, []);
    subscribe(fixture, "resources/state", { actor_id: "counter" }).undo();
    await settle();
    assert.deepEqual(fixture.stage.prioritized, []);
  });

  test("a change while the name is being resolved is reported", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const subscriber = subscribe(fixture, "resources/state", { actor_id: "counter" });
    fixture.stage.addEvent(id, "StateChanged", 1);
    await settle();
    assert.equal(subscriber.notifications(), 1);
  });

  test("events before a given event never notify", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const subscriber = subscribe(fixture, "resources/earlier", { actor_id: id, before: "x" });
    fixture.stage.addEvent(id, "StateChanged", 1);
    assert.equal(subscriber.notifications(), 0);
    assert.equal(fixture.stage.watched, 0);
  });
});

describe("subscribed to theater://actors", () => {
  test("notifies of starts and ends at once, and of status changes soon #theater.face.subscriptions", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const subscriber = subscribe(fixture, "resources/actors", {});
    await settle();
    await fixture.call("start_actor", { manifest: "m" });
    assert.equal(subscriber.notifications(), 1);
    await fixture.clock.advance(1_000);
    subscriber.notifications();
    fixture.stage.addEvent(id, "StateChanged", 1);
    await fixture.clock.advance(1_000);
    assert.equal(subscriber.notifications(), 0);
    fixture.stage.pause(id, "it trapped");
    await fixture.clock.advance(1_000);
    assert.equal(subscriber.notifications(), 1);
    await fixture.call("stop_actor", { actor_id: id });
    assert.ok(subscriber.notifications() >= 1);
    subscriber.undo();
    assert.equal(fixture.stage.watched, 0);
    assert.equal(fixture.clock.pending, 0);
  });

  test("C8 a start and an end notify once each, also when the list is polled afterwards", async () => {
    await using fixture = faceFixture();
    fixture.stage.add("counter");
    const subscriber = subscribe(fixture, "resources/actors", {});
    await settle();
    const { id } = await fixture.stage.start({ manifest: "m" });
    await fixture.clock.advance(1_000);
    assert.equal(subscriber.notifications(), 1);
    fixture.stage.pause(id, "it trapped");
    await fixture.clock.advance(1_000);
    assert.equal(subscriber.notifications(), 1);
    await fixture.call("stop_actor", { actor_id: id });
    await fixture.clock.advance(1_000);
    assert.equal(subscriber.notifications(), 1);
  });

  test("C8 a thousand changes cost a bounded number of polls", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const subscriber = subscribe(fixture, "resources/actors", {});
    await settle();
    const before = fixture.stage.listCalls;
    for (let n = 0; n < 1_000; n += 1) fixture.stage.addEvent(id, "StateChanged", n);
    await fixture.clock.advance(1_000);
    assert.equal(fixture.stage.listCalls - before, 1);
    assert.equal(subscriber.notifications(), 0);
  });
});

describe("subscribed to an event", () => {
  test("notifies of new children in any chain #theater.face.subscriptions", async () => {
    await using fixture = faceFixture();
    const one = fixture.stage.add("one");
    const two = fixture.stage.add("two");
    const event = fixture.stage.addEvent(one, "StateChanged", 1);
    const subscriber = subscribe(fixture, "resources/event", { event_id: event.id });
    await settle();
    fixture.stage.addEvent(two, "StateChanged", bytesOf("unrelated"));
    await fixture.clock.advance(250);
    assert.equal(subscriber.notifications(), 0);
    fixture.stage.addEvent(one, "StateChanged", 2);
    await fixture.clock.advance(250);
    assert.equal(subscriber.notifications(), 1);
    fixture.stage.addEvent(one, "StateChanged", 3);
    await fixture.clock.advance(250);
    assert.equal(subscriber.notifications(), 0);
  });

  test("a change before the first poll is reported", async () => {
    await using fixture = faceFixture();
    const one = fixture.stage.add("one");
    const event = fixture.stage.addEvent(one, "StateChanged", 1);
    const subscriber = subscribe(fixture, "resources/event", { event_id: event.id });
    fixture.stage.addEvent(one, "StateChanged", 2);
    await settle();
    assert.equal(subscriber.notifications(), 1);
  });
});

describe("the list of resources", () => {
  test("notifies of starts and ends only #theater.list-changed", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    let notified = 0;
    const undo = fixture.face.watch(ada, (ref) => {
      assert.equal(ref, undefined);
      notified += 1;
    });
    const before = await fixture.face.surface(ada);
    fixture.stage.addEvent(id, "StateChanged", 1);
    assert.equal(notified, 0);
    assert.equal(await fixture.face.surface(ada), before, "the same list is the same object");
    await fixture.call("start_actor", { manifest: "m" });
    assert.ok(notified >= 1);
    assert.equal((await fixture.face.surface(ada)).catalogue.resources.length, before.catalogue.resources.length + 1);
    notified = 0;
    await fixture.call("stop_actor", { actor_id: id });
    assert.ok(notified >= 1);
    assert.equal((await fixture.face.surface(ada)).catalogue.resources.length, before.catalogue.resources.length);
    undo();
    assert.equal(fixture.stage.watched, 0);
  });

  test("is read again after a delay if it is full, and at once if a listed actor ended", async () => {
    await using fixture = faceFixture({ listed: 2 });
    const first = fixture.stage.add("a");
    fixture.stage.add("b");
    let notified = 0;
    const undo = fixture.face.watch(ada, () => (notified += 1));
    await fixture.face.surface(ada);
    const before = fixture.stage.listCalls;
    const counts = async (): Promise<readonly number[]> => {
      await fixture.face.surface(ada);
      return [notified, fixture.stage.listCalls - before];
    };
    for (let n = 0; n < 100; n += 1) fixture.stage.notify({ actor: fixture.stage.add(`more ${n}`), what: "began" });
    fixture.stage.notify({ actor: uuid(50), what: "ended" });
    assert.deepEqual(await counts(), [0, 0]);
    await fixture.clock.advance(1_000);
    assert.deepEqual(await counts(), [1, 1]);
    await fixture.call("stop_actor", { actor_id: first });
    assert.deepEqual(await counts(), [notified, 2]);
    assert.ok(notified > 1);
    fixture.stage.notify({ actor: uuid(99), what: "began" });
    undo();
    assert.equal(fixture.clock.pending, 0);
  });

  test("is read again on each request while there is no watcher", async () => {
    await using fixture = faceFixture();
    const first = await fixture.face.surface(ada);
    fixture.stage.add("quiet");
    assert.equal((await fixture.face.surface(ada)).catalogue.resources.length, first.catalogue.resources.length + 1);
  });

  test("is not outdated by an answer that was requested before a change", async () => {
    await using fixture = faceFixture();
    fixture.face.watch(ada, () => undefined);
    const list = fixture.stage.list.bind(fixture.stage);
    const held = Promise.withResolvers<void>();
    fixture.stage.list = async (limit) => {
      const actors = await list(limit);
      await held.promise;
      return actors;
    };
    const old = fixture.face.surface(ada);
    await settle();
    fixture.stage.list = list;
    const id = fixture.stage.add("late");
    fixture.stage.notify({ actor: id, what: "began" });
    const newest = await fixture.face.surface(ada);
    held.resolve();
    await old;
    assert.equal(newest.catalogue.resources.at(-1)?.name, `actor/${id}`);
    assert.equal(await fixture.face.surface(ada), newest);
  });

  test("stays unchanged while the stage is unreachable, as do the tools", async () => {
    await using fixture = faceFixture();
    fixture.stage.add("counter");
    const before = await fixture.face.surface(ada);
    fixture.stage.fail("list", "CommunicationError", "gone");
    assert.equal(await fixture.face.surface(ada), before);
    fixture.stage.failing.clear();
    fixture.stage.add("more");
    assert.notEqual(await fixture.face.surface(ada), before);
  });
});
