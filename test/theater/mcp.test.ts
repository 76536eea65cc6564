// One client's way through all of Theater's MCP face, over every stage there is.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { ResourceListChangedNotificationSchema, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { createGateway } from "../../src/mcp/gateway/index.ts";
import { until } from "../../src/testing/index.ts";
import { THEATER_INFO } from "../../src/bridges/theater/mcp/options.ts";
import { theaterFace } from "../../src/bridges/theater/mcp/theater-face.ts";
import { connectInMemory } from "../../src/mcp/transport/index.ts";
import { at } from "../wire.ts";
import { PLACES } from "./mcp-places.ts";
import type { StagePlace } from "./stage-suite.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface Guest extends AsyncDisposable {
  readonly client: Client;
  readonly heard: string[];
  /** A tool's structure, which the client found to be as its schema says. */
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
  failed(name: string, args: Readonly<Record<string, unknown>>): Promise<string>;
  read(uri: string): Promise<unknown>;
}

async function visit(place: StagePlace): Promise<Guest> {
  const face = theaterFace({ stage: place.stage });
  const gateway = createGateway({ source: face, info: THEATER_INFO });
  const connection = connectInMemory(gateway);
  const [here, there] = InMemoryTransport.createLinkedPair();
  Object.assign(there, { onmessage: (message: object) => connection.send(message) });
  connection.onMessage((text) => void there.send(JSON.parse(text)));
  await there.start();
  const client = new Client({ name: "theater", version: "1" }, { capabilities: {} });
  await client.connect(here);
  const heard: string[] = [];
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void heard.push("list"));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri));
  await client.listTools();
  const ask = (name: string, args: Readonly<Record<string, unknown>>) => client.callTool({ name, arguments: { ...args } });
  return {
    client,
    heard,
    async call(name, args = {}) {
      const result = await ask(name, args);
      assert.notEqual(result.isError, true, JSON.stringify(result.content));
      return result.structuredContent;
    },
    async failed(name, args) {
      const result = await ask(name, args);
      assert.equal(result.isError, true, JSON.stringify(result));
      return String(at(result, "content", 0, "text"));
    },
    async read(uri) {
      const { contents } = await client.readResource({ uri });
      assert.equal(contents[0]?.mimeType, "application/json");
      const value: unknown = JSON.parse(String(at(contents, 0, "text")));
      return value;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await connection.close();
      await gateway[Symbol.asyncDispose]();
      await face[Symbol.asyncDispose]();
    },
  };
}

for (const { name, make, channelAnswers } of PLACES) {
  describe(`Theater's MCP face over ${name}`, () => {
    test(
      "shows an actor from its start to its end: lists, details, state, events, and tells of them #theater.proxy",
      { timeout: 60_000 },
      async () => {
        await using place = await make();
        await using guest = await visit(place);
        await guest.client.listResources();
        await guest.client.subscribeResource({ uri: "theater://actors" });
        const started = await guest.call("start_actor", { manifest: place.echoManifest, initial_state: { n: 0 } });
        const id = String(at(started, "actor_id"));
        assert.match(id, UUID);
        assert.equal(at(started, "status"), "RUNNING");
        await until("its coming is told", () => guest.heard.includes("list") && guest.heard.includes("theater://actors"));
        const entry = { id, name: at(started, "name"), status: "RUNNING", uri: `theater://actor/${id}` };
        assert.deepEqual(await guest.read("theater://actors"), { actors: [entry], total: 1 });
        assert.deepEqual(await guest.call("list_actors"), { actors: [entry], total: 1 });
        assert.ok((await guest.client.listResources()).resources.some(({ uri }) => uri === entry.uri));

        for (const uri of [entry.uri, `${entry.uri}/state`, `theater://events/${id}`]) await guest.client.subscribeResource({ uri });
        guest.heard.length = 0;
        assert.deepEqual(await guest.call("send_message", { actor_id: id, data: base64('{"n":1}') }), { success: true, actor_id: id });
        await until("the new state", async () => at(await guest.read(`${entry.uri}/state`), "n") === 1);
        await until(
          "its change is told",
          () => guest.heard.includes(`${entry.uri}/state`) && guest.heard.includes(`theater://events/${id}`),
        );

        const details = await guest.read(entry.uri);
        for (const [member, value] of [
          ["id", id],
          ["status", "RUNNING"],
          ["events_uri", `theater://events/${id}`],
          ["state_uri", `${entry.uri}/state`],
        ] as const)
          assert.equal(at(details, member), value);
        assert.equal(new Date(String(at(details, "created_at"))).toISOString(), at(details, "created_at"));
        assert.deepEqual(at(await guest.call("get_actor", { actor_id: id }), "state"), { n: 1 });

        const events = await guest.read(`theater://events/${id}`);
        assert.ok(Array.isArray(events) && events.length >= 1);
        assert.equal(at(events, 0, "parent_id"), null);
        assert.ok(events.some((event: unknown) => at(event, "type") === "StateChanged"));
        const first = String(at(events, 0, "event_id"));
        assert.deepEqual(at(await guest.read(`theater://event/${first}`), "actor_id"), id);

        guest.heard.length = 0;
        assert.deepEqual(await guest.call("stop_actor", { actor_id: id }), { actor_id: id, status: "STOPPED" });
        await until("its going is told", () => guest.heard.includes("list"));
        await until("it is listed no more", async () => at(await guest.read("theater://actors"), "total") === 0);
      },
    );

    test(
      "answers requests, several at once each with its own, and waits for what happens #theater.proxy",
      { timeout: 60_000 },
      async () => {
        await using place = await make();
        await using guest = await visit(place);
        const id = String(at(await guest.call("start_actor", { manifest: place.echoManifest }), "actor_id"));
        const texts = Array.from({ length: 20 }, (_, index) => `request ${index} 🎭`);
        const answers = await Promise.all(texts.map((text) => guest.call("request_message", { actor_id: id, data: base64(text) })));
        assert.deepEqual(
          answers.map((answer) => at(answer, "response_text")),
          texts,
        );
        const known = await guest.call("get_events", { actor_id: id });
        const waiting = guest.call("wait_for_event", { actor_id: id, after: at(known, "next"), timeout_ms: 30_000 });
        await guest.call("send_message", { actor_id: id, data: base64("wake") });
        const woken = await waiting;
        assert.equal(at(woken, "timed_out"), false);
        assert.equal(at(woken, "events", 0, "parent_id"), at(known, "next"));
      },
    );

    test("opens a channel, speaks on it, and closes it #theater.proxy", { timeout: 60_000 }, async () => {
      await using place = await make();
      await using guest = await visit(place);
      const id = String(at(await guest.call("start_actor", { manifest: place.echoManifest }), "actor_id"));
      const channel_id = String(at(await guest.call("open_channel", { actor_id: id, initial_message: base64("hello") }), "channel_id"));
      assert.deepEqual(await guest.call("send_on_channel", { channel_id, message: base64("over the channel") }), {
        success: true,
        channel_id,
      });
      await until("it arrived", async () =>
        JSON.stringify(await guest.read(`theater://actor/${id}/state`)).includes(base64("over the channel")),
      );
      if (channelAnswers) {
        const answer = await guest.call("receive_on_channel", { channel_id, timeout_ms: 30_000 });
        assert.deepEqual(at(answer, "messages"), [base64("over the channel")]);
      }
      assert.deepEqual(await guest.call("close_channel", { channel_id }), { success: true, channel_id });
      assert.match(await guest.failed("send_on_channel", { channel_id, message: "" }), /^ChannelNotFound: .* has ended: you closed it/);
    });

    test("says by Theater's names what cannot be, and what to do instead #theater.proxy", { timeout: 60_000 }, async () => {
      await using place = await make();
      await using guest = await visit(place);
      const nobody = "00000000-0000-4000-8000-000000000000";
      for (const tool of ["stop_actor", "get_actor", "get_events"]) {
        const said = await guest.failed(tool, { actor_id: nobody });
        assert.match(said, /^ActorNotFound: /, tool);
        assert.match(said, /list_actors/, tool);
      }
      assert.match(await guest.failed("request_message", { actor_id: nobody, data: "" }), /^ActorNotFound: /);
      assert.match(await guest.failed("open_channel", { actor_id: nobody }), /^ActorNotFound: /);
      for (const uri of [
        `theater://actor/${nobody}`,
        `theater://actor/${nobody}/state`,
        `theater://events/${nobody}`,
        "theater://event/none",
      ])
        await assert.rejects(guest.client.readResource({ uri }), { code: -32002, data: { uri } }, uri);
    });
  });
}
