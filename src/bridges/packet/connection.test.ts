import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { settle, until } from "../../testing/index.ts";
import type { Channel } from "../../core/contract/index.ts";
import { connectInMemory } from "../../mcp/transport/index.ts";
import { packetConnection, type PacketConnectionOptions } from "./connection.ts";
import { fakeFlow, packet, replyIn } from "./fake-flow.fixture.ts";

function connect(options: PacketConnectionOptions = {}) {
  const flow = fakeFlow();
  const client = connectInMemory(
    { connect: (channel, caller) => packetConnection(flow, channel, caller, options) },
    { principal: "ada", scopes: ["play"] },
  );
  const texts: string[] = [];
  client.onMessage((text) => texts.push(text));
  const end = async (): Promise<void> => {
    const closed = client.close();
    flow.release();
    await closed;
  };
  return { flow, client, texts, replies: () => texts.map(replyIn), [Symbol.asyncDispose]: end };
}

describe("a packet connection", () => {
  it("answers each packet when it is ready, as its caller", async () => {
    await using at = connect();
    at.client.send(packet("slow", { do: "hold" }));
    at.client.send(packet("quick", { n: 1 }));
    at.client.send(Buffer.from(packet("bytes")));
    await settle();
    assert.deepEqual(
      at.replies().map(({ id, type }) => [id, type]),
      [
        ["quick", "capability_response"],
        ["bytes", "capability_response"],
      ],
    );
    assert.deepEqual(at.replies()[0]?.payload, { n: 1, principal: "ada" });
    at.flow.release();
    await settle();
    assert.equal(at.replies()[2]?.id, "slow");
    assert.deepEqual(at.flow.sessions[0]?.caller, { principal: "ada", scopes: ["play"] });
  });

  it("answers invalid packets and internal failures, and continues", async () => {
    await using at = connect();
    at.client.send("{");
    at.client.send(packet("broken", { do: "throw" }));
    at.client.send(packet("after"));
    await settle();
    assert.deepEqual(
      new Map(at.replies().map(({ id, error }) => [id, error])),
      new Map([
        [undefined, "protocol_error"],
        ["broken", "execution_failed"],
        ["after", undefined],
      ]),
    );
    assert.ok(at.texts.every((text) => !text.includes("secret")));
  });

  it("sends progress before its reply", async () => {
    await using at = connect();
    at.client.send(packet("a", { do: "progress" }));
    await settle();
    assert.deepEqual(
      at.replies().map(({ type, payload }) => [type, payload["progress"]]),
      [
        ["capability_progress", 1],
        ["capability_progress", 2],
        ["capability_response", undefined],
      ],
    );
  });

  it("C8 queues the newest progress of each request for a client that does not read, and none after its reply", async () => {
    await using at = connect();
    at.client.send(packet("a", { do: "hold" }));
    at.client.send(packet("b", { do: "hold" }));
    at.client.pause();
    for (let value = 1; value <= 1_000; value += 1) at.flow.progress(value);
    at.client.send({ version: "1.0", type: "cancel", id: "c", payload: { id: "b" } });
    await settle();
    at.client.resume();
    await settle();
    const progress = at.replies().filter(({ type }) => type === "capability_progress");
    assert.deepEqual(
      progress.map(({ id, payload }) => [id, payload["progress"]]),
      [["a", 1_000]],
    );
    at.flow.progress(1_001);
    assert.equal(at.replies().at(-1)?.payload["progress"], 1_001);
  });

  it("answers rate_limited beyond its limit, and still accepts a cancel and a heartbeat", async () => {
    await using at = connect({ inFlight: 2 });
    at.client.send(packet("a", { do: "hold" }));
    at.client.send(packet("b", { do: "hold" }));
    at.client.send(packet("c", { do: "hold" }, { intent: "to be repeated", actor_id: "x" }));
    at.client.send("no packet");
    await settle();
    const [refused, broken] = at.texts.map((text): unknown => JSON.parse(text));
    assert.deepEqual(refused, {
      version: "1.0",
      type: "capability_error",
      id: "c",
      intent: "to be repeated",
      capability_id: "echo",
      actor_id: "x",
      payload: {
        error: {
          type: "rate_limited",
          message: "At most 2 packets of one connection are under way at once: wait for a reply before you send more.",
          details: { limit: 2, used: 2, reset: 1 },
        },
      },
      context: { trace_id: "t-c" },
      metadata: { execution_time_ms: 0, error_code: "RATE_LIMITED", retry_after: 1 },
    });
    assert.ok(broken);
    assert.equal(at.flow.sessions[0]?.received.length, 2);
    at.client.send({ version: "1.0", type: "heartbeat", id: "h" });
    at.client.send({ version: "1.0", type: "cancel", id: "x", payload: { id: "a" } });
    await settle();
    const later = at.replies().slice(2);
    assert.deepEqual(
      new Map(later.map(({ id, type, error }) => [id, error ?? type])),
      new Map([
        ["h", "heartbeat"],
        ["x", "capability_response"],
        ["a", "cancelled"],
      ]),
    );
    at.client.send(packet("d", { do: "hold" }));
    await settle();
    assert.equal(at.flow.held, 2);
  });

  it("limits 10,000 packets at once: 1,000 run, the rest is refused by id", async () => {
    await using at = connect();
    for (let n = 0; n < 10_000; n += 1) at.client.send(packet(String(n), { do: "hold" }));
    await until("all that may run do", () => at.flow.held >= 1_000);
    await settle();
    assert.equal(at.flow.held, 1_000);
    assert.equal(at.texts.length, 9_000);
    assert.ok(at.replies().every(({ error, id }, index) => error === "rate_limited" && id === String(index + 1_000)));
    at.flow.release();
    await settle();
    assert.equal(at.texts.length, 10_000);
  });

  it("answers requests received before the client's side ended, and reads no more", async () => {
    const at = connect();
    at.client.send(packet("a", { do: "hold" }));
    const closed = at.client.close();
    at.client.send(packet("late"));
    await settle();
    assert.equal(at.flow.sessions[0]?.closed, false);
    at.flow.release();
    await closed;
    assert.deepEqual(
      at.replies().map(({ id, type }) => [id, type]),
      [["a", "capability_response"]],
    );
    assert.equal(at.flow.sessions[0]?.closed, true);
    assert.equal(at.flow.cancelled, 0);
  });

  it("cancels what runs for a client that has disconnected", async () => {
    const flow = fakeFlow();
    const disconnected = new AbortController();
    const sent: string[] = [];
    const channel = {
      send: (text: string) => void sent.push(text),
      ready: true,
      onReady: () => () => {},
      disconnected: disconnected.signal,
      close() {},
    };
    const connection = packetConnection(flow, channel, { scopes: [] });
    connection.receive(packet("a", { do: "hold" }));
    connection.receive(packet("b", { do: "hold" }));
    await settle();
    disconnected.abort();
    await connection.close();
    assert.equal(flow.cancelled, 2);
    assert.equal(flow.held, 0);
    connection.receive(packet("late"));
    await settle();
    assert.equal(flow.sessions[0]?.received.length, 2);
    const closed = packetConnection(flow, channel, { scopes: [] });
    closed.receive(packet("c", { do: "hold" }));
    await closed.close();
    assert.equal(flow.sessions[1]?.received.length, 0);
    assert.equal(flow.sessions[1]?.closed, true);
  });

  it("C8 queues packets of a client that does not read, and starts them in order once it reads", async () => {
    await using at = connect();
    at.client.pause();
    for (let n = 0; n < 100; n += 1) at.client.send(Buffer.from(packet(String(n))));
    await settle();
    assert.equal(at.flow.sessions[0]?.received.length, 0);
    at.client.resume();
    await until("all are answered", () => at.texts.length === 100);
    assert.deepEqual(
      at.flow.sessions[0]?.received.map(({ id }) => id),
      Array.from({ length: 100 }, (_, n) => String(n)),
    );
  });

  it("C8 starts few packets of one read while their first replies are not read", async () => {
    const to = deaf();
    const { flow, connection } = to;
    for (let n = 0; n < 900; n += 1) connection.receive(packet(String(n)));
    await settle();
    const first = flow.sessions[0]?.received.length ?? 0;
    assert.ok(first > 0 && first <= 8, String(first));
    assert.equal(to.sent.length, first);
    for (let turn = 0; to.sent.length < 900; turn += 1) {
      assert.ok(turn < 900);
      to.read();
      await settle();
    }
    assert.deepEqual(
      to.sent.map((text) => replyIn(text).id),
      Array.from({ length: 900 }, (_, n) => String(n)),
    );
    await connection.close();
  });

  it("counts queued packets and unread replies as in flight, and accepts a bounded number of heartbeats beyond", async () => {
    const to = deaf({ inFlight: 3 });
    const { flow, connection } = to;
    connection.receive(packet("a"));
    await settle();
    for (const id of ["b", "c", "d"]) connection.receive(packet(id));
    assert.deepEqual(
      to.sent.map((text) => [replyIn(text).id, replyIn(text).error]),
      [
        ["a", undefined],
        ["d", "rate_limited"],
      ],
    );
    for (let n = 0; n < 200; n += 1) {
      connection.receive(JSON.stringify({ version: "1.0", type: "heartbeat", id: `h${n}` }));
      await Promise.resolve();
    }
    await settle();
    assert.equal(to.sent.filter((text) => replyIn(text).type === "heartbeat").length, 64);
    to.read();
    await until("the next has begun", () => flow.sessions[0]?.received.some(({ id }) => id === "b") === true);
    to.read();
    await connection.close();
    assert.deepEqual(
      flow.sessions[0]?.received.map(({ id }) => id).filter((id) => id?.startsWith("h") === false),
      ["a", "b", "c"],
    );
  });

  it("C8 holds at most 4 MiB of a client that does not read, and answers rate_limited beyond", async () => {
    const at = connect();
    at.client.pause();
    const text = "x".repeat(1_000_000);
    for (let n = 0; n < 6; n += 1) at.client.send(packet(String(n), { text }));
    at.client.send(packet("small"));
    at.client.resume();
    await until("all are answered", () => at.texts.length === 7);
    await at[Symbol.asyncDispose]();
    assert.deepEqual(
      at.replies().map(({ id, error }) => [id, error]),
      [["4", "rate_limited"], ["5", "rate_limited"], ...["0", "1", "2", "3", "small"].map((id) => [id, undefined])],
    );
  });

  it("answers a queued packet as cancelled when it is cancelled, and never starts it", async () => {
    await using at = connect();
    at.client.send(packet("b", { do: "hold" }));
    at.client.pause();
    for (const id of ["a", "b", "c"]) at.client.send(packet(id));
    at.client.send({ version: "1.0", type: "cancel", id: "x", payload: { id: "b" } });
    at.client.send({ version: "1.0", type: "cancel", id: "y", payload: { id: "none" } });
    await settle();
    at.client.resume();
    await settle();
    assert.deepEqual(
      at.replies().map(({ id, error, payload }) => [id, error, payload["cancelled"]]),
      [
        ["b", "cancelled", undefined],
        ["x", undefined, 2],
        ["y", undefined, 0],
        ["b", "cancelled", undefined],
        ["a", undefined, undefined],
        ["c", undefined, undefined],
      ],
    );
    assert.deepEqual(
      at.flow.sessions[0]?.received.map(({ id }) => id),
      ["b", "x", "y", "a", "c"],
    );
  });

  it("answers queued packets after the client's side has ended, and drops them after a disconnect", async () => {
    const at = connect();
    at.client.pause();
    at.client.send(packet("a"));
    const closed = at.client.close();
    await settle();
    assert.equal(at.flow.sessions[0]?.closed, false);
    at.client.resume();
    await closed;
    assert.deepEqual(
      at.replies().map(({ id, type }) => [id, type]),
      [["a", "capability_response"]],
    );
    const to = deaf();
    to.connection.receive(packet("a"));
    await settle();
    to.connection.receive(packet("b"));
    const closing = to.connection.close();
    to.disconnected.abort();
    await closing;
    to.read();
    await settle();
    assert.equal(to.flow.sessions[0]?.received.length, 1);
    assert.equal(to.flow.sessions[0]?.closed, true);
  });
});

/** A client that reads only on request: after each reply its channel is not ready. */
function deaf(options: PacketConnectionOptions = {}) {
  const flow = fakeFlow();
  const disconnected = new AbortController();
  const sent: string[] = [];
  const waiting = new Set<() => void>();
  let ready = true;
  const channel: Channel = {
    get ready() {
      return ready;
    },
    send(text) {
      sent.push(text);
      ready = false;
    },
    onReady(run) {
      waiting.add(run);
      return () => void waiting.delete(run);
    },
    disconnected: disconnected.signal,
    close() {},
  };
  const connection = packetConnection(flow, channel, { scopes: [] }, options);
  const read = (): void => {
    ready = true;
    for (const run of Array.from(waiting)) run();
  };
  return { flow, disconnected, sent, connection, read };
}
