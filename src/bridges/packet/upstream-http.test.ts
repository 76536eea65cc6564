import assert from "node:assert/strict";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { describe, it } from "node:test";
import { Cancellation } from "../../core/contract/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";
import { PacketError } from "./packet.ts";
import { foreignServers } from "./upstream-servers.ts";

// Against an HTTP server that misbehaves.

interface RpcRequest {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown };
}

async function bodyOf(request: IncomingMessage): Promise<RpcRequest> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const message: RpcRequest = JSON.parse(text);
  return message;
}

/** The received messages, and which sessions to forget. */
interface Book {
  readonly heard: string[];
  readonly authorization: (string | undefined)[];
  sessions: number;
  session: string;
  /** Whether it forgets each session at the first call in it. */
  forgetful: boolean;
  /** Its response in an unknown session. */
  unknown: (response: ServerResponse) => void;
}

const answers: Readonly<Record<string, (response: ServerResponse, id: unknown, book: Book) => void>> = {
  session: (response, id, { session }) => respond(response, { id, result: { content: [{ type: "text", text: session }] } }),
  huge: (response, id) => respond(response, { id, result: { content: [{ type: "text", text: "x".repeat(1_000_000) }] } }),
  stream(response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const more = setInterval(() => response.write(`data: ${"x".repeat(60_000)}\n`), 1);
    response.on("close", () => clearInterval(more));
  },
  many(response, id) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const note = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "y".repeat(50_000) } };
    for (let sent = 0; sent < 20; sent += 1) response.write(`data: ${JSON.stringify(note)}\r\n\r\n`);
    response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "after many" }] } })}\n\n`);
  },
  die(response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": here it comes\n\n", () => response.destroy());
  },
  teapot: (response) => void response.writeHead(418).end(),
  bad: (response) => void response.writeHead(400).end("Bad arguments"),
  hang: () => undefined,
  elsewhere: (response) => void response.writeHead(307, { location: "http://127.0.0.1:9/mcp" }).end(),
};

function respond(response: ServerResponse, message: object, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

async function answer(request: IncomingMessage, response: ServerResponse, book: Book): Promise<void> {
  if (request.method !== "POST") {
    book.heard.push(String(request.method));
    response.writeHead(405).end();
    return;
  }
  const { id, method, params } = await bodyOf(request);
  book.authorization.push(request.headers.authorization);
  book.heard.push(method === "tools/call" ? `call ${String(params?.name)}` : String(method));
  if (method === "initialize") {
    book.session = `session-${(book.sessions += 1)}`;
    const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "worst", version: "1.0.0" } };
    respond(response, { id, result }, { "mcp-session-id": book.session });
  } else if (method === "server/discover") respond(response, { id, error: { code: -32_601, message: "Method not found" } });
  else if (request.headers["mcp-session-id"] !== book.session || (book.forgetful && method === "tools/call")) book.unknown(response);
  else if (id === undefined) response.writeHead(202).end();
  else answers[String(params?.name)]?.(response, id, book);
}

async function stage(maxBytes = 1_048_576) {
  const book: Book = {
    heard: [],
    authorization: [],
    sessions: 0,
    session: "",
    forgetful: false,
    unknown: (response) => void response.writeHead(404).end(),
  };
  const http = createServer((request, response) => void answer(request, response, book));
  const loopback = await onLoopback(http);
  const clock = new SimulatedClock();
  const worst = { url: `${loopback.url}/mcp`, headers: { authorization: "Bearer t" } };
  const servers = foreignServers({ servers: { worst }, clock, maxBytes });
  return {
    book,
    clock,
    servers,
    http,
    call: async (tool: string) => (await servers.get("worst").call(tool)).text,
    async [Symbol.asyncDispose]() {
      await servers[Symbol.asyncDispose]();
      await loopback[Symbol.asyncDispose]();
    },
  };
}

const reasonIn = ({ details: { reason } }: PacketError): string => (typeof reason === "string" ? reason : "");

const failure = (call: Promise<unknown>, reason: RegExp, type = "execution_failed"): Promise<void> =>
  assert.rejects(call, (error) => error instanceof PacketError && error.type === type && reason.test(reasonIn(error)));

describe("foreignServers over HTTP", () => {
  it("opens one session for all calls, with the configured headers, and ends it when disposed", async () => {
    const all = await stage();
    assert.deepEqual(await Promise.all([all.call("session"), all.call("session")]), ["session-1", "session-1"]);
    assert.deepEqual([...new Set(all.book.authorization)], ["Bearer t"]);
    await all[Symbol.asyncDispose]();
    assert.equal(all.book.heard.at(-1), "DELETE");
  });

  it("opens another session if the server no longer knows its own, and repeats the call in it", async () => {
    await using all = await stage();
    await all.call("session");
    all.book.session = "";
    const calls = (): number => all.book.heard.filter((what) => what === "call session").length;
    // The pause before reconnecting, in addition to the timeout.
    const pausing = (): Promise<void> => until("the pause", () => all.clock.pending === 2);
    const again = all.call("session");
    await pausing();
    await all.clock.advance(250);
    assert.equal(await again, "session-2");
    assert.equal(calls(), 3);
    all.book.forgetful = true;
    const refused = failure(all.call("session"), /forgotten the session/);
    await pausing();
    await all.clock.advance(10_000);
    await refused;
    assert.equal(calls(), 5);
  });

  it("opens another session if a server reports an unknown one with 400, like the official examples", async () => {
    await using all = await stage();
    const error = { code: -32_000, message: "Bad Request: No valid session ID provided" };
    all.book.unknown = (response) => void response.writeHead(400).end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
    await all.call("session");
    all.book.session = "";
    // The status 400 does not show whether only this message was refused.
    await failure(all.call("session"), /No valid session ID/);
    const again = all.call("session");
    await all.clock.advance(250);
    assert.equal(await again, "session-2");
  });

  it("keeps the session if a request is refused with 400 for another reason", async () => {
    await using all = await stage();
    await all.call("session");
    await failure(all.call("bad"), /Bad arguments/);
    assert.equal(await all.call("session"), "session-1");
  });

  it("reports the status of a refusal, also without a text", async () => {
    await using all = await stage();
    await failure(all.call("teapot"), /POSTing to endpoint: \(HTTP 418\)$/);
    await failure(all.call("bad"), /Bad arguments \(HTTP 400\)$/);
  });

  it("refuses a response, or an event of a stream, without end, but not a long stream", async () => {
    await using all = await stage(100_000);
    for (const tool of ["huge", "stream"]) {
      await failure(all.call(tool), /more than \d+ bytes as one message/);
      await all.clock.advance(60_000);
    }
    assert.equal(await all.call("many"), "after many");
  });

  it("rejects the call whose response broke off, and all if the server is unreachable", async () => {
    await using all = await stage();
    await failure(all.call("die"), /terminated|other side closed/);
    await all.clock.advance(250);
    assert.equal(await all.call("session"), "session-2");
    const waits = failure(all.call("hang"), /./);
    await until("the call", () => all.book.heard.includes("call hang"));
    all.http.closeAllConnections();
    all.http.close();
    await waits;
    await all.clock.advance(10_000);
    await failure(all.call("session"), /ECONNREFUSED/);
  });

  it("tells the server that a call is cancelled, by its caller or by time", async () => {
    await using all = await stage();
    const cancelled = (): number => all.book.heard.filter((what) => what === "notifications/cancelled").length;
    const cancellation = new Cancellation();
    const failed = failure(all.servers.get("worst", { signal: cancellation }).call("hang"), /gone/, "cancelled");
    await until("the call", () => all.book.heard.includes("call hang"));
    cancellation.abort();
    await failed;
    await until("the cancellation", () => cancelled() === 1);
    const timedOut = failure(all.call("hang"), /no answer within 30000 ms/);
    await until("the call", () => all.book.heard.filter((what) => what === "call hang").length === 2);
    await all.clock.advance(30_000);
    await timedOut;
    await until("the cancellation", () => cancelled() === 2);
  });

  it("follows no redirect to another server", async () => {
    await using all = await stage();
    await failure(all.call("elsewhere"), /redirect/i);
    assert.equal(await all.call("session"), "session-1");
  });
});
