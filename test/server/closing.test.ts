// What clients of running calls receive when a server closes, over every transport, and that nothing stays open.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection } from "node:net";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { createServer, type Server } from "troupe/server";
import { serveHttp } from "troupe/transport";
import { withNode } from "../../examples/server/mounts.ts";
import { SimulatedClock, until } from "../../src/testing/index.ts";
import { onLoopback } from "../on-loopback.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const call = (meta: object): object => ({
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name: "deaf", arguments: {}, _meta: meta },
});
const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
};

/** A tool that never ends, even if it is aborted. */
function deafServer() {
  const server = createServer("s", "1");
  const seen = { began: false, aborted: false };
  server.tools.register({ name: "deaf" }, ({ emit, signal }) => {
    signal.addEventListener("abort", () => {
      seen.aborted = true;
    });
    emit("begun");
    seen.began = true;
    return new Promise(() => undefined);
  });
  return { server, seen };
}

async function posted(url: string, era: "legacy" | "modern", streams: boolean): Promise<Response> {
  const meta = streams ? { progressToken: 1 } : {};
  const post = (headers: object, body: object): Promise<Response> =>
    fetch(url, { method: "POST", headers: { ...HEADERS, ...headers }, body: JSON.stringify(body) });
  if (era === "modern")
    return post({ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "deaf" }, call({ ...MODERN, ...meta }));
  const begun = await post({}, INITIALIZE);
  await begun.text();
  return post({ "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" }, call(meta));
}

function assertShutdownError(text: string): void {
  const last =
    text
      .trimEnd()
      .split("\n")
      .at(-1)
      ?.replace(/^data: /, "") ?? "";
  const { id, error } = JSON.parse(last);
  assert.deepEqual([id, error.code], [7, -31503]);
  assert.match(error.message, /closes before this was done.*not known/);
}

const DOORS: Readonly<Record<string, (server: Server) => Promise<{ url: string; end: () => Promise<void> }>>> = {
  async listen(server) {
    const { http } = await server.listen({ http: true });
    return { url: http.url, end: async () => undefined };
  },
  async "node:http"(server) {
    const app = withNode(server);
    const { url } = await onLoopback(app);
    return {
      url: `${url}/mcp`,
      end: () =>
        new Promise((resolve, reject) => {
          app.close((error) => (error === undefined ? resolve() : reject(error)));
        }),
    };
  },
};

describe("a call that still runs at the end of the grace period", () => {
  for (const [door, open] of Object.entries(DOORS))
    for (const era of ["legacy", "modern"] as const)
      for (const streams of [true, false])
        test(`gets an error for its id, ${era}, ${streams ? "on its stream" : "with 503"}: ${door}`, async () => {
          const { server, seen } = deafServer();
          const { url, end } = await open(server);
          const response = posted(url, era, streams);
          await until("it runs", () => seen.began);
          await server.close({ graceMs: 1 });
          assert.equal((await response).status, streams ? 200 : 503);
          assertShutdownError(await (await response).text());
          assert.ok(seen.aborted);
          await end();
        });

  test("gets an error over TCP and on standard streams too", async () => {
    for (const way of ["tcp", "stdio"]) {
      const { server, seen } = deafServer();
      const [input, output] = [new PassThrough(), new PassThrough()];
      const { tcp } = await server.listen({ tcp: true, stdio: { input, output } });
      const socket = createConnection(tcp.port, "127.0.0.1");
      await once(socket, "connect");
      let text = "";
      for (const from of [socket, output])
        from.on("data", (piece) => {
          text += String(piece);
        });
      (way === "tcp" ? socket : input).write(`${JSON.stringify(call(MODERN))}\n`);
      await until("it runs", () => seen.began);
      await server.close({ graceMs: 1 });
      await until("it was answered", () => text.endsWith("\n"));
      assertShutdownError(text);
      socket.destroy();
    }
  });
});

test("a server that is closed, also while it starts to listen, opens no listener", async () => {
  const server = createServer("s", "1");
  const taken = await serveHttp({ gateway: server.gateway });
  const port = Number(new URL(taken.url).port);
  await taken.close();
  const listening = server.listen({ http: { port }, tcp: true });
  const closing = server.close();
  const refused = { code: "DRAINING", message: /create another one/ };
  await assert.rejects(listening, refused);
  await closing;
  await assert.rejects(server.listen({ http: { port } }), refused);
  const socket = createConnection(port, "127.0.0.1");
  await assert.rejects(once(socket, "connect"), { code: "ECONNREFUSED" });
});

test("a response that its client does not read ends with the server", async () => {
  const clock = new SimulatedClock();
  const server = createServer("s", "1", { clock });
  let answered = false;
  server.tools.register({ name: "deaf" }, () => {
    answered = true;
    return "x".repeat(20_000_000);
  });
  const { url, end } = await (DOORS["node:http"] ?? assert.fail())(server);
  const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const body = JSON.stringify(call(MODERN));
  const names = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: deaf";
  const head = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`);
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\n${head.join("\r\n")}\r\n${names}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await once(socket, "readable");
  assert.ok(answered);
  let closed = false;
  const close = async (): Promise<void> => {
    await server.close({ graceMs: 1 });
    closed = true;
  };
  const closing = close();
  await until("it has closed", async () => {
    await clock.advance(1_000);
    return closed;
  });
  await closing;
  await end();
  socket.destroy();
});
