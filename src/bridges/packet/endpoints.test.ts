import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WebSocket } from "ws";
import { fakeGateway } from "../../../test/transport/fake-gateway.ts";
import { post, rawSocket } from "../../../test/transport/raw-socket.ts";
import { eventually } from "../../../test/transport/settle.ts";
import type { Json } from "../../core/contract/index.ts";
import {
  type Authenticator,
  authenticator,
  hashApiKey,
  type HttpOptions,
  serveHttp,
  serveTcp,
  type TcpOptions,
} from "../../mcp/transport/index.ts";
import { packetEndpoints, type PacketEndpointsOptions } from "./endpoints.ts";
import { fakeFlow, packet, replyIn } from "./fake-flow.fixture.ts";

const KEY = "a-key-of-at-least-sixteen-characters";
const auth = (): Promise<Authenticator> => authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY), scopes: ["play"] }] });

async function serve(options: PacketEndpointsOptions = {}, http: Partial<HttpOptions> = {}) {
  const flow = fakeFlow();
  const doors = packetEndpoints(flow, options);
  const door = await serveHttp({ gateway: fakeGateway(), endpoints: [doors.http], upgrades: [doors.webSocket], ...http });
  const url = `http://127.0.0.1:${door.port}/packets`;
  return { flow, door, port: door.port, url, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

async function serveLines(tcp: Partial<TcpOptions> = {}) {
  const flow = fakeFlow();
  const door = await serveTcp({ ...packetEndpoints(flow).tcp, ...tcp });
  return { flow, door, port: door.port, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

const send = (url: string, body: string, type = "application/json", more: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(url, { method: "POST", headers: { "content-type": type, ...more }, body });
const LINES = "application/x-ndjson";
const linesIn = (text: string) =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map(replyIn);

describe("POST /packets", () => {
  it("answers one packet with one packet", async () => {
    await using server = await serve({}, { auth: await auth() });
    const response = await send(server.url, packet("a", { n: 1 }), "application/json; charset=UTF-8", { authorization: `Bearer ${KEY}` });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    const reply = replyIn(await response.text());
    assert.deepEqual([reply.id, reply.payload], ["a", { n: 1, principal: "ada" }]);
    assert.equal(server.flow.sessions[0]?.closed, true);
    assert.deepEqual(server.flow.sessions[0].caller, { principal: "ada", scopes: ["play"], peer: "127.0.0.1" });
  });

  it("has a status for invalid and rate-limited packets, not for the capability's result", async () => {
    await using server = await serve();
    const seen: [number, string | undefined, string | null][] = [];
    for (const body of [
      packet("a", { do: { error: "execution_failed" } }),
      packet("a", { do: { error: "unauthorized" } }),
      packet("a", { do: { error: "rate_limited" } }),
      "{",
      "",
      packet("a", {}, { version: "2.0" }),
      packet("a", {}, { type: "shout" }),
    ]) {
      const response = await send(server.url, body);
      seen.push([response.status, replyIn(await response.text()).error, response.headers.get("retry-after")]);
    }
    assert.deepEqual(seen, [
      [200, "execution_failed", null],
      [200, "unauthorized", null],
      [429, "rate_limited", "3"],
      [400, "protocol_error", null],
      [400, "protocol_error", null],
      [400, "unsupported_version", null],
      [400, "unknown_type", null],
    ]);
  });

  it("is found with a slash at the end and with repeated slashes", async () => {
    await using server = await serve();
    for (const url of [`${server.url}/`, server.url.replace("/packets", "//packets")])
      assert.equal((await send(url, packet("a"), LINES)).status, 200, url);
  });

  it("refuses other media types, paths and sizes, requests without a token, and foreign origins #packet.doors.rules", async () => {
    await using server = await serve({ lines: 3 }, { auth: await auth(), limits: { bodyBytes: 1_000 } });
    const token = { authorization: `Bearer ${KEY}` };
    const status = async (response: Promise<Response>): Promise<number> => (await response).status;
    assert.equal(await status(send(server.url, packet("a"), "text/plain", token)), 415);
    assert.equal(await status(send(server.url, packet("a"), "application/json; charset=latin1", token)), 415);
    assert.equal(await status(send(`${server.url}/deeper`, packet("a"), LINES, token)), 404);
    assert.equal(await status(send(server.url, packet("a", { text: "x".repeat(1_000) }), "application/json", token)), 413);
    assert.equal(await status(send(server.url, "{}\n{}\n{}\n{}", LINES, token)), 413);
    assert.equal(await status(send(server.url, " \n\r\n", LINES, token)), 400);
    assert.equal(await status(send(server.url, packet("a"))), 401);
    assert.equal(await status(send(server.url, packet("a"), LINES)), 401);
    assert.equal(await status(send(server.url, packet("a"), "application/json", { ...token, origin: "https://evil.example" })), 403);
    await using rebound = await rawSocket(server.port);
    rebound.write(post(packet("a"), { host: "evil.example", ...token }, "/packets"));
    assert.match(await rebound.until("\r\n\r\n"), /^HTTP\/1\.1 403/);
    assert.equal(server.flow.sessions.length, 0);
  });

  it("serves the schema to GET, if there is one", async () => {
    await using server = await serve({ schema: { title: "packet" } });
    const response = await fetch(server.url);
    assert.deepEqual([response.status, await response.json()], [200, { title: "packet" }]);
    await using other = await serve();
    assert.equal((await fetch(other.url)).status, 405);
  });

  it("cancels what runs for a client that has disconnected", async () => {
    await using server = await serve();
    const controller = new AbortController();
    const request = fetch(server.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: packet("a", { do: "hold" }),
      signal: controller.signal,
    });
    await eventually(() => server.flow.held === 1);
    controller.abort();
    await assert.rejects(request);
    await eventually(() => server.flow.cancelled === 1 && server.flow.sessions[0]?.closed === true);
  });

  it("answers lines in order of completion, each after its progress #packet.doors.http", async () => {
    await using server = await serve();
    const lines = [packet("slow", { do: "hold" }), "", packet("told", { do: "progress" }), "no packet", packet("quick")];
    const response = await send(server.url, lines.join("\r\n"), LINES);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), LINES);
    assert.ok(response.body);
    let text = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.includes('"quick"')) server.flow.release();
    }
    assert.deepEqual(
      linesIn(text)
        .map(({ id, type, error }) => [id, error ?? type])
        .toSorted((a, b) => String(a).localeCompare(String(b))),
      [
        [undefined, "protocol_error"],
        ["quick", "capability_response"],
        ["slow", "capability_response"],
        ["told", "capability_progress"],
        ["told", "capability_progress"],
        ["told", "capability_response"],
      ],
    );
    assert.equal(linesIn(text).at(-1)?.id, "slow");
    assert.equal(linesIn(text).findLast(({ id }) => id === "told")?.type, "capability_response");
    assert.equal(server.flow.sessions[0]?.closed, true);
  });

  it("starts lines in order, with limited concurrency, and answers all 5,000", async () => {
    await using server = await serve({ linesInFlight: 8 });
    const body = Array.from({ length: 5_000 }, (_, n) => packet(String(n), { do: "hold" })).join("\n");
    const response = send(server.url, body, LINES).then((answer) => answer.text());
    let most = 0;
    await eventually(() => {
      most = Math.max(most, server.flow.held);
      server.flow.release();
      return server.flow.sessions[0]?.received.length === 5_000 && server.flow.held === 0;
    });
    const replies = linesIn(await response);
    assert.equal(most, 8);
    assert.deepEqual(
      server.flow.sessions[0]?.received.map(({ id }) => id),
      Array.from({ length: 5_000 }, (_, n) => String(n)),
    );
    assert.equal(new Set(replies.map(({ id }) => id)).size, 5_000);
  });

  it("cancels lines of a disconnected client, and starts no more", async () => {
    await using server = await serve({ linesInFlight: 2 });
    const controller = new AbortController();
    const body = [1, 2, 3, 4].map((n) => packet(String(n), { do: "hold" })).join("\n");
    const response = await fetch(server.url, { method: "POST", headers: { "content-type": LINES }, body, signal: controller.signal });
    await eventually(() => server.flow.held === 2);
    controller.abort();
    await assert.rejects(response.text());
    await eventually(() => server.flow.sessions[0]?.closed === true);
    assert.deepEqual([server.flow.cancelled, server.flow.sessions[0]?.received.length], [2, 2]);
  });

  it("C8 starts no more lines for a client that does not read, and disconnects it after a time", async () => {
    const logged: Json[] = [];
    await using server = await serve({ linesInFlight: 4 }, { limits: { blockedMs: 200 }, log: (_level, data) => void logged.push(data) });
    await using client = await rawSocket(server.port);
    client.socket.pause();
    // 40 MB of replies: a loopback connection that nobody reads may buffer more than 4.
    const body = Array.from({ length: 400 }, (_, n) => packet(String(n), { do: "much" })).join("\n");
    client.write(post(body, { "content-type": LINES }, "/packets"));
    await eventually(() => server.flow.sessions[0]?.closed === true);
    assert.ok((server.flow.sessions[0]?.received.length ?? 400) < 400);
    assert.deepEqual(logged.at(-1), { event: "client-dropped", transport: "http", reason: "blocked" });
  });
});

describe("packets over TCP", () => {
  it("are lines, with the token in the metadata of the first, which is not passed on #packet.doors.sockets", async () => {
    await using server = await serveLines({ auth: await auth() });
    await using client = await rawSocket(server.port);
    client.write(`${packet("a", { do: "hold" }, { metadata: { "troupe/authorization": `Bearer ${KEY}`, kept: 1 } })}\n${packet("b")}\n`);
    const text = await client.until("\n");
    assert.deepEqual(
      linesIn(text).map(({ id, payload }) => [id, payload]),
      [["b", { principal: "ada" }]],
    );
    client.end();
    await eventually(() => server.flow.held === 1);
    server.flow.release();
    assert.equal(linesIn(await client.closed()).at(-1)?.id, "a");
    assert.deepEqual(server.flow.sessions[0]?.received[0]?.metadata, { kept: 1 });
    assert.equal(server.flow.cancelled, 0);
  });

  it("refuse clients without a token, and text that is not a packet, with packets", async () => {
    await using server = await serveLines({ auth: await auth() });
    const first = async (line: string): Promise<[string | undefined, string | undefined]> => {
      await using client = await rawSocket(server.port);
      client.write(`${line}\n`);
      const [reply] = linesIn(await client.closed());
      return [reply?.id, reply?.error];
    };
    assert.deepEqual(await first(packet("a")), ["a", "unauthorized"]);
    assert.deepEqual(await first(packet("a", {}, { metadata: { "troupe/authorization": "Bearer something-else-altogether" } })), [
      "a",
      "unauthorized",
    ]);
    await using stranger = await rawSocket(server.port);
    stranger.write(`${packet("a")}\n`);
    assert.match(await stranger.closed(), /metadata\[.*troupe\/authorization.*of the first packet/);
    for (const line of ["GET /packets HTTP/1.1", "{"]) {
      await using other = await rawSocket(server.port);
      other.write(`${line}\n`);
      const answer = await other.closed();
      assert.deepEqual(linesIn(answer)[0]?.error, "protocol_error");
      // The same listener serves MCP elsewhere.
      assert.doesNotMatch(answer, /JSON-RPC/);
    }
    assert.deepEqual(await first(`{"x":"${"x".repeat(70_000)}"}`), [undefined, "protocol_error"]);
    assert.equal(server.flow.sessions.length, 0);
  });

  it("cancel what runs when the client disconnects", async () => {
    await using server = await serveLines();
    const client = await rawSocket(server.port);
    client.write(`${packet("a", { do: "hold" })}\n`);
    await eventually(() => server.flow.held === 1);
    client.socket.resetAndDestroy();
    await eventually(() => server.flow.cancelled === 1 && server.flow.sessions[0]?.closed === true);
  });
});

describe("packets over WebSocket", () => {
  it("are text frames at the same path, under the subprotocol #packet.doors.sockets", async () => {
    await using server = await serve({}, { auth: await auth() });
    const client = new WebSocket(`ws://127.0.0.1:${server.port}/packets`, ["other", "packetflow.v1"], {
      headers: { authorization: `Bearer ${KEY}` },
    });
    const texts: string[] = [];
    client.on("message", (data, binary) => texts.push(`${binary} ${Buffer.isBuffer(data) ? data.toString() : ""}`));
    await new Promise<void>((done) => void client.once("open", done));
    assert.equal(client.protocol, "packetflow.v1");
    client.send(packet("a", { do: "hold" }));
    client.send(packet("b", { do: "progress" }));
    await eventually(() => texts.length === 3);
    assert.ok(texts.every((text) => text.startsWith("false ")));
    assert.deepEqual(
      texts.map((text) => replyIn(text.slice(6)).type),
      ["capability_progress", "capability_progress", "capability_response"],
    );
    assert.deepEqual(server.flow.sessions[0]?.caller, { principal: "ada", scopes: ["play"], peer: "127.0.0.1" });
    client.terminate();
    await eventually(() => server.flow.cancelled === 1 && server.flow.sessions[0]?.closed === true);
  });

  it("limit a flood of 10,000: packets that do not run are refused, and none is lost", async () => {
    await using server = await serve();
    const client = new WebSocket(`ws://127.0.0.1:${server.port}/packets`);
    const ids = new Map<string, number>();
    client.on("message", (data) => {
      const { error = "answered" } = replyIn(Buffer.isBuffer(data) ? data.toString() : "");
      ids.set(error, (ids.get(error) ?? 0) + 1);
    });
    await new Promise<void>((done) => void client.once("open", done));
    for (let n = 0; n < 10_000; n += 1) client.send(packet(String(n), { do: "hold" }));
    await eventually(() => ids.get("rate_limited") === 9_000);
    await eventually(() => server.flow.held === 1_000);
    server.flow.release();
    await eventually(() => ids.get("answered") === 1_000);
    client.terminate();
  });
});
