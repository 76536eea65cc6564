import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bytesOf } from "./scripted-stage.fixture.ts";
import { ada, faceFixture, assertText } from "./theater-face.fixture.ts";

const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), value);

describe("the prompts", () => {
  test("diagnose_actor embeds an actor's details, state and last events #theater.face.prompts", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const played = fixture.stage.actors.get(id);
    assert.ok(played);
    played.state = bytesOf('{"count":1}');
    for (let n = 0; n < 30; n += 1) fixture.stage.addEvent(id, "StateChanged", n);
    fixture.stage.pause(id, "it trapped");
    const reply = await fixture.act("prompts/diagnose_actor", { actor_id: "counter" });
    assert.match(
      assertText(at(reply, "ok", "messages", 0, "content", "text")),
      new RegExp(`^Diagnose the Theater actor counter \\(${id}\\)`),
    );
    const embedded = [1, 2, 3].map((n) => at(reply, "ok", "messages", n, "content", "resource"));
    assert.deepEqual(
      embedded.map((resource) => at(resource, "uri")),
      [`theater://actor/${id}`, `theater://actor/${id}/state`, `theater://events/${id}`],
    );
    const [details, state, events] = embedded.map((resource): unknown => JSON.parse(assertText(at(resource, "text"))));
    assert.equal(at(details, "status"), "PAUSED");
    assert.deepEqual(state, { count: 1 });
    assert.equal(at(events, "length"), 20);
    assert.equal(at(events, 19, "data"), 29);
  });

  test("explain_events embeds as many events as requested #theater.face.prompts", async () => {
    await using fixture = faceFixture({ stateBytes: 4 });
    const id = fixture.stage.add("counter");
    const played = fixture.stage.actors.get(id);
    assert.ok(played);
    played.state = bytesOf('"a long state"');
    for (let n = 0; n < 30; n += 1) fixture.stage.addEvent(id, "StateChanged", n);
    const reply = await fixture.act("prompts/explain_events", { actor_id: id, count: "3" });
    const events: unknown = JSON.parse(assertText(at(reply, "ok", "messages", 3, "content", "resource", "text")));
    assert.equal(at(events, "length"), 3);
    assert.equal(at(reply, "ok", "messages", 2, "content", "resource", "text"), '{"_state":"long","bytes":14}');
  });

  test("an unknown actor and an invalid count are invalid arguments", async () => {
    await using fixture = faceFixture();
    fixture.stage.add("counter");
    const unknown = await fixture.act("prompts/explain_events", { actor_id: "nobody" });
    assert.deepEqual(unknown, { refused: { code: "INVALID", message: "ActorNotFound: there is no actor nobody." } });
    for (const count of ["0", "101", "many", "-1", "1e1"])
      assert.deepEqual(await fixture.act("prompts/explain_events", { actor_id: "counter", count }), {
        refused: { code: "INVALID", message: "`count` is a whole number from 1 to 100." },
      });
    fixture.stage.fail("events", "CommunicationError", "gone");
    assert.deepEqual(await fixture.act("prompts/diagnose_actor", { actor_id: "counter" }), {
      refused: { code: "CommunicationError", message: "CommunicationError: gone." },
    });
  });
});

describe("an actor_id", () => {
  test("is completed from ids and names, and from the id if the name is ambiguous #theater.face.completion", async () => {
    await using fixture = faceFixture();
    const one = fixture.stage.add("counter");
    const two = fixture.stage.add("Chat");
    const three = fixture.stage.add("chat-2");
    fixture.stage.add("counter");
    const complete = (value: string): Promise<readonly string[]> | undefined =>
      fixture.face.complete?.(ada, "resources/actor", "actor_id", value, {});
    assert.deepEqual(await complete("ch"), ["Chat", "chat-2"]);
    assert.deepEqual(await complete("cou"), [one, "00000000-0000-4000-8000-000000000004"]);
    assert.deepEqual(await complete(""), [one, two, three, "00000000-0000-4000-8000-000000000004"]);
    assert.deepEqual(await complete(two), [two]);
    assert.deepEqual(await complete("zzz"), []);
    fixture.stage.add("counter", { given: "mine" });
    fixture.stage.add("other", { given: "Chat" });
    assert.deepEqual(await complete("mi"), ["mine"]);
    assert.deepEqual(await complete("cha"), ["Chat", two, "chat-2"]);
    assert.deepEqual(await fixture.face.complete?.(ada, "resources/event", "event_id", "", {}), []);
    fixture.stage.fail("list", "CommunicationError", "gone");
    assert.deepEqual(await complete("c"), []);
  });
});
