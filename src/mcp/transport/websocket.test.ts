import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { echoOf, fakeGateway, type FakeOptions } from "../../../test/transport/fake-gateway.ts";
import { head, rawSocket } from "../../../test/transport/raw-socket.ts";
import { eventually } from "../../../test/transport/settle.ts";
import type { Json, SocketMount } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { type Authenticator, authenticator, hashApiKey, type HttpOptions, serveHttp } from "./index.ts";

const KEY = "a-key-of-at-least-sixteen-characters";
const auth = (expiresAt?: number): Promise<Authenticator> =>
  authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY), scopes: ["play"], ...(expiresAt === undefined ? {} : { expiresAt }) }] });

async function serve(options: Partial<HttpOptions> = {}, fake: FakeOptions = {}) {
  const gateway = fakeGateway(fake);
  const logged: Json[] = [];
  const door = await serveHttp({
    gateway,
    upgrades: [{ path: "/socket", protocol: "talk.v1", connect: (channel, caller) => gateway.connect(channel, caller) }],
    log: (_level, data) => void logged.push(data),
    ...options,
  });
  return { gateway, door, logged, port: door.port, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

interface Opened {
  readonly ws: WebSocket;
  readonly texts: string[];
  readonly closed: Promise<readonly [code: number, reason: string]>;
}

/** A client whose handshake has ended, one way or the other. */
async function open(port: number, headers: Readonly<Record<string, string>> = {}, protocols: string[] = []): Promise<Opened> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/socket`, protocols, { headers });
  const texts: string[] = [];
  ws.on("message", (data) => texts.push(Buffer.isBuffer(data) ? data.toString() : ""));
  const closed = new Promise<readonly [number, string]>((done) => void ws.once("close", (code, reason) => done([code, reason.toString()])));
  await new Promise<void>((done, failed) => {
    ws.once("open", done);
    ws.once("error", failed);
  });
  ws.on("error", () => {});
  return { ws, texts, closed };
}

const HANDSHAKE = [
  "host: 127.0.0.1",
  "connection: Upgrade",
  "upgrade: websocket",
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version: 13",
];
const handshake = (...lines: string[]): string => head("GET /socket HTTP/1.1", ...HANDSHAKE, ...lines);

/** A client frame, masked with nothing. */
function frame(first: number, payload: Uint8Array | string, length?: number): Buffer {
  const body = Buffer.from(payload);
  const size = length ?? body.length;
  const extended = size < 126 ? Buffer.from([0x80 | size]) : Buffer.from([0x80 | 126, size >> 8, size & 255]);
  return Buffer.concat([Buffer.from([first]), extended, Buffer.alloc(4), body]);
}
const TEXT = 0x81;
const BINARY_WHOLE = 0x82;
const TEXT_BEGUN = 0x01;
const CONTINUED = 0x00;
const PING = 0x89;

describe("WebSocket", () => {
  it("sends one message per text frame, in both directions, without a principal", async () => {
    await using server = await serve();
    const { ws, texts, closed } = await open(server.port);
    ws.send('{"id":1,"method":"ž"}');
    ws.send('{"id":2}');
    await eventually(() => texts.length === 2);
    assert.match(texts[0] ?? "", /"id":1.*"method":"ž".*"principal":null/);
    const [connection] = server.gateway.connections;
    assert.equal(connection?.caller.peer, "127.0.0.1");
    ws.close(1000);
    assert.equal((await closed)[0], 1000);
    await connection?.closed;
    assert.equal(connection?.channel.disconnected.aborted, true);
    connection?.channel.send("after the close");
  });

  it("accepts its subprotocol or none, and no extension", async () => {
    await using server = await serve();
    const { ws } = await open(server.port, {}, ["else.v1", "talk.v1"]);
    assert.equal(ws.protocol, "talk.v1");
    assert.equal(ws.extensions, "");
    ws.terminate();
    await using raw = await rawSocket(server.port);
    raw.write(handshake("sec-websocket-protocol: else.v1", "sec-websocket-extensions: permessage-deflate"));
    assert.doesNotMatch(await raw.until("\r\n\r\n"), /sec-websocket-(?:protocol|extensions)/i);
  });

  it("checks Host, Origin, repeated headers, version and token like every request #packet.doors.rules", async () => {
    await using server = await serve({ auth: await auth() });
    const answer = async (...lines: string[]): Promise<string> => {
      await using client = await rawSocket(server.port);
      client.write(head("GET /socket HTTP/1.1", ...lines));
      return await client.closed();
    };
    const token = `authorization: Bearer ${KEY}`;
    const rest = HANDSHAKE.slice(1);
    assert.match(await answer("host: evil.example", ...rest, token), /^HTTP\/1\.1 403 [\s\S]*not known by that Host/);
    assert.match(await answer(...HANDSHAKE, token, "origin: https://evil.example"), /^HTTP\/1\.1 403 [\s\S]*Pages of that Origin/);
    assert.match(await answer(...HANDSHAKE, token, "origin: null"), /^HTTP\/1\.1 403 /);
    assert.match(await answer(...HANDSHAKE, token, token), /^HTTP\/1\.1 400 [\s\S]*authorization was sent twice/);
    assert.match(
      await answer(...HANDSHAKE.slice(0, 4), "sec-websocket-version: 8", token),
      /^HTTP\/1\.1 426 [\s\S]*sec-websocket-version: 13\r\n/,
    );
    assert.match(
      await answer(...HANDSHAKE.slice(0, 3), "sec-websocket-version: 13", token),
      /^HTTP\/1\.1 400 [\s\S]*no WebSocket handshake/,
    );
    assert.match(await answer(...HANDSHAKE), /^HTTP\/1\.1 401 [\s\S]*www-authenticate: Bearer/);
    assert.match(await answer(...HANDSHAKE, "authorization: Bearer wrong-token-of-some-length"), /^HTTP\/1\.1 401 [\s\S]*not known here/);
    assert.equal(server.gateway.connections.length, 0);
    await eventually(() => server.logged.some((entry) => JSON.stringify(entry).includes("request-refused")));
    const { ws, texts } = await open(server.port, { authorization: `Bearer ${KEY}`, origin: `http://localhost:${server.port}` });
    ws.send('{"id":1}');
    await eventually(() => texts.length === 1);
    assert.match(texts[0] ?? "", /"principal":"ada","scopes":\["play"\]/);
    ws.terminate();
  });

  it("is only at its path; an upgrade elsewhere or with a body is a plain request", async () => {
    await using server = await serve();
    const status = async (text: string): Promise<string> => {
      await using client = await rawSocket(server.port);
      client.write(text);
      return (await client.until("\r\n\r\n")).slice(9, 12);
    };
    assert.equal(await status(head("GET /else HTTP/1.1", ...HANDSHAKE)), "404");
    assert.equal(await status(head("GET /socket/below HTTP/1.1", ...HANDSHAKE)), "404");
    assert.equal(await status(head("GET /socket HTTP/1.1", ...HANDSHAKE, "content-length: 2") + "{}"), "404");
    for (const path of ["/socket/", "//socket"]) assert.equal(await status(head(`GET ${path} HTTP/1.1`, ...HANDSHAKE)), "101", path);
    assert.equal(await status(head("GET /healthz HTTP/1.1", "host: 127.0.0.1", "connection: upgrade", "upgrade: h2c")), "200");
    assert.equal(await status(handshake()), "101");
    const gateway = fakeGateway();
    const upgrade: SocketMount = { path: "/socket", connect: (channel, caller) => gateway.connect(channel, caller) };
    await assert.rejects(serveHttp({ gateway, upgrades: [upgrade, upgrade] }), { code: "BAD_OPTION", message: /Two WebSocket endpoints/ });
    await assert.rejects(serveHttp({ gateway, upgrades: [{ ...upgrade, path: "socket" }] }), { code: "BAD_OPTION" });
  });

  it("is not opened behind a request without an answer, which is still answered", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using server = await serve({
      endpoints: [{ path: "/slow", handle: () => promise.then(() => ({ status: 200, body: "{}" })) }],
    });
    await using client = await rawSocket(server.port);
    client.write(head("GET /slow HTTP/1.1", "host: 127.0.0.1") + handshake());
    setImmediate(resolve);
    assert.match(await client.until(/HTTP\/1\.1 4/), /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 404 /);
    assert.equal(server.gateway.connections.length, 0);
  });

  it("closes on binary (1003), too large (1009), not UTF-8 (1007), too many fragments (1008) or no frame (1002)", async () => {
    await using server = await serve({ limits: { bodyBytes: 1_000 } });
    const codeOf = async (say: (ws: WebSocket) => void): Promise<number> => {
      const { ws, closed } = await open(server.port);
      say(ws);
      return (await closed)[0];
    };
    const raw = async (bytes: Uint8Array): Promise<number> => {
      await using client = await rawSocket(server.port);
      const got: Buffer[] = [];
      client.socket.on("data", (chunk) => got.push(Buffer.from(chunk)));
      client.write(handshake());
      await client.until("\r\n\r\n");
      client.write(bytes);
      await client.closed();
      const all = Buffer.concat(got);
      return all.readUInt16BE(all.indexOf("\r\n\r\n") + 6);
    };
    assert.equal(await codeOf((ws) => ws.send(Buffer.from("{}"), { binary: true })), 1003);
    assert.equal(await codeOf((ws) => ws.send("x".repeat(1_001))), 1009);
    assert.equal(await raw(frame(TEXT, "", 60_000)), 1009);
    assert.equal(await raw(frame(TEXT, Buffer.from([0xff, 0xfe]))), 1007);
    assert.equal(await raw(Buffer.concat([frame(TEXT_BEGUN, "a"), ...Array.from({ length: 2_000 }, () => frame(CONTINUED, ""))])), 1008);
    assert.equal(await raw(Buffer.from([TEXT, 2, 123, 125])), 1002);
    assert.ok(server.gateway.connections.every(({ frames }) => frames.length === 0));
    await eventually(() => server.gateway.connections.every(({ channel }) => channel.disconnected.aborted));
  });

  it("replies to what was sent before a binary frame, then closes", async () => {
    const held = Promise.withResolvers<void>();
    await using server = await serve(
      {},
      { receive: (text, channel, caller) => void held.promise.then(() => channel.send(JSON.stringify(echoOf(text, caller)))) },
    );
    const { ws, texts, closed } = await open(server.port);
    server.gateway.held.add(held.promise);
    ws.send('{"id":1}');
    ws.send(Buffer.from("{}"), { binary: true });
    ws.send('{"id":2}');
    await eventually(() => server.logged.length === 1);
    held.resolve();
    assert.deepEqual(await closed, [1003, "Send text frames, one message each."]);
    assert.match(texts.join(), /^\{"jsonrpc":"2.0","id":1,[^]*(?<!"id":2.*)$/);
    assert.deepEqual(server.gateway.connections[0]?.frames, ['{"id":1}']);
  });

  it("gives a refused client the time to read a large reply", async () => {
    const held = Promise.withResolvers<void>();
    const reply = JSON.stringify("x".repeat(20_000_000));
    await using server = await serve({}, { receive: (_, channel) => void held.promise.then(() => channel.send(reply)) });
    server.gateway.held.add(held.promise);
    const { ws, texts, closed } = await open(server.port);
    ws.send('{"id":1}');
    ws.send(Buffer.from("{}"), { binary: true });
    await eventually(() => server.logged.length === 1);
    ws.pause();
    held.resolve();
    await sleep(1_500);
    ws.resume();
    assert.deepEqual(await closed, [1003, "Send text frames, one message each."]);
    assert.deepEqual(
      texts.map((text) => text.length),
      [reply.length],
    );
  });

  it("drops a refused client that vanished while a request of it runs", async () => {
    const clock = new SimulatedClock();
    await using server = await serve({ clock, limits: { keepAliveMs: 1_000, requestMs: 3_000 } });
    server.gateway.held.add(new Promise(() => undefined));
    await using client = await rawSocket(server.port);
    client.write(handshake());
    await client.until("\r\n\r\n");
    client.write(frame(BINARY_WHOLE, "{}"));
    await eventually(() => JSON.stringify(server.logged).includes("Send text frames"));
    client.socket.pause();
    for (let n = 0; n < 3; n += 1) await clock.advance(1_000);
    await eventually(() => server.gateway.connections[0]?.channel.disconnected.aborted === true);
  });

  it("accepts a fragmented message, with a ping in between", async () => {
    await using server = await serve();
    await using client = await rawSocket(server.port);
    client.write(Buffer.concat([Buffer.from(handshake()), frame(TEXT_BEGUN, '{"id":'), frame(PING, "hey"), frame(0x80, "7}")]));
    assert.match(await client.until('"id":7'), /hey/);
  });

  it("drops a client that vanished, but not a silent one that answers pings", async () => {
    const clock = new SimulatedClock();
    await using server = await serve({ clock, limits: { keepAliveMs: 1_000, requestMs: 3_000 } });
    const alive = await open(server.port);
    let pings = 0;
    alive.ws.on("ping", () => (pings += 1));
    // Half-open: nothing of it is read any more, so no pong comes.
    await using vanished = await rawSocket(server.port);
    vanished.write(handshake());
    await vanished.until("\r\n\r\n");
    vanished.socket.pause();
    await clock.advance(1_000);
    await eventually(() => pings === 1);
    alive.ws.send('{"id":1}');
    await eventually(() => alive.texts.length === 1);
    await clock.advance(1_000);
    await eventually(() => pings === 2);
    await eventually(() => server.logged.some((entry) => JSON.stringify(entry).includes('"reason":"silent"')));
    await eventually(() => server.gateway.connections[1]?.channel.disconnected.aborted === true);
    for (let n = 0; n < 8; n += 1) {
      const answered = new Promise((done) => void alive.ws.once("pong", done));
      alive.ws.ping("still here");
      await answered;
      await clock.advance(1_000);
    }
    assert.equal(server.gateway.connections[0]?.channel.disconnected.aborted, false);
    alive.ws.terminate();
  });

  it("closes on a message that does not end in time", async () => {
    const clock = new SimulatedClock();
    await using server = await serve({ clock, limits: { keepAliveMs: 1_000, requestMs: 3_000 } });
    await using client = await rawSocket(server.port);
    client.write(handshake());
    await client.until("\r\n\r\n");
    client.write(frame(TEXT_BEGUN, "x".repeat(500)));
    for (let n = 0; n < 4; n += 1) {
      client.write(Buffer.concat([frame(CONTINUED, "x"), frame(PING, `ping ${n}`)]));
      await client.until(`ping ${n}`);
      await clock.advance(1_000);
    }
    await client.until("A message was begun and did not end in time");
    assert.equal(server.gateway.connections[0]?.frames.length, 0);
  });

  it("C8 pauses and then drops a client that does not read", async () => {
    await using server = await serve({ limits: { blockedMs: 300 } }, { receive: (_text, channel) => channel.send("x".repeat(100_000)) });
    await using client = await rawSocket(server.port);
    client.write(handshake());
    await client.until("\r\n\r\n");
    client.socket.pause();
    for (let n = 0; n < 2_000; n += 1) client.write(frame(TEXT, "{}".padEnd(1_000)));
    await eventually(() => server.logged.some((entry) => JSON.stringify(entry).includes('"reason":"blocked"')));
    await eventually(() => server.gateway.connections[0]?.channel.disconnected.aborted === true);
    assert.ok((server.gateway.connections[0]?.frames.length ?? 2_000) < 1_000);
  });

  it("C8 resumes with a client that reads again", async () => {
    await using server = await serve({}, { receive: (text, channel) => channel.send(`${text}${"x".repeat(100_000)}`) });
    const { ws, texts } = await open(server.port);
    ws.pause();
    for (let n = 0; n < 300; n += 1) ws.send(`${n} `.padEnd(1_000));
    await eventually(() => server.gateway.connections[0]?.channel.ready === false);
    ws.resume();
    await eventually(() => texts.length === 300);
    assert.deepEqual(
      texts.map((text) => Number(text.split(" ")[0])),
      Array.from({ length: 300 }, (_, n) => n),
    );
    await eventually(() => server.gateway.connections[0]?.channel.ready === true);
    ws.terminate();
  });

  it("C8 queues no pongs for a client that pings and does not read", async () => {
    await using server = await serve({ limits: { queuedBytes: 1_000_000 } });
    await using client = await rawSocket(server.port);
    client.write(handshake());
    await client.until("\r\n\r\n");
    client.socket.pause();
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => frame(PING, "x".repeat(120))));
    for (let n = 0; n < 100; n += 1) client.write(pings);
    await eventually(() => client.socket.writableLength === 0);
    assert.ok(!server.logged.some((entry) => JSON.stringify(entry).includes("client-dropped")));
    client.socket.resume();
    client.write(frame(TEXT, '{"id":1}'));
    await client.until('"id":1');
  });

  it("counts as a stream, per caller and in total, until it closes", async () => {
    await using server = await serve({ auth: await auth(), limits: { streamsPerCaller: 2 } });
    const token = { authorization: `Bearer ${KEY}` };
    const first = await open(server.port, token);
    const second = await open(server.port, token);
    await assert.rejects(open(server.port, token), /429/);
    first.ws.terminate();
    await eventually(() => server.gateway.connections[0]?.channel.disconnected.aborted === true);
    const third = await open(server.port, token);
    second.ws.terminate();
    third.ws.terminate();
  });

  it("closes (1008) when the token expires", async () => {
    const clock = new SimulatedClock(Date.now());
    const keys = [{ name: "ada", sha256: hashApiKey(KEY), expiresAt: clock.now() + 60_000 }];
    await using server = await serve({ clock, auth: await authenticator({ keys, clock }) });
    const { closed } = await open(server.port, { authorization: `Bearer ${KEY}` });
    await clock.advance(60_000);
    assert.deepEqual(await closed, [1008, "The token has expired: connect again with a fresh one."]);
  });

  it("closes: reads no more, waits for running requests, then closes with 1001", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const server = await serve({}, { receive: (text, channel) => void promise.then(() => channel.send(text)) });
    server.gateway.held.add(promise);
    const { ws, texts, closed } = await open(server.port);
    ws.send("1");
    await eventually(() => server.gateway.connections[0]?.frames.length === 1);
    const shut = server.door.close({ graceMs: 60_000 });
    ws.send("2");
    await assert.rejects(open(server.port));
    resolve();
    assert.deepEqual(await closed, [1001, "The server is closing."]);
    await shut;
    assert.deepEqual([texts, server.gateway.connections[0]?.frames], [["1"], ["1"]]);
  });

  it("closes after its grace period, even if the client does not answer", async () => {
    const server = await serve();
    server.gateway.held.add(new Promise(() => {}));
    const { closed } = await open(server.port);
    await using mute = await rawSocket(server.port);
    mute.write(handshake());
    await mute.until("\r\n\r\n");
    await server.door.close({ graceMs: 10 });
    assert.equal((await closed)[0], 1001);
    assert.match(await mute.closed(), /The server is closing/);
  });

  it("closes without waiting for a token check that never ends", async () => {
    const quick = await auth();
    const never: Authenticator = { ...quick, check: () => new Promise(() => {}) };
    const server = await serve({ auth: never });
    await using client = await rawSocket(server.port);
    client.write(handshake());
    await eventually(() => client.socket.writableLength === 0 && client.socket.bytesWritten > 0);
    await server.door.close({ graceMs: 10 });
    assert.equal(await client.closed(), "");
  });
});
