import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Cancellation, EngineError } from "../../../core/contract/index.ts";
import { settle } from "../../../testing/index.ts";
import { base64, bytesOf } from "./scripted-stage.fixture.ts";
import { ada, bob, faced, type Faced, textIn } from "./theater-face.fixture.ts";

const opened = async (made: Faced, viewer = ada): Promise<string> => {
  if (made.stage.played.size === 0) made.stage.add("chat");
  return textIn((await made.call("open_channel", { actor_id: "chat" }, viewer))["channel_id"]);
};

describe("a channel", () => {
  test("opens with a first message, carries messages both ways and closes #theater.tools.open-channel #theater.tools.send-on-channel #theater.tools.close-channel", async () => {
    await using made = faced();
    const id = made.stage.add("chat");
    const channel_id = "ch_0000000000000001";
    assert.deepEqual(await made.call("open_channel", { actor_id: "chat", initial_message: base64("hi") }), {
      channel_id,
      actor_id: id,
      message: base64("welcome"),
    });
    assert.deepEqual(await made.call("send_on_channel", { channel_id, message: base64("how are you?") }), { success: true, channel_id });
    assert.deepEqual(made.stage.said, [
      { channel: channel_id, data: "hi" },
      { channel: channel_id, data: "how are you?" },
    ]);
    made.stage.peers.get(channel_id)?.message(bytesOf("fine"));
    made.stage.peers.get(channel_id)?.message(bytesOf("and you?"));
    assert.deepEqual(await made.call("receive_on_channel", { channel_id, limit: 1 }), { channel_id, messages: [base64("fine")] });
    assert.deepEqual(await made.call("receive_on_channel", { channel_id }), { channel_id, messages: [base64("and you?")] });
    assert.deepEqual(await made.call("receive_on_channel", { channel_id }), { channel_id, messages: [] });
    assert.deepEqual(await made.call("close_channel", { channel_id }), { success: true, channel_id });
    assert.deepEqual(made.stage.closed, [channel_id]);
    const { code, message } = await made.refused("send_on_channel", { channel_id, message: "" });
    assert.equal(code, "ChannelNotFound");
    assert.equal(message, `ChannelNotFound: the channel ${channel_id} has ended: you closed it. open_channel opens one.`);
  });

  test("opens without a first message, and without one of the actor", async () => {
    await using made = faced();
    made.stage.add("chat");
    made.stage.greeting = undefined;
    assert.deepEqual(Object.keys(await made.call("open_channel", { actor_id: "chat" })), ["channel_id", "actor_id"]);
    assert.deepEqual(
      made.stage.said.map(({ data }) => data),
      [""],
    );
    made.stage.fail("open", "ChannelRejected", "chat takes no channels");
    assert.match(
      (await made.refused("open_channel", { actor_id: "chat" })).message,
      /^ChannelRejected: chat takes no channels\. send_message/,
    );
  });

  test("C8 belongs to its viewer and does not exist for others #theater.face.channels", async () => {
    await using made = faced();
    const channel_id = await opened(made);
    made.stage.peers.get(channel_id)?.message(bytesOf("for ada"));
    for (const tool of ["send_on_channel", "close_channel", "receive_on_channel"]) {
      const refused = await made.refused(tool, { channel_id, message: "" }, bob);
      assert.deepEqual(refused, {
        code: "ChannelNotFound",
        message: `ChannelNotFound: you have no channel "${channel_id}". open_channel opens one.`,
      });
    }
    const reply = await made.act("resources/channel", { channel_id }, bob);
    assert.equal("refused" in reply && reply.refused.code, "UNKNOWN");
    let told = 0;
    made.face.watch(bob, () => (told += 1), { ref: "resources/channel", args: { channel_id } });
    made.stage.peers.get(channel_id)?.message(bytesOf("more"));
    assert.equal(told, 0);
    await made.call("close_channel", { channel_id });
    assert.match((await made.refused("close_channel", { channel_id }, bob)).message, /you have no channel/);
  });

  test("reports its end and why once, after the last message, and to later calls #theater.face.channels", async () => {
    await using made = faced();
    const channel_id = await opened(made);
    const peer = made.stage.peers.get(channel_id);
    peer?.message(bytesOf("bye"));
    peer?.message(bytesOf("bye bye"));
    peer?.closed("the actor stopped");
    peer?.message(bytesOf("from the grave"));
    peer?.closed("twice");
    assert.equal((await made.refused("send_on_channel", { channel_id, message: "" })).code, "ChannelClosed");
    assert.deepEqual(await made.call("receive_on_channel", { channel_id, limit: 1 }), { channel_id, messages: [base64("bye")] });
    assert.deepEqual(await made.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("bye bye")],
      closed: "the actor stopped",
    });
    assert.match(
      (await made.refused("receive_on_channel", { channel_id })).message,
      /^ChannelNotFound: the channel ch_\d+ has ended: the actor stopped\. open_channel opens one\.$/,
    );
    assert.deepEqual(made.stage.closed, [], "what ended by itself is closed by nobody");
  });

  test("can be closed after it has ended", async () => {
    await using made = faced();
    const channel_id = await opened(made);
    made.stage.peers.get(channel_id)?.closed("the actor stopped");
    assert.deepEqual(await made.call("close_channel", { channel_id }), { success: true, channel_id });
    assert.deepEqual(made.stage.closed, []);
  });

  test("can be waited on until a message, its end, a timeout or a cancellation", async () => {
    await using made = faced();
    const channel_id = await opened(made);
    const receive = (): ReturnType<Faced["call"]> => made.call("receive_on_channel", { channel_id, timeout_ms: 60_000 });
    const message = receive();
    await settle();
    made.stage.peers.get(channel_id)?.message(bytesOf("1"));
    assert.deepEqual((await message)["messages"], [base64("1")]);
    const late = receive();
    await settle();
    await made.clock.advance(60_000);
    assert.deepEqual(await late, { channel_id, messages: [] });
    const gone = new Cancellation();
    const left = made.face.act(ada, "tools/receive_on_channel", { channel_id, timeout_ms: 60_000 }, { signal: gone });
    await settle();
    gone.abort();
    await assert.rejects(left, (error) => error instanceof EngineError && error.code === "CANCELLED");
    const end = receive();
    const other = made.refused("receive_on_channel", { channel_id, timeout_ms: 60_000 });
    await settle();
    made.stage.peers.get(channel_id)?.closed("it said goodbye");
    assert.equal((await end)["closed"], "it said goodbye");
    assert.match((await other).message, /has ended: it said goodbye/);
  });

  test("bounds its messages and bytes, drops older ones and reports how many #theater.face.channels", async () => {
    await using made = faced({ pendingMessages: 3, pendingBytes: 10 });
    const channel_id = await opened(made);
    const peer = made.stage.peers.get(channel_id);
    for (const text of ["1", "2", "3", "4", "5"]) peer?.message(bytesOf(text));
    assert.deepEqual(await made.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("3"), base64("4"), base64("5")],
      dropped: 2,
    });
    for (const text of ["12345", "67890", "x"]) peer?.message(bytesOf(text));
    assert.deepEqual(await made.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("67890"), base64("x")],
      dropped: 1,
    });
    peer?.message(bytesOf("longer than all that fits"));
    assert.deepEqual(await made.call("receive_on_channel", { channel_id }), { channel_id, messages: [], dropped: 1 });
  });

  test("ends after ten minutes without a call, reports it once and is removed #theater.face.channels", async () => {
    await using made = faced();
    const channel_id = await opened(made);
    await made.clock.advance(9 * 60_000);
    await made.call("receive_on_channel", { channel_id });
    await made.clock.advance(9 * 60_000);
    assert.deepEqual(made.stage.closed, []);
    // What the actor says is no call.
    made.stage.peers.get(channel_id)?.message(bytesOf("anybody?"));
    await made.clock.advance(60_000);
    assert.deepEqual(made.stage.closed, [channel_id]);
    assert.deepEqual(await made.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("anybody?")],
      closed: "there was no call for 600 s",
    });
    const other = await opened(made);
    await made.clock.advance(20 * 60_000);
    assert.match((await made.refused("receive_on_channel", { channel_id: other })).message, /has ended: there was no call for 600 s/);
    assert.equal(made.clock.pending, 0);
  });

  test("is refused beyond the viewer's limit until another has ended #theater.face.channels", async () => {
    await using made = faced({ channels: 2, allChannels: 3 });
    const [first] = [await opened(made), await opened(made)];
    assert.match(
      (await made.refused("open_channel", { actor_id: "chat" })).message,
      /^InvalidRequest: you have 2 channels open, and no more at a time: close_channel one first\.$/,
    );
    await opened(made, bob);
    assert.match((await made.refused("open_channel", { actor_id: "chat" }, bob)).message, /as many channels open as it can/);
    made.stage.peers.get(first)?.closed("done");
    await opened(made);
    assert.match((await made.refused("receive_on_channel", { channel_id: first })).message, /has ended: done/);
  });

  test("is closed again if it is accepted after its caller has left", async () => {
    await using made = faced({ requestMs: 1_000, channels: 1 });
    made.stage.add("chat");
    const held = Promise.withResolvers<void>();
    made.stage.held = held.promise;
    const late = made.refused("open_channel", { actor_id: "chat" });
    await settle();
    await made.clock.advance(1_000);
    assert.equal((await late).code, "Timeout");
    const gone = new Cancellation();
    const left = made.face.act(ada, "tools/open_channel", { actor_id: "chat" }, { signal: gone });
    await settle();
    gone.abort();
    await assert.rejects(left, (error) => error instanceof EngineError && error.code === "CANCELLED");
    held.resolve();
    made.stage.held = undefined;
    await settle();
    assert.deepEqual(made.stage.closed, ["ch_0000000000000001", "ch_0000000000000002"]);
    await opened(made);
  });

  test("loses no message that arrives before it is open", async () => {
    await using made = faced();
    made.stage.add("chat");
    const open = made.stage.open.bind(made.stage);
    made.stage.open = async (id, initial, peer) => {
      peer.message(bytesOf("early"));
      return open(id, initial, peer);
    };
    const channel_id = await opened(made);
    assert.deepEqual((await made.call("receive_on_channel", { channel_id }))["messages"], [base64("early")]);
  });

  test("ends with the server", async () => {
    await using made = faced();
    const channel_id = await opened(made);
    await made.face[Symbol.asyncDispose]();
    assert.deepEqual(made.stage.closed, [channel_id]);
    assert.equal(made.clock.pending, 0);
    assert.equal((await made.refused("open_channel", { actor_id: "chat" })).code, "InternalError");
    await settle();
    assert.equal(made.stage.closed.length, 2);
  });

  test("is a resource with its pending messages, which reading does not remove", async () => {
    await using made = faced();
    const channel_id = await opened(made);
    let told = 0;
    const undo = made.face.watch(ada, () => (told += 1), { ref: "resources/channel", args: { channel_id } });
    const peer = made.stage.peers.get(channel_id);
    peer?.message(bytesOf("1"));
    assert.equal(told, 1);
    const shown = { channel_id, actor_id: [...made.stage.played.keys()][0], messages: [base64("1")], dropped: 0 };
    assert.deepEqual(await made.read("channel", { channel_id }), shown);
    assert.deepEqual(await made.read("channel", { channel_id }), shown);
    await made.call("receive_on_channel", { channel_id });
    assert.equal(told, 2);
    peer?.closed("done");
    assert.equal(told, 3);
    assert.deepEqual(await made.read("channel", { channel_id }), { ...shown, messages: [], closed: "done" });
    undo();
  });
});
