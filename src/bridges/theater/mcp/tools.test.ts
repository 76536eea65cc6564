import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Cancellation, EngineError } from "../../../core/contract/index.ts";
import { settle } from "../../../testing/index.ts";
import { base64, bytesOf } from "./scripted-stage.fixture.ts";
import { ada, faceFixture, assertText } from "./theater-face.fixture.ts";

// The tools of the specification of Theater's MCP server, and those for hosts that read no resources.

const SPECIFIED = {
  start_actor: [
    "Start a new actor from a manifest",
    ["manifest"],
    { manifest: "Path to the actor manifest or manifest content", initial_state: "Optional initial state for the actor" },
  ],
  stop_actor: ["Stop a running actor", ["actor_id"], { actor_id: "ID of the actor to stop" }],
  restart_actor: ["Restart a running actor", ["actor_id"], { actor_id: "ID of the actor to restart" }],
  send_message: [
    "Send a message to an actor",
    ["actor_id", "data"],
    { actor_id: "ID of the actor to send the message to", data: "Message data (base64 encoded)" },
  ],
  request_message: [
    "Send a request to an actor and receive a response",
    ["actor_id", "data"],
    { actor_id: "ID of the actor to send the request to", data: "Request data (base64 encoded)" },
  ],
  open_channel: [
    "Open a communication channel to an actor",
    ["actor_id"],
    { actor_id: "ID of the actor to open a channel with", initial_message: "Initial message data (base64 encoded)" },
  ],
  send_on_channel: [
    "Send a message on an open channel",
    ["channel_id", "message"],
    { channel_id: "ID of the channel", message: "Message data (base64 encoded)" },
  ],
  close_channel: ["Close an open channel", ["channel_id"], { channel_id: "ID of the channel to close" }],
} as const;

const MORE = ["list_actors", "get_actor", "get_events", "wait_for_event", "receive_on_channel"];

describe("the tools", () => {
  test("have the specified names, descriptions and input schemas #theater.tools.schemas", async () => {
    await using fixture = faceFixture();
    const { catalogue } = await fixture.face.surface(ada);
    assert.deepEqual(
      catalogue.tools.map(({ name }) => name),
      [...Object.keys(SPECIFIED), ...MORE],
    );
    for (const [name, [description, required, properties]] of Object.entries(SPECIFIED)) {
      const definition = catalogue.tools.find((tool) => tool.name === name)?.definition;
      assert.equal(definition?.["description"], description, name);
      const schema = definition?.["inputSchema"];
      assert.ok(typeof schema === "object" && schema !== null && "properties" in schema && "required" in schema);
      assert.deepEqual(schema.required, required, name);
      for (const [property, says] of Object.entries(properties)) {
        const type = property === "initial_state" ? "object" : "string";
        assert.deepEqual(Reflect.get(Object(schema.properties), property), { type, description: says }, `${name}.${property}`);
      }
    }
  });

  test("each has a title, an output schema and hints for hosts #theater.face.outputs", async () => {
    await using fixture = faceFixture();
    const { catalogue } = await fixture.face.surface(ada);
    for (const { name, definition, readOnly } of catalogue.tools) {
      assert.ok(assertText(definition["title"]).length > 3, name);
      const output = definition["outputSchema"];
      assert.ok(typeof output === "object" && output !== null && "type" in output && output.type === "object", name);
      assert.deepEqual(Object.keys(Object(definition["annotations"])), [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
      ]);
      assert.equal(readOnly, ["list_actors", "get_actor", "get_events", "wait_for_event"].includes(name), name);
    }
    const hintOf = (tool: string, hint: string): unknown =>
      Reflect.get(Object(catalogue.tools.find(({ name }) => name === tool)?.definition["annotations"]), hint);
    assert.equal(hintOf("stop_actor", "destructiveHint"), true);
    assert.equal(hintOf("stop_actor", "idempotentHint"), true);
    assert.equal(hintOf("start_actor", "destructiveHint"), false);
    assert.equal(hintOf("send_message", "destructiveHint"), true);
  });
});

describe("start_actor", () => {
  test("takes a manifest, state, name and component, and returns id, name and status #theater.tools.start-actor", async () => {
    await using fixture = faceFixture();
    assert.deepEqual(await fixture.call("start_actor", { manifest: "counter.toml" }), {
      actor_id: "00000000-0000-4000-8000-000000000001",
      name: "actor",
      status: "RUNNING",
    });
    const given = { manifest: 'name = "c"', initial_state: { count: 1 }, name: "second", component: base64("\0asm") };
    assert.deepEqual(await fixture.call("start_actor", given), {
      actor_id: "00000000-0000-4000-8000-000000000002",
      name: "second",
      status: "RUNNING",
    });
    assert.deepEqual(
      fixture.stage.started.map(({ initialState, component, ...rest }) => ({
        ...rest,
        state: initialState && Buffer.from(initialState).toString(),
        component: component && Buffer.from(component).toString(),
      })),
      [
        { manifest: "counter.toml", state: undefined, component: undefined },
        { manifest: 'name = "c"', name: "second", state: '{"count":1}', component: "\0asm" },
      ],
    );
  });

  test("bounds manifest and component, and reports what is wrong with either", async () => {
    await using fixture = faceFixture({ manifestLength: 10, componentBytes: 4 });
    assert.match((await fixture.refused("start_actor", { manifest: "x".repeat(11) })).message, /`manifest` is text of 1 to 10 characters/);
    assert.match((await fixture.refused("start_actor", { manifest: "" })).message, /`manifest` is text/);
    assert.match((await fixture.refused("start_actor", { manifest: "m", component: base64("12345") })).message, /longer than 4 bytes/);
    assert.match((await fixture.refused("start_actor", { manifest: "m", component: "-" })).message, /`component` is not base64/);
    assert.match((await fixture.refused("start_actor", { manifest: "m", initial_state: "x" })).message, /`initial_state` is an object/);
    await using small = faceFixture({ messageBytes: 10 });
    await small.call("start_actor", { manifest: "m", initial_state: { n: "é" } });
    assert.match(
      (await small.refused("start_actor", { manifest: "m", initial_state: { n: "éé" } })).message,
      /`initial_state` is longer than 10 bytes of JSON/,
    );
    assert.equal((await fixture.refused("start_actor")).code, "INVALID");
    assert.equal(fixture.stage.started.length, 0);
  });
});

describe("stop_actor, restart_actor, send_message and request_message", () => {
  test("answer as specified, by id and by name #theater.tools.stop-actor #theater.tools.restart-actor #theater.tools.send-message #theater.tools.request-message #theater.mapping", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    for (const actor_id of [id, id.toUpperCase(), "counter"]) {
      assert.deepEqual(await fixture.call("send_message", { actor_id, data: base64("hello") }), { success: true, actor_id: id });
      assert.deepEqual(await fixture.call("request_message", { actor_id, data: base64({ n: 1 }) }), {
        actor_id: id,
        response: base64({ n: 1 }),
        response_text: '{"n":1}',
      });
      assert.deepEqual(await fixture.call("restart_actor", { actor_id }), { actor_id: id, status: "RUNNING" });
    }
    assert.deepEqual(await fixture.call("stop_actor", { actor_id: "counter" }), { actor_id: id, status: "STOPPED" });
    assert.equal((await fixture.refused("stop_actor", { actor_id: id })).code, "ActorNotFound");
  });

  test("bytes that are not text are returned as base64 only", async () => {
    await using fixture = faceFixture();
    fixture.stage.add("counter");
    assert.deepEqual(Object.keys(await fixture.call("request_message", { actor_id: "counter", data: "/w==" })), ["actor_id", "response"]);
    assert.deepEqual(Object.keys(await fixture.call("request_message", { actor_id: "counter", data: "" })), ["actor_id", "response"]);
  });

  test("data that is not base64 is not sent to the actor #theater.face.base64", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    for (const tool of ["send_message", "request_message"]) {
      const { code, message } = await fixture.refused(tool, { actor_id: id, data: "not base64!" });
      assert.equal(code, "INVALID");
      assert.match(message, /`data` is not base64: it has " " at 3\. Give the bytes in standard base64/);
      assert.match((await fixture.refused(tool, { actor_id: id })).message, /`data` is missing/);
      assert.match((await fixture.refused(tool, { data: "" })).message, /`actor_id` is missing/);
    }
    assert.equal(fixture.stage.actors.get(id)?.events.length, 0);
  });

  test("a slow request is a Timeout and does not delay another #theater.face.slow-request", async () => {
    await using fixture = faceFixture({ requestMs: 1_000 });
    const id = fixture.stage.add("slow");
    const other = fixture.stage.add("quick");
    const held = Promise.withResolvers<void>();
    fixture.stage.blocked = held.promise;
    const slow = fixture.refused("request_message", { actor_id: id, data: "" });
    await settle();
    fixture.stage.blocked = undefined;
    assert.equal((await fixture.call("request_message", { actor_id: other, data: "" }))["response"], "");
    await fixture.clock.advance(1_000);
    const { code, message } = await slow;
    assert.equal(code, "Timeout");
    assert.match(
      message,
      /^Timeout: The request to .* took longer than 1000 ms, and may still take effect\. get_events shows whether it did\.$/,
    );
    held.resolve();
  });

  test("a cancelled request cancels the stage's request", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("slow");
    fixture.stage.blocked = new Promise(() => undefined);
    const cancellation = new Cancellation();
    const pending = fixture.face.act(ada, "tools/request_message", { actor_id: id, data: "" }, { signal: cancellation });
    await settle();
    cancellation.abort();
    await assert.rejects(pending, (error) => error instanceof EngineError && error.code === "CANCELLED");
    assert.equal(fixture.stage.requestSignal?.aborted, true);
  });
});

describe("errors of the stage", () => {
  test("are tool errors with Theater's code and the next step #theater.face.errors", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    for (const [code, next] of [
      ["ActorNotFound", "list_actors shows those there are."],
      ["ActorAlreadyExists", "Give another name, or stop_actor the one that has it."],
      ["ActorInitializationError", "call start_actor again."],
      ["ChannelRejected", "send_message or request_message may be what it takes."],
      ["CommunicationError", "see with get_events whether it did."],
      ["ActorNotRunning", "get_actor shows its status."],
      ["InternalError", "something broke."],
    ] as const) {
      fixture.stage.fail("send", code, "something broke");
      const refused = await fixture.refused("send_message", { actor_id: id, data: "" });
      assert.equal(refused.code, code);
      assert.ok(refused.message.startsWith(`${code}: something broke.`) && refused.message.endsWith(next), refused.message);
    }
  });

  test("name the event after which an actor is paused, and restart_actor #theater.face.errors", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const event = fixture.stage.addEvent(id, "StateChanged", 1).id;
    fixture.stage.pause(id, "it trapped");
    assert.equal(
      (await fixture.refused("send_message", { actor_id: id, data: "" })).message,
      `ActorError: counter is paused after event ${event}. restart_actor resumes it.`,
    );
    fixture.stage.fail("request", "ActorError", "unreachable executed");
    assert.equal(
      (await fixture.refused("request_message", { actor_id: id, data: "" })).message,
      `ActorError: unreachable executed. It is paused after event ${event} (it trapped); restart_actor resumes it.`,
    );
    await fixture.call("restart_actor", { actor_id: id });
    await fixture.call("send_message", { actor_id: id, data: "" });
  });

  test("do not repeat a tool that the stage's message names", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    fixture.stage.fail("send", "ActorNotRunning", "it has stopped: get_actor shows when");
    assert.equal(
      (await fixture.refused("send_message", { actor_id: id, data: "" })).message,
      "ActorNotRunning: it has stopped: get_actor shows when.",
    );
  });
});

describe("list_actors and get_actor", () => {
  test("have the given name in addition to the manifest's", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter", { given: "mine" });
    const uri = `theater://actor/${id}`;
    assert.deepEqual((await fixture.call("list_actors"))["actors"], [{ id, name: "counter", given_name: "mine", status: "RUNNING", uri }]);
    assert.equal((await fixture.call("get_actor", { actor_id: id }))["given_name"], "mine");
    const { catalogue } = await fixture.face.surface(ada);
    assert.equal(catalogue.resources.find(({ name }) => name === `actor/${id}`)?.definition["name"], "mine");
  });

  test("list each actor once, page by page, with the total #theater.face.without-resources", async () => {
    await using fixture = faceFixture();
    for (let n = 0; n < 5; n += 1) fixture.stage.add(`a${n}`);
    const names: unknown[] = [];
    for (let after: string | undefined = ""; after !== undefined;) {
      const page = await fixture.call("list_actors", { limit: 2, ...(after === "" ? {} : { after }) });
      assert.equal(page["total"], 5);
      const { actors, next } = page;
      assert.ok(Array.isArray(actors));
      names.push(...actors.map((one: unknown) => Reflect.get(Object(one), "name")));
      after = typeof next === "string" ? next : undefined;
    }
    assert.deepEqual(names, ["a0", "a1", "a2", "a3", "a4"]);
  });

  test("get_actor returns details and state, or names a state that is too long #theater.face.without-resources", async () => {
    await using fixture = faceFixture({ stateBytes: 20 });
    const id = fixture.stage.add("counter");
    const played = fixture.stage.actors.get(id);
    assert.ok(played);
    played.state = bytesOf('{"count":1}');
    const details = await fixture.call("get_actor", { actor_id: "counter" });
    assert.deepEqual([details["id"], details["status"], details["state"]], [id, "RUNNING", { count: 1 }]);
    played.state = bytesOf(JSON.stringify("x".repeat(30)));
    assert.deepEqual((await fixture.call("get_actor", { actor_id: id }))["state"], {
      _state: "long",
      bytes: 32,
      uri: `theater://actor/${id}/state`,
    });
  });
});

describe("get_events and wait_for_event", () => {
  test("get_events pages forwards from an event, and returns the last without one #theater.face.without-resources", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const all = [1, 2, 3, 4].map((n) => fixture.stage.addEvent(id, "StateChanged", n).id);
    const last = await fixture.call("get_events", { actor_id: id, limit: 1 });
    assert.equal(last["next"], all[3]);
    const page = await fixture.call("get_events", { actor_id: id, after: all[0] ?? "", limit: 2 });
    assert.equal(page["next"], all[2]);
    assert.deepEqual(await fixture.call("get_events", { actor_id: id, after: all[3] ?? "" }), { events: [] });
    assert.equal((await fixture.call("get_events", { actor_id: id, before: all[1] ?? "" }))["next"], all[0]);
    const both = { actor_id: id, after: all[0] ?? "", before: all[2] ?? "" };
    assert.match((await fixture.refused("get_events", both)).message, /`after` and `before` do not go together/);
    assert.equal((await fixture.refused("get_events", { actor_id: id, limit: 0 })).message, "`limit` is a whole number from 1 to 1000.");
  });

  test("wait_for_event returns existing events at once, else the next one #theater.face.without-resources", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const first = fixture.stage.addEvent(id, "StateChanged", 1).id;
    const second = fixture.stage.addEvent(id, "StateChanged", 2).id;
    assert.equal((await fixture.call("wait_for_event", { actor_id: id, after: first }))["next"], second);
    const waiting = fixture.call("wait_for_event", { actor_id: "counter", timeout_ms: 60_000 });
    await settle();
    const third = fixture.stage.addEvent(id, "StateChanged", 3).id;
    const heard = await waiting;
    assert.deepEqual([heard["timed_out"], heard["next"]], [false, third]);
    assert.equal(fixture.stage.watched, 0, "nobody is left listening");
    assert.equal(fixture.clock.pending, 0);
  });

  test("wait_for_event times out with a cursor to continue from #theater.face.waiting", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const first = fixture.stage.addEvent(id, "StateChanged", 1).id;
    const waiting = fixture.call("wait_for_event", { actor_id: id, timeout_ms: 5_000 });
    await settle();
    await fixture.clock.advance(5_000);
    assert.deepEqual(await waiting, { events: [], timed_out: true, next: first });
    assert.equal(
      (await fixture.refused("wait_for_event", { actor_id: id, timeout_ms: 60_001 })).message,
      "`timeout_ms` is a whole number from 0 to 60000.",
    );
  });

  test("wait_for_event finds an event without a hint", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const waiting = fixture.call("wait_for_event", { actor_id: id });
    await settle();
    const tell = fixture.stage.notify.bind(fixture.stage);
    fixture.stage.notify = () => undefined;
    fixture.stage.addEvent(id, "StateChanged", 1);
    fixture.stage.notify = tell;
    await fixture.clock.advance(2_000);
    assert.equal((await waiting)["timed_out"], false);
  });

  test("wait_for_event ends when cancelled and when the server closes #theater.face.waiting", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("counter");
    const cancellation = new Cancellation();
    const left = fixture.face.act(ada, "tools/wait_for_event", { actor_id: id }, { signal: cancellation });
    const stays = fixture.call("wait_for_event", { actor_id: id });
    await settle();
    cancellation.abort();
    await assert.rejects(left, (error) => error instanceof EngineError && error.code === "CANCELLED");
    await fixture.face[Symbol.asyncDispose]();
    assert.equal((await stays)["timed_out"], true);
  });

  test("events too long for one answer take several", async () => {
    await using fixture = faceFixture({ eventsLength: 500 });
    const id = fixture.stage.add("counter");
    const all = [0, 1, 2, 3, 4, 5].map((n) => fixture.stage.addEvent(id, "StateChanged", "x".repeat(n * 40)).id);
    const found: unknown[] = [all[0]];
    for (let after = all[0]; after !== all[5];) {
      const page = await fixture.call("get_events", { actor_id: id, after: after ?? "" });
      assert.ok(Array.isArray(page["events"]) && page["events"].length < 5);
      found.push(...page["events"].map((event: unknown) => Reflect.get(Object(event), "event_id")));
      after = assertText(page["next"]);
    }
    assert.deepEqual(found, all);
  });
});

test("an unknown tool, and a reference to none, are unknown", async () => {
  await using fixture = faceFixture();
  for (const ref of ["tools/nothing", "tools/constructor", "tools/", "prompts/nothing", "resources/"] as const) {
    const reply = await fixture.act(ref);
    assert.equal("refused" in reply && reply.refused.code, "UNKNOWN", ref);
  }
});

test("a viewer without the required scope sees nothing #theater.face.scope", async () => {
  await using fixture = faceFixture({}, { requireScope: "troupe:operate" });
  const id = fixture.stage.add("counter");
  const operator = { principal: "ada", scopes: ["troupe:operate"] };
  assert.deepEqual((await fixture.face.surface(ada)).catalogue, { tools: [], resources: [], prompts: [] });
  assert.deepEqual(fixture.face.catalogue?.(ada), { tools: [], resources: [], prompts: [] });
  for (const ref of ["tools/list_actors", "resources/actors", "prompts/diagnose_actor"] as const) {
    const reply = await fixture.act(ref, { actor_id: id });
    assert.equal("refused" in reply && reply.refused.code, "UNKNOWN", ref);
  }
  assert.deepEqual(await fixture.face.complete?.(ada, "resources/actor", "actor_id", "", {}), []);
  let notified = 0;
  fixture.face.watch(ada, () => (notified += 1));
  fixture.face.watch(operator, () => (notified += 10));
  await fixture.call("start_actor", { manifest: "m" }, operator);
  assert.ok(notified >= 10 && notified % 10 === 0);
});
