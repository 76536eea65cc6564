// The guests of examples/wasm, as its README runs them: over the MCP face, by the official client.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { until } from "../../src/testing/index.ts";
import { lines, troupe } from "../cli/run.ts";
import { connect, type Player } from "../clients.ts";
import { at } from "../wire.ts";
import { base64, folder, theater } from "./process.ts";

const operators = (path: string): readonly string[] => {
  const keys = join(path, "keys.json");
  const key = (name: string): object => ({ sha256: createHash("sha256").update(`${name}-key`).digest("hex"), scopes: ["troupe:operate"] });
  writeFileSync(keys, JSON.stringify({ ann: key("ann"), bob: key("bob") }));
  return ["--theater", "--http", "127.0.0.1:0", "--api-keys", keys];
};
const operator = (http: string, name: string): Promise<Player> =>
  connect({ http }, { sdk: "v1", era: "legacy" }, { headers: { authorization: `Bearer ${name}-key` } });

const done = async (player: Player, tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown> => {
  const { isError, text, structured } = await player.call(tool, args);
  assert.equal(isError, false, text);
  return structured;
};
const said = (answer: unknown): readonly string[] => {
  const messages = at(answer, "messages");
  return Array.isArray(messages) ? messages.map((one) => Buffer.from(String(one), "base64").toString()) : [];
};

/** Each event names the one before. */
const held = (events: unknown): void => {
  assert.ok(Array.isArray(events));
  assert.deepEqual(
    events.map((event) => at(event, "parent_id")),
    [null, ...events.slice(0, -1).map((event) => at(event, "event_id"))],
  );
};
/** Every hash holds, and every call run again ends as it did. */
const reproduced = async (data: string, actor: string, calls: number): Promise<void> => {
  const verified = await troupe("verify", actor, "--data", data, "--json");
  assert.equal(verified.code, 0, verified.stderr);
  const checked = await troupe("guests", "check", actor, "--data", data, "--json");
  assert.equal(checked.code, 0, checked.stderr);
  const [told] = lines(checked.stdout);
  assert.deepEqual([at(told, "run"), at(told, "mismatches")], [calls, []]);
};

describe("examples/wasm", { concurrency: 2 }, () => {
  test("the counter counts what it is sent, tells its count, and its history holds", async () => {
    using place = folder();
    {
      await using server = await theater(place.data, ...operators(place.path));
      await using ann = await operator(server.address("theater"), "ann");
      const actor_id = at(
        await done(ann, "start_actor", { manifest: "counter/counter.toml", name: "mine", initial_state: { count: 5 } }),
        "actor_id",
      );
      for (const data of ["add", "36"]) await done(ann, "send_message", { actor_id: "mine", data: base64(data) });
      assert.equal(at(await done(ann, "request_message", { actor_id: "mine", data: "" }), "response_text"), "42");
      assert.deepEqual(JSON.parse(await ann.read(`theater://actor/${String(actor_id)}/state`)), { count: 42 });
      const wrong = await ann.call("open_channel", { actor_id: "mine" });
      assert.match(wrong.text, /^ChannelRejected: .*A counter has no channels\./);
      held(at(await done(ann, "get_events", { actor_id: "mine" }), "events"));

      // What it cannot count pauses it; a restart resumes it with its count.
      await done(ann, "send_message", { actor_id: "mine", data: base64("a dozen") });
      await until("it is paused", async () => at(await done(ann, "get_actor", { actor_id: "mine" }), "status") === "PAUSED");
      assert.equal(at(await done(ann, "restart_actor", { actor_id: "mine" }), "status"), "RUNNING");
      assert.equal(at(await done(ann, "request_message", { actor_id: "mine", data: "" }), "response_text"), "42");
    }
    await reproduced(place.data, "guest/mine", 7);
  });

  test("in the chat room, what one says the others receive on their channels, who comes and leaves too", async () => {
    using place = folder();
    {
      await using server = await theater(place.data, ...operators(place.path));
      await using ann = await operator(server.address("theater"), "ann");
      await using bob = await operator(server.address("theater"), "bob");
      const actor_id = "room";
      await done(ann, "start_actor", { manifest: "chat-room/chat-room.toml", name: actor_id });
      const enter = async (player: Player, name: string): Promise<string> => {
        const opened = await done(player, "open_channel", { actor_id, initial_message: base64(name) });
        assert.equal(Buffer.from(String(at(opened, "message")), "base64").toString(), `Welcome, ${name}`);
        return String(at(opened, "channel_id"));
      };
      const next = (player: Player, channel_id: string): Promise<unknown> =>
        done(player, "receive_on_channel", { channel_id, timeout_ms: 20_000, limit: 1 });
      const hers = await enter(ann, "ann");
      const his = await enter(bob, "bob");
      assert.deepEqual(said(await next(ann, hers)), ["bob comes in"]);
      const heard = next(bob, his);
      await done(ann, "send_on_channel", { channel_id: hers, message: base64("hello") });
      assert.deepEqual(said(await heard), ["ann: hello"]);
      await done(bob, "send_on_channel", { channel_id: his, message: base64("hello yourself") });
      assert.deepEqual(said(await next(ann, hers)), ["bob: hello yourself"]);
      // A line that is too long is refused to whoever sent it, and the room goes on.
      await done(ann, "send_on_channel", { channel_id: hers, message: base64("x".repeat(12_000)) });
      assert.match(String(said(await next(ann, hers))), /^That line is too long, and was told to nobody/);
      // Neither hears itself, nor on the other's channel.
      assert.deepEqual(said(await done(bob, "receive_on_channel", { channel_id: his })), []);
      assert.match((await bob.call("receive_on_channel", { channel_id: hers })).text, /^ChannelNotFound: /);
      const taken = await bob.call("open_channel", { actor_id, initial_message: base64("ann") });
      assert.match(taken.text, /^ChannelRejected: .*That name is taken\./);

      await done(bob, "close_channel", { channel_id: his });
      assert.deepEqual(said(await next(ann, hers)), ["bob leaves"]);
      const history = ["ann comes in", "bob comes in", "ann: hello", "bob: hello yourself", "bob leaves"];
      assert.equal(at(await done(ann, "request_message", { actor_id, data: "" }), "response_text"), history.join("\n"));
      held(at(await done(ann, "get_events", { actor_id }), "events"));
      await done(ann, "stop_actor", { actor_id });
      assert.equal(at(await next(ann, hers), "closed"), "the actor has stopped");
    }
    await reproduced(place.data, "guest/room", 9);
  });
});
