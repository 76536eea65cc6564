import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimulatedClock, SimulatedEntropy, until } from "troupe/testing";
import { PacketClientError, type PacketClientCode } from "./client-error.ts";
import { packetClient, type PacketClient } from "./client.ts";
import { isTroupeError } from "./world.fixture.ts";
import { PacketError } from "./packet.ts";
import { type Answering, type Heard, httpPackets, type PacketServer, tcpPackets, webSocketPackets } from "./packet-server.fixture.ts";

const DOORS: Readonly<Record<string, (answering: Answering) => Promise<PacketServer>>> = {
  http: (answering) => httpPackets(answering),
  websocket: webSocketPackets,
  tcp: (answering) => tcpPackets(answering),
};

const fails =
  (code: PacketClientCode, applied: false | "unknown") =>
  (error: unknown): boolean => {
    assert.ok(error instanceof PacketClientError, String(error));
    assert.deepEqual({ code: error.code, applied: error.applied }, { code, applied }, error.message);
    assert.match(error.message, applied === false ? /not applied: send it again\.$/ : /not known: look before/);
    return true;
  };

const refuses =
  (type: string) =>
  (error: unknown): boolean =>
    error instanceof PacketError && error.type === type;

/** Answers as each test says, and keeps pending packets for it. */
const echo: Answering = ({ packet, reply }) => {
  if (packet["type"] === "heartbeat") reply("heartbeat", {});
  else if (packet["type"] === "cancel") reply("capability_response", { cancelled: 1 });
  else if (packet["capability_id"] === "broken")
    reply("capability_error", { error: { type: "validation_failed", message: "No.", details: { missing: ["x"] } } });
  else if (packet["capability_id"] === "slow") {
    reply("capability_progress", { progress: 1, total: 2, message: "half" });
    reply("capability_response", { done: true });
  } else if (packet["capability_id"] !== "silent") reply("capability_response", { got: packet["payload"] ?? null });
};

for (const [name, open] of Object.entries(DOORS)) {
  describe(`a packet client over ${name}`, () => {
    test("sends packets and returns their replies", async () => {
      await using server = await open(echo);
      using client = packetClient(server.url);
      const reply = await client.send({ type: "capability_request", id: "mine", capability_id: "user_transform", payload: { a: 1 } });
      assert.equal(reply.type, "capability_response");
      assert.equal(reply.id, "mine");
      assert.deepEqual(reply.payload, { got: { a: 1 } });
      const refused = await client.send({ type: "capability_request", capability_id: "broken" });
      assert.equal(refused.type, "capability_error");
      assert.equal(server.heard[0]?.["version"], "1.0");
    });

    test("requests a capability or an actor, and throws the server's error", async () => {
      await using server = await open(echo);
      using client = packetClient(server.url, { context: { session_id: "s", trace_id: "t" } });
      assert.deepEqual(await client.request("user_transform", { a: 1 }, { context: { trace_id: "u" }, intent: "Do it" }), {
        got: { a: 1 },
      });
      await client.request("notes", {}, { actor_id: "one", actor_options: { create_if_missing: false } });
      await client.heartbeat();
      const [plain, actor, beat] = server.heard;
      assert.deepEqual(plain, { ...plain, type: "capability_request", intent: "Do it", context: { session_id: "s", trace_id: "u" } });
      assert.deepEqual(actor, { ...actor, type: "actor_message", actor_id: "one", actor_options: { create_if_missing: false } });
      assert.equal(beat?.["type"], "heartbeat");
      await assert.rejects(
        client.request("broken", {}),
        (error: unknown) =>
          error instanceof PacketError &&
          error.type === "validation_failed" &&
          error.message === "No." &&
          Array.isArray(error.details["missing"]),
      );
    });

    test("reports progress before the reply, and cancels if the listener throws", async () => {
      await using server = await open(echo);
      using client = packetClient(server.url);
      const steps: unknown[] = [];
      assert.deepEqual(await client.request("slow", {}, { onProgress: (...all) => steps.push(all) }), { done: true });
      assert.deepEqual(steps, [[1, 2, "half"]]);
      const thrown = new Error("mine");
      await assert.rejects(
        client.request(
          "slow",
          {},
          {
            onProgress: () => {
              throw thrown;
            },
          },
        ),
        (error: unknown) => fails("CANCELLED", "unknown")(error) && error instanceof Error && error.cause === thrown,
      );
    });

    test("sends no invalid packet, no second packet of one id, and no more than may wait", async () => {
      await using server = await open(echo);
      using client = packetClient(server.url, { maxWaiting: 2, maxWaitingChars: 5_000 });
      await assert.rejects(client.send({ type: "actor_message", payload: {} }), refuses("protocol_error"));
      await assert.rejects(client.send({ type: "capability_request", capability_id: "x", id: 5 }), refuses("protocol_error"));
      await assert.rejects(client.send({ type: "surprise" }), refuses("unknown_type"));
      const first = client.send({ type: "capability_request", id: "a", capability_id: "silent", payload: {} });
      await assert.rejects(client.send({ type: "capability_request", id: "a", capability_id: "silent" }), fails("ID_IN_USE", false));
      await assert.rejects(client.request("silent", { text: "x".repeat(5_000) }), fails("FULL", false));
      const second = client.request("silent", {});
      await assert.rejects(client.request("silent", {}), fails("FULL", false));
      await until("both are under way", () => server.heard.length === 2);
      client.close();
      await assert.rejects(first, fails("CLOSED", "unknown"));
      await assert.rejects(second, fails("CLOSED", "unknown"));
      await assert.rejects(client.heartbeat(), fails("CLOSED", false));
      assert.equal(server.heard.length, 2);
    });

    test("rejects when its caller aborts, and after its timeout", async () => {
      await using server = await open(echo);
      const clock = new SimulatedClock();
      using client = packetClient(server.url, { clock, timeoutMs: 5_000 });
      await assert.rejects(client.request("silent", {}, { signal: AbortSignal.abort(new Error("left")) }), fails("CANCELLED", false));
      const abort = new AbortController();
      const aborted = client.request("silent", {}, { signal: abort.signal });
      const timedOut = assert.rejects(client.request("silent", {}), fails("TIMEOUT", "unknown"));
      await until("they are under way", () => server.heard.length === 2);
      abort.abort(new Error("left"));
      await assert.rejects(aborted, fails("CANCELLED", "unknown"));
      await clock.advance(5_000);
      await timedOut;
      assert.equal(clock.pending, 0);
      assert.deepEqual(await client.request("user_transform", {}), { got: {} });
      if (name !== "http") {
        const cancels = server.heard.filter(({ type }) => type === "cancel").map(({ payload }) => Object(payload).id);
        assert.deepEqual(
          cancels,
          server.heard.slice(0, 2).map(({ id }) => id),
        );
      }
    });

    test("opens no connection after it was closed, though the token arrives then", async () => {
      await using server = await open(echo);
      const token = Promise.withResolvers<string>();
      let wanted = false;
      const client = packetClient(server.url, {
        token: () => {
          wanted = true;
          return token.promise;
        },
      });
      const closed = assert.rejects(client.heartbeat(), fails("CLOSED", false));
      await until("it wants a token", () => wanted);
      client.close();
      await closed;
      token.resolve("t");
      // The other client's whole exchange takes longer than opening this connection would.
      using other = packetClient(server.url);
      await other.heartbeat();
      assert.equal(server.connections, 1);
    });

    test("limits the wait for a token, and reports that nothing was sent", async () => {
      await using server = await open(echo);
      const clock = new SimulatedClock();
      using client = packetClient(server.url, { clock, timeoutMs: 5_000, token: () => new Promise<string>(() => undefined) });
      const timedOut = assert.rejects(client.heartbeat(), fails("TIMEOUT", false));
      await clock.advance(5_000);
      await timedOut;
      const closed = assert.rejects(client.heartbeat(), fails("CLOSED", false));
      client.close();
      await closed;
      const none = new Error("No token today.");
      using without = packetClient(server.url, { patienceMs: 0, token: () => Promise.reject(none) });
      await assert.rejects(
        without.heartbeat(),
        (error: unknown) => fails("UNREACHABLE", false)(error) && error instanceof Error && error.cause === none,
      );
      assert.deepEqual(server.heard, []);
    });

    test("reports that a packet may have been applied when the connection breaks, and continues", async () => {
      await using server = await open(echo);
      using client = packetClient(server.url);
      await client.heartbeat();
      const lost = client.request("silent", {});
      await until("it is under way", () => server.heard.length === 2);
      server.dropAll();
      await assert.rejects(lost, fails("LOST", "unknown"));
      assert.deepEqual(await client.request("user_transform", {}), { got: {} });
    });

    test("reports that a packet to an unreachable server was not applied", async () => {
      const server = await open(echo);
      await server[Symbol.asyncDispose]();
      using client = packetClient(server.url, { patienceMs: 0 });
      await assert.rejects(client.request("user_transform", {}), fails("UNREACHABLE", false));
    });

    test("rejects a reply that is not a packet or too long", async () => {
      await using server = await open(({ packet, say, reply }) => {
        if (packet["capability_id"] === "odd") say('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"What?"}}');
        else reply("capability_response", { text: "x".repeat(packet["capability_id"] === "long" ? 5_000 : 1) });
      });
      using client = packetClient(server.url, { maxReplyChars: 1_000 });
      await assert.rejects(client.request("odd", {}), fails("BAD_REPLY", "unknown"));
      await assert.rejects(
        client.request("long", {}),
        (error: unknown) => error instanceof PacketClientError && error.applied === "unknown",
      );
      assert.deepEqual(await client.request("short", {}), { text: "x" });
    });
  });
}

for (const [name, open] of Object.entries(DOORS).filter(([door]) => door !== "http")) {
  describe(`a packet client's connection over ${name}`, () => {
    test("carries many packets at once, whose replies arrive in another order", async () => {
      const held: (() => void)[] = [];
      await using server = await open(
        ({ packet, reply }) => void held.push(() => reply("capability_response", { got: packet["payload"] ?? null })),
      );
      using client = packetClient(server.url);
      const request = Array.from({ length: 20 }, (_, at) => client.request("x", { at }));
      await until("all are there", () => held.length === 20);
      for (const answer of held.toReversed()) answer();
      assert.deepEqual(
        await Promise.all(request),
        Array.from({ length: 20 }, (_, at) => ({ got: { at } })),
      );
      assert.equal(server.connections, 1);
    });

    test("does not use the reply of a cancelled packet for another with the same id", async () => {
      const requests: Heard[] = [];
      await using server = await open((heard) => void (heard.packet["type"] === "capability_request" && requests.push(heard)));
      using client = packetClient(server.url);
      const send = (signal?: AbortSignal) => client.send({ type: "capability_request", id: "a", capability_id: "x" }, signal && { signal });
      const left = new AbortController();
      const given = assert.rejects(send(left.signal), fails("CANCELLED", "unknown"));
      await until("it is under way", () => requests.length === 1);
      left.abort();
      await given;
      const again = send();
      await until("the cancel is there", () => server.heard.some(({ type }) => type === "cancel"));
      requests[0]?.reply("capability_progress", { progress: 1 });
      requests[0]?.reply("capability_error", { error: { type: "cancelled", message: "It was cancelled.", details: {} } });
      await until("the second is under way", () => requests.length === 2);
      requests[1]?.reply("capability_response", { n: 2 });
      assert.deepEqual((await again).payload, { n: 2 });
    });

    test("may end while nothing is pending, and is reopened for the next packet", async () => {
      await using server = await open(echo);
      using client = packetClient(server.url);
      await client.heartbeat();
      server.dropAll();
      await until("it is gone", () =>
        client.heartbeat().then(
          () => server.connections === 2,
          () => false,
        ),
      );
      await client.heartbeat();
      assert.equal(server.connections, 2);
    });

    test("ignores replies to no pending packet", async () => {
      await using server = await open(({ say, reply }) => {
        say(
          JSON.stringify({ version: "1.0", type: "capability_response", id: "who", payload: { wrong: true }, context: {}, metadata: {} }),
        );
        say(JSON.stringify({ version: "1.0", type: "capability_response", payload: { wrong: true }, context: {}, metadata: {} }));
        reply("capability_response", { right: true });
      });
      using client = packetClient(server.url);
      assert.deepEqual(await client.request("x", {}), { right: true });
    });
  });
}

/** Derives the pauses between attempts from the times of packets and attempts. */
class PauseClock extends SimulatedClock {
  readonly pauses: number[] = [];

  override after(ms: number, run: () => void): () => void {
    if (ms !== CONNECT_MS && ms !== TIMEOUT_MS) this.pauses.push(ms);
    return super.after(ms, run);
  }
}
const CONNECT_MS = 20_000;
const TIMEOUT_MS = 3_600_000;

describe("a packet client that reconnects", () => {
  const opened = (url: string, clock: PauseClock, patienceMs: number): PacketClient =>
    packetClient(url, { clock, entropy: new SimulatedEntropy(), patienceMs, timeoutMs: TIMEOUT_MS, connectMs: CONNECT_MS });
  const paused = (clock: PauseClock, times: number): Promise<void> =>
    until(`it pauses ${times} times`, () => clock.pauses.length === times);

  test("retries with pauses that double, for as long as a packet may wait #packet.client", async () => {
    const stopped = await tcpPackets(echo);
    const port = Number(new URL(stopped.url).port);
    await stopped[Symbol.asyncDispose]();
    const clock = new PauseClock();
    using client = opened(stopped.url, clock, 60_000);
    const request = client.request("user_transform", {});
    for (const times of [1, 2, 3, 4]) {
      await paused(clock, times);
      if (times < 4) await clock.advance(clock.pauses.at(-1) ?? 0);
    }
    for (const [at, ms] of clock.pauses.entries()) assert.ok(ms >= 50 * 2 ** at && ms <= 100 * 2 ** at, String(clock.pauses));
    await using back = await tcpPackets(echo, port);
    await clock.advance(clock.pauses.at(-1) ?? 0);
    assert.deepEqual(await request, { got: {} });
    assert.equal(back.heard.length, 1);
  });

  test("rejects pending packets after that time, as not applied", async () => {
    const stopped = await tcpPackets(echo);
    await stopped[Symbol.asyncDispose]();
    const clock = new PauseClock();
    using client = opened(stopped.url, clock, 1_000);
    const request = assert.rejects(client.request("user_transform", {}), fails("UNREACHABLE", false));
    let over = false;
    void request.then(() => (over = true));
    await until("it has given up", async () => {
      await clock.advance(100);
      return over;
    });
    await request;
    assert.equal(clock.pending, 0);
  });

  test("backs off from a server that accepts connections and drops them", async () => {
    await using server = await tcpPackets(({ drop }) => drop());
    const clock = new PauseClock();
    using client = opened(server.url, clock, 60_000);
    await assert.rejects(client.request("x", {}), fails("LOST", "unknown"));
    const second = assert.rejects(client.request("x", {}), fails("LOST", "unknown"));
    await paused(clock, 1);
    assert.equal(server.connections, 1);
    await clock.advance(100);
    await second;
    assert.equal(server.connections, 2);
  });

  test("stops waiting when it is closed", async () => {
    const stopped = await tcpPackets(echo);
    await stopped[Symbol.asyncDispose]();
    const clock = new PauseClock();
    const client = opened(stopped.url, clock, 60_000);
    const request = assert.rejects(client.request("x", {}), fails("CLOSED", false));
    await paused(clock, 1);
    client.close();
    await request;
    assert.equal(clock.pending, 0);
  });
});

describe("a packet client's token", () => {
  test("is sent with every HTTP request and WebSocket, and requested anew", async () => {
    for (const open of [httpPackets, webSocketPackets]) {
      await using server = await open(echo);
      let request = 0;
      using client = packetClient(server.url, { token: () => `t${(request += 1)}` });
      await client.heartbeat();
      assert.equal(server.headers["authorization"], "Bearer t1");
      server.dropAll();
      await until("it has asked again", () =>
        client.heartbeat().then(
          () => request === 2,
          () => false,
        ),
      );
      assert.equal(server.headers["authorization"], "Bearer t2");
    }
  });

  test("is sent first over TCP, once per connection, and no packet precedes its acceptance", async () => {
    const held: (() => void)[] = [];
    await using server = await tcpPackets((heard) => {
      if (Object(heard.packet["metadata"])["troupe/authorization"] === undefined) echo(heard);
      else held.push(() => heard.reply("heartbeat", {}));
    });
    using client = packetClient(server.url, { token: "secret" });
    const request = client.request("user_transform", { a: 1 });
    const second = client.request("user_transform", { a: 2 });
    await until("the token is there", () => held.length === 1);
    assert.deepEqual(
      server.heard.map(({ type, metadata }) => [type, metadata]),
      [["heartbeat", { "troupe/authorization": "Bearer secret" }]],
    );
    held[0]?.();
    assert.deepEqual(await Promise.all([request, second]), [{ got: { a: 1 } }, { got: { a: 2 } }]);
    assert.equal(JSON.stringify(server.heard).match(/secret/g)?.length, 1);
  });

  test("is reported as unauthorized when refused", async () => {
    const payload = { error: { type: "unauthorized", message: "The token has expired.", details: {} } };
    await using tcp = await tcpPackets(({ reply, drop }) => {
      reply("capability_error", payload);
      drop();
    });
    await using http = await httpPackets(echo, (_, response) => {
      response.writeHead(401).end('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"The token has expired."}}');
      return true;
    });
    for (const { url } of [tcp, http]) {
      using client = packetClient(url, { token: "old" });
      await assert.rejects(
        client.request("x", {}),
        (error: unknown) => refuses("unauthorized")(error) && /has expired/.test(String(error)),
      );
    }
    assert.equal(tcp.heard.length, 1);
  });

  test("is refused before anything is sent if it holds what no token has, and is in no error", async () => {
    for (const open of Object.values(DOORS)) {
      await using server = await open(echo);
      for (const token of ["sec\nret", "secret\u{2603}", "sec ret"]) {
        using client = packetClient(server.url, { token, patienceMs: 0 });
        await assert.rejects(client.heartbeat(), (error: unknown) => refuses("unauthorized")(error) && !/sec|ret/.test(String(error)));
      }
      assert.equal(server.connections, 0);
    }
    await using server = await httpPackets(echo);
    using client = packetClient(server.url, { token: "secret\n" });
    await client.heartbeat();
    assert.equal(server.headers["authorization"], "Bearer secret");
  });

  test("is not sent to the target of a redirect", async () => {
    await using target = await httpPackets(echo);
    await using server = await httpPackets(echo, (_, response) => {
      response.writeHead(307, { location: `${target.url}/packets` }).end();
      return true;
    });
    using client = packetClient(server.url, { token: "secret" });
    await assert.rejects(client.heartbeat(), fails("BAD_REPLY", false));
    assert.equal(target.connections, 0);
  });
});

test("a request that was never sent is UNREACHABLE, with the reason: a port that fetch refuses, a server without TLS", async () => {
  await using server = await httpPackets(echo);
  for (const [url, reason] of [
    ["http://127.0.0.1:6000", /bad port/],
    [server.url.replace("http:", "https:"), /ERR_SSL_WRONG_VERSION_NUMBER/],
  ] as const) {
    using client = packetClient(url);
    await assert.rejects(client.heartbeat(), (error: unknown) => fails("UNREACHABLE", false)(error) && reason.test(String(error)));
  }
});

test("an HTTP response that is not a packet shows whether the packet may have been applied", async () => {
  let status = 0;
  await using server = await httpPackets(echo, (_, response) => {
    response.writeHead(status).end("<html>");
    return true;
  });
  using client = packetClient(server.url);
  for (const [code, expected, applied] of [
    [404, "BAD_REPLY", false],
    [413, "BAD_REPLY", false],
    [503, "UNREACHABLE", false],
    [429, "UNREACHABLE", false],
    [502, "BAD_REPLY", "unknown"],
    [200, "BAD_REPLY", "unknown"],
  ] as const) {
    status = code;
    await assert.rejects(client.heartbeat(), fails(expected, applied), String(code));
  }
});

test("an invalid address is refused, with the valid forms", () => {
  for (const url of ["", "127.0.0.1:3000", "ftp://x", "tcp://x", "tcp://x:1/path", "http://me:word@x/packets", "file:///x", "tcp://:80"])
    assert.throws(
      () => packetClient(url),
      (error: unknown) => isTroupeError(error, "BAD_DEFINITION") && /tcp:\/\/host:port/.test(error.message),
      url,
    );
});

test("an error of an unknown type is execution_failed, and names the type", async () => {
  await using server = await httpPackets(({ reply }) => reply("capability_error", { error: { type: "moon_phase", message: "Wait." } }));
  using client = packetClient(server.url);
  await assert.rejects(
    client.request("x", {}),
    (error: unknown) => refuses("execution_failed")(error) && error instanceof PacketError && error.details["type"] === "moon_phase",
  );
});
