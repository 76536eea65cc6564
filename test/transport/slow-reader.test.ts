// C8 on every transport: the memory buffered for a client that does not read is bounded, while a tool reports far more than that.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { createServer, type Server } from "troupe/server";
import { connectInMemory } from "troupe/transport";
import { legacyCaller, modernCaller } from "../server/callers.ts";
import { HTTP_SERVERS, type Send } from "./http-servers.ts";
import { head, post, rawSocket } from "./raw-socket.ts";

const STEPS = 30_000;
const STEP = "x".repeat(1_000);
const SENT = STEPS * STEP.length;
/** More than the kernel buffers on a loopback connection, and far less than is sent. */
const OF_SOCKETS = 16 * 1_048_576;
/** More than a stream in this process buffers before its reader counts as slow. */
const OF_STREAMS = 4 * 65_536;
const REPLY = /"id":1,"result":\{[^\n]*"text":"ok"/;

interface Flood {
  readonly server: Server;
  /** Resolves when the tool has sent everything. */
  readonly sent: Promise<unknown>;
}

/** A server with a tool that reports more than any buffer may hold: at once, or yielding to other work. */
function flood(name: string): Flood {
  const sent = Promise.withResolvers<void>();
  const server = createServer("s", "1", { sse: true });
  server.tools.register({ name }, async ({ emit }) => {
    for (let n = 1; n <= STEPS; n += 1) {
      emit(STEP);
      if (name === "paced" && n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    sent.resolve();
    return "ok";
  });
  return { server, sent: sent.promise };
}

const message = (id: number, method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id, method, params });
const INITIALIZE = message(0, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "t", version: "1" },
});
const INITIALIZED = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
const callOf = (name: string): string => message(1, "tools/call", { name, arguments: {}, _meta: { progressToken: "p" } });

/** Returns how many bytes arrive once its client reads, up to and including the reply. */
type Door = (flooding: Flood, name: string) => Promise<number>;

const lengthOf = (text: string): number => {
  assert.match(text, REPLY);
  return text.length;
};

/** A POST in this process whose response body is not read yet. */
const unread =
  (caller: (send: Send) => Promise<Pick<Awaited<ReturnType<typeof legacyCaller>>, "call">>): Door =>
  async ({ server, sent }, name) => {
    const { call } = await caller((path, init) => server.fetch(new Request(new URL(path, "http://localhost"), init)));
    const answer = await call(1, name, { token: "p" });
    await sent;
    return lengthOf(await answer.text());
  };

const paused = async (to: number): Promise<Awaited<ReturnType<typeof rawSocket>>> => {
  const client = await rawSocket(to);
  client.socket.pause();
  return client;
};

const IN_PROCESS: Readonly<Record<string, Door>> = {
  "fetch, the legacy era": unread(legacyCaller),
  "fetch, 2026-07-28": unread(async (send) => modernCaller(send)),

  async "fetch, HTTP+SSE"({ server, sent }, name) {
    const at = "http://localhost/sse";
    const stream = await server.fetch(new Request(at, { headers: { accept: "text/event-stream" } }));
    assert.ok(stream.body !== null);
    const [mine, later] = stream.body.tee();
    const first = await mine.pipeThrough(new TextDecoderStream()).getReader().read();
    const [, query = ""] = /data: (\S+)/.exec(first.value ?? "") ?? [];
    const send = async (body: string): Promise<void> => {
      const headers = { "content-type": "application/json" };
      assert.equal((await server.fetch(new Request(new URL(query, at), { method: "POST", headers, body }))).status, 202);
    };
    for (const body of [INITIALIZE, INITIALIZED, callOf(name)]) await send(body);
    await sent;
    const reader = later.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!REPLY.test(text)) text += (await reader.read()).value ?? assert.fail("it ended");
    return lengthOf(text);
  },

  async stdio({ server, sent }, name) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    await server.listen({ stdio: { input, output } });
    for (const line of [INITIALIZE, INITIALIZED, callOf(name)]) input.write(`${line}\n`);
    await sent;
    let text = "";
    for await (const piece of output) {
      text += String(piece);
      if (REPLY.test(text)) break;
    }
    return lengthOf(text);
  },

  async "a pair in memory"({ server, sent }, name) {
    await using client = connectInMemory(server.gateway, { scopes: [] });
    client.pause();
    for (const text of [INITIALIZE, INITIALIZED, callOf(name)]) client.send(JSON.parse(text));
    await sent;
    client.resume();
    let text = "";
    for await (const one of client.messages) {
      text += one;
      if (REPLY.test(text)) break;
    }
    return lengthOf(text);
  },
};

const BY_SOCKET: Readonly<Record<string, Door>> = {
  async "a listener, the legacy era"({ server, sent }, name) {
    const { http } = await server.listen({ http: true });
    const { session } = await legacyCaller((path, init) => fetch(new URL(path, http.url), init));
    await using client = await paused(http.port);
    client.write(post(callOf(name), { "mcp-session-id": session }));
    await sent;
    client.socket.resume();
    return lengthOf(await client.until(REPLY));
  },

  async "node:http, the legacy era"({ server, sent }, name) {
    await using at = await (HTTP_SERVERS["node:http"] ?? assert.fail())(server);
    const { session } = await legacyCaller(at.send);
    await using client = await paused(at.port ?? assert.fail());
    client.write(post(callOf(name), { "mcp-session-id": session }));
    await sent;
    client.socket.resume();
    return lengthOf(await client.until(REPLY));
  },

  async "a listener, HTTP+SSE"({ server, sent }, name) {
    const { http } = await server.listen({ http: true });
    await using client = await rawSocket(http.port);
    client.write(head("GET /sse HTTP/1.1", "Host: localhost", "Accept: text/event-stream"));
    const [, endpoint = ""] = /data: (\S+)/.exec(await client.until(/data: \S+\n\n/)) ?? [];
    client.socket.pause();
    const before = client.text().length;
    for (const body of [INITIALIZE, INITIALIZED, callOf(name)])
      await fetch(new URL(endpoint, http.url), { method: "POST", headers: { "content-type": "application/json" }, body });
    await sent;
    client.socket.resume();
    return lengthOf(await client.until(REPLY)) - before;
  },

  async TCP({ server, sent }, name) {
    const { tcp } = await server.listen({ tcp: true });
    await using client = await paused(tcp.port);
    for (const line of [INITIALIZE, INITIALIZED, callOf(name)]) client.write(`${line}\n`);
    await sent;
    client.socket.resume();
    return lengthOf(await client.until(REPLY));
  },
};

for (const [where, doors, most] of [
  ["in this process", IN_PROCESS, OF_STREAMS],
  ["behind a socket", BY_SOCKET, OF_SOCKETS],
] as const)
  describe(`C8 a client ${where} that does not read misses steps, never the reply`, () => {
    for (const [door, reads] of Object.entries(doors))
      for (const name of ["burst", "paced"])
        test(`${door}, sent all ${name === "burst" ? "at once" : "little by little"}`, { timeout: 60_000 }, async () => {
          const flooding = flood(name);
          await using _server = flooding.server;
          const held = await reads(flooding, name);
          assert.ok(held < most && most < SENT, `${held} of ${SENT}`);
        });
  });

describe("C8 a client of HTTP+SSE that sends and does not read", () => {
  const MOST = 1_000_000;
  const LONG_TEXT = "y".repeat(100_000);

  for (const [name, place] of Object.entries(HTTP_SERVERS))
    test(`is dropped with its session when its unread output exceeds the limit, by ${name}`, { timeout: 60_000 }, async () => {
      const dropped: unknown[] = [];
      const log = (_level: unknown, data: unknown): void => void dropped.push(data);
      await using server = createServer("s", "1", { sse: true, webLimits: { queuedBytes: MOST }, log });
      server.tools.register({ name: "much" }, () => LONG_TEXT);
      await using at = await place(server, { queuedBytes: MOST });
      const stream = await at.send("/sse", { headers: { accept: "text/event-stream" } });
      assert.ok(stream.body !== null);
      const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
      const [, data = ""] = /data: (\S+)/.exec((await reader.read()).value ?? "") ?? [];
      const { pathname, search } = new URL(data, "http://localhost/sse");
      const send = async (body: string): Promise<number> =>
        (await at.send(pathname + search, { method: "POST", headers: { "content-type": "application/json" }, body })).status;
      await send(INITIALIZE);
      await send(INITIALIZED);
      let taken = 0;
      while ((await send(message(taken + 1, "tools/call", { name: "much", arguments: {} }))) === 202) {
        taken += 1;
        assert.ok(taken * LONG_TEXT.length < 2 * OF_SOCKETS, "it is never dropped");
      }
      assert.match(JSON.stringify(dropped), /"event":"client-dropped","transport":"(?:http|web)","reason":"queue-full"/);
      await reader.cancel().catch(() => undefined);
    });
});
