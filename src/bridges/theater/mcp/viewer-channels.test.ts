import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Cancellation, EngineError } from "../../../core/contract/index.ts";
import { settle } from "../../../testing/index.ts";
import { base64, bytesOf } from "./scripted-stage.fixture.ts";
import { ada, bob, faceFixture, type FaceFixture, assertText } from "./theater-face.fixture.ts";

const openChat = async (fixture: FaceFixture, viewer = ada): Promise<string> => {
  if (fixture.stage.actors.size === 0) fixture.stage.add("chat");
  return assertText((await fixture.call("open_channel", { actor_id: "chat" }, viewer))["channel_id"]);
};

describe("a channel", () => {
  test("opens with a first message, carries messages both ways and closes #theater.tools.open-channel #theater.tools.send-on-channel #theater.tools.close-channel", async () => {
    await using fixture = faceFixture();
    const id = fixture.stage.add("chat");
    const channel_id = "ch_0000000000000001";
    assert.deepEqual(await fixture.call("open_channel", { actor_id: "chat", initial_message: base64("hi") }), {
      channel_id,
      actor_id: id,
      message: base64("welcome"),
    });
    assert.deepEqual(await fixture.call("send_on_channel", { channel_id, message: base64("how are you?") }), { success: true, channel_id });
    assert.deepEqual(fixture.stage.sent, [
      { channel: channel_id, data: "hi" },
      { channel: channel_id, data: "how are you?" },
    ]);
    fixture.stage.peers.get(channel_id)?.message(bytesOf("fine"));
    fixture.stage.peers.get(channel_id)?.message(bytesOf("and you?"));
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id, limit: 1 }), { channel_id, messages: [base64("fine")] });
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id }), { channel_id, messages: [base64("and you?")] });
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id }), { channel_id, messages: [] });
    assert.deepEqual(await fixture.call("close_channel", { channel_id }), { success: true, channel_id });
    assert.deepEqual(fixture.stage.closed, [channel_id]);
    const { code, message } = await fixture.refused("send_on_channel", { channel_id, message: "" });
    assert.equal(code, "ChannelNotFound");
    assert.equal(message, `ChannelNotFound: the channel ${channel_id} has ended: you closed it. open_channel opens one.`);
  });

  test("opens without a first message, and without one of the actor", async () => {
    await using fixture = faceFixture();
    fixture.stage.add("chat");
    fixture.stage.greeting = undefined;
    assert.deepEqual(Object.keys(await fixture.call("open_channel", { actor_id: "chat" })), ["channel_id", "actor_id"]);
    assert.deepEqual(
      fixture.stage.sent.map(({ data }) => data),
      [""],
    );
    fixture.stage.fail("open", "ChannelRejected", "chat takes no channels");
    assert.match(
      (await fixture.refused("open_channel", { actor_id: "chat" })).message,
      /^ChannelRejected: chat takes no channels\. send_message/,
    );
  });

  test("C8 belongs to its viewer and does not exist for others #theater.face.channels", async () => {
    await using fixture = faceFixture();
    const channel_id = await openChat(fixture);
    fixture.stage.peers.get(channel_id)?.message(bytesOf("for ada"));
    for (const tool of ["send_on_channel", "close_channel", "receive_on_channel"]) {
      const refused = await fixture.refused(tool, { channel_id, message: "" }, bob);
      assert.deepEqual(refused, {
        code: "ChannelNotFound",
        message: `ChannelNotFound: you have no channel "${channel_id}". open_channel opens one.`,
      });
    }
    const reply = await fixture.act("resources/channel", { channel_id }, bob);
    assert.equal("refused" in reply && reply.refused.code, "UNKNOWN");
    let notified = 0;
    fixture.face.watch(bob, () => (notified += 1), { ref: "resources/channel", args: { channel_id } });
    fixture.stage.peers.get(channel_id)?.message(bytesOf("more"));
    assert.equal(notified, 0);
    await fixture.call("close_channel", { channel_id });
    assert.match((await fixture.refused("close_channel", { channel_id }, bob)).message, /you have no channel/);
  });

  test("reports its end and why once, after the last message, and to later calls #theater.face.channels", async () => {
    await using fixture = faceFixture();
    const channel_id = await openChat(fixture);
    const peer = fixture.stage.peers.get(channel_id);
    peer?.message(bytesOf("bye"));
    peer?.message(bytesOf("bye bye"));
    peer?.closed("the actor stopped");
    peer?.message(bytesOf("from the grave"));
    peer?.closed("twice");
    assert.equal((await fixture.refused("send_on_channel", { channel_id, message: "" })).code, "ChannelClosed");
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id, limit: 1 }), { channel_id, messages: [base64("bye")] });
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("bye bye")],
      closed: "the actor stopped",
    });
    assert.match(
      (await fixture.refused("receive_on_channel", { channel_id })).message,
      /^ChannelNotFound: the channel ch_\d+ has ended: the actor stopped\. open_channel opens one\.$/,
    );
    assert.deepEqual(fixture.stage.closed, [], "what ended by itself is closed by nobody");
  });

  test("can be closed after it has ended", async () => {
    await using fixture = faceFixture();
    const channel_id = await openChat(fixture);
    fixture.stage.peers.get(channel_id)?.closed("the actor stopped");
    assert.deepEqual(await fixture.call("close_channel", { channel_id }), { success: true, channel_id });
    assert.deepEqual(fixture.stage.closed, []);
  });

  test("can be waited on until a message, its end, a timeout or a cancellation", async () => {
    await using fixture = faceFixture();
    const channel_id = await openChat(fixture);
    const receive = (): ReturnType<FaceFixture["call"]> => fixture.call("receive_on_channel", { channel_id, timeout_ms: 60_000 });
    const message = receive();
    await settle();
    fixture.stage.peers.get(channel_id)?.message(bytesOf("1"));
    assert.deepEqual((await message)["messages"], [base64("1")]);
    const pending = receive();
    await settle();
    await fixture.clock.advance(60_000);
    assert.deepEqual(await pending, { channel_id, messages: [] });
    const cancellation = new Cancellation();
    const left = fixture.face.act(ada, "tools/receive_on_channel", { channel_id, timeout_ms: 60_000 }, { signal: cancellation });
    await settle();
    cancellation.abort();
    await assert.rejects(left, (error) => error instanceof EngineError && error.code === "CANCELLED");
    const end = receive();
    const other = fixture.refused("receive_on_channel", { channel_id, timeout_ms: 60_000 });
    await settle();
    fixture.stage.peers.get(channel_id)?.closed("it said goodbye");
    assert.equal((await end)["closed"], "it said goodbye");
    assert.match((await other).message, /has ended: it said goodbye/);
  });

  test("bounds its messages and bytes, drops older ones and reports how many #theater.face.channels", async () => {
    await using fixture = faceFixture({ pendingMessages: 3, pendingBytes: 10 });
    const channel_id = await openChat(fixture);
    const peer = fixture.stage.peers.get(channel_id);
    for (const text of ["1", "2", "3", "4", "5"]) peer?.message(bytesOf(text));
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("3"), base64("4"), base64("5")],
      dropped: 2,
    });
    for (const text of ["12345", "67890", "x"]) peer?.message(bytesOf(text));
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("67890"), base64("x")],
      dropped: 1,
    });
    peer?.message(bytesOf("longer than all that fits"));
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id }), { channel_id, messages: [], dropped: 1 });
  });

  test("ends after ten minutes without a call, reports it once and is removed #theater.face.channels", async () => {
    await using fixture = faceFixture();
    const channel_id = await openChat(fixture);
    await fixture.clock.advance(9 * 60_000);
    await fixture.call("receive_on_channel", { channel_id });
    await fixture.clock.advance(9 * 60_000);
    assert.deepEqual(fixture.stage.closed, []);
    // A message of the actor does not count as a call.
    fixture.stage.peers.get(channel_id)?.message(bytesOf("anybody?"));
    await fixture.clock.advance(60_000);
    assert.deepEqual(fixture.stage.closed, [channel_id]);
    assert.deepEqual(await fixture.call("receive_on_channel", { channel_id }), {
      channel_id,
      messages: [base64("anybody?")],
      closed: "there was no call for 600 s",
    });
    const other = await openChat(fixture);
    await fixture.clock.advance(20 * 60_000);
    assert.match((await fixture.refused("receive_on_channel", { channel_id: other })).message, /has ended: there was no call for 600 s/);
    assert.equal(fixture.clock.pending, 0);
  });

  test("is refused beyond the viewer's limit until another has ended #theater.face.channels", async () => {
    await using fixture = faceFixture({ channels: 2, allChannels: 3 });
    const [first] = [await openChat(fixture), await openChat(fixture)];
    assert.match(
      (await fixture.refused("open_channel", { actor_id: "chat" })).message,
      /^InvalidRequest: you have 2 channels open, and no more at a time: close_channel one first\.$/,
    );
    await openChat(fixture, bob);
    assert.match((await fixture.refused("open_channel", { actor_id: "chat" }, bob)).message, /as many channels open as it can/);
    fixture.stage.peers.get(first)?.closed("done");
    await openChat(fixture);
    assert.match((await fixture.refused("receive_on_channel", { channel_id: first })).message, /has ended: done/);
  });

  test("is closed again if it is accepted after its caller has left", async () => {
    await using fixture = faceFixture({ requestMs: 1_000, channels: 1 });
    fixture.stage.add("chat");
    const held = Promise.withResolvers<void>();
    fixture.stage.blocked = held.promise;
    const pending = fixture.refused("open_channel", { actor_id: "chat" });
    await settle();
    await fixture.clock.advance(1_000);
    assert.equal((await pending).code, "Timeout");
    const cancellation = new Cancellation();
    const left = fixture.face.act(ada, "tools/open_channel", { actor_id: "chat" }, { signal: cancellation });
    await settle();
    cancellation.abort();
    await assert.rejects(left, (error) => error instanceof EngineError && error.code === "CANCELLED");
    held.resolve();
    fixture.stage.blocked = undefined;
    await settle();
    assert.deepEqual(fixture.stage.closed, ["ch_0000000000000001", "ch_0000000000000002"]);
    await openChat(fixture);
  });

  test("loses no message that arrives before it is open", async () => {
    await using fixture = faceFixture();
    fixture.stage.add("chat");
    const open = fixture.stage.open.bind(fixture.stage);
    fixture.stage.open = async (id, initial, peer) => {
      peer.message(bytesOf("early"));
      return open(id, initial, peer);
    };
    const channel_id = await openChat(fixture);
    assert.deepEqual((await fixture.call("receive_on_channel", { channel_id }))["messages"], [base64("early")]);
  });

  test("ends with the server", async () => {
    await using fixture = faceFixture();
    const channel_id = await openChat(fixture);
    await fixture.face[Symbol.asyncDispose]();
    assert.deepEqual(fixture.stage.closed, [channel_id]);
    assert.equal(fixture.clock.pending, 0);
    assert.equal((await fixture.refused("open_channel", { actor_id: "chat" })).code, "InternalError");
    await settle();
    assert.equal(fixture.stage.closed.length, 2);
  });

  test("is a resource with its pending messages, which reading does not remove", async () => {
    await using fixture = faceFixture();
    const channel_id = await openChat(fixture);
    let notified = 0;
    const undo = fixture.face.watch(ada, () => (notified += 1), { ref: "resources/channel", args: { channel_id } });
    const peer = fixture.stage.peers.get(channel_id);
    peer?.message(bytesOf("1"));
    assert.equal(notified, 1);
    const content = { channel_id, actor_id: [...fixture.stage.actors.keys()][0], messages: [base64("1")], dropped: 0 };
    assert.deepEqual(await fixture.read("channel", { channel_id }), content);
    assert.deepEqual(await fixture.read("channel", { channel_id }), content);
    await fixture.call("receive_on_channel", { channel_id });
    assert.equal(notified, 2);
    peer?.closed("done");
    assert.equal(notified, 3);
    assert.deepEqual(await fixture.read("channel", { channel_id }), { ...content, messages: [], closed: "done" });
    undo();
  });
});
