// The test client and its matrix on a server that is somewhere else, over real HTTP.
import assert from "node:assert/strict";
import { createServer as httpServer } from "node:http";
import { test } from "node:test";
import { createServer } from "troupe/server";
import { assertHasTools, assertToolResult, callToolRequest, clientMatrix, remoteServer, testServer, until } from "troupe/testing";
import { type Loopback, onLoopback } from "../on-loopback.ts";

const newServer = () => {
  const server = createServer("elsewhere", "1.0.0", { rateLimit: false });
  server.tools.register({ name: "greet", description: "Says hello." }, () => "Hello.");
  server.tools.register({ name: "slow", description: "Tells." }, ({ emit }) => {
    emit("half");
    return "done";
  });
  return server;
};

test("a client of the kit speaks to a server over HTTP, in both eras", async () => {
  await using server = newServer();
  const { http } = await server.listen({ http: { port: 0 } });
  await using elsewhere = await testServer(remoteServer(http.url));
  for (const era of ["legacy", "modern"] as const) {
    const client = elsewhere.client({ era });
    assertHasTools(await client.listTools(), "greet");
    assertToolResult(await client.callTool("slow", {}, { progressToken: 1 }), "done");
    assert.equal((await client.notifications.first("notifications/progress")).params["message"], "half");
    server.tools.register({ name: `late-${era}` }, () => "");
    await client.notifications.first("notifications/tools/list_changed");
    await client[Symbol.asyncDispose]();
  }
});

test("a stream is resumed there", async () => {
  await using server = newServer();
  const { http } = await server.listen({ http: { port: 0 } });
  await using elsewhere = await testServer(remoteServer(http.url));
  const client = elsewhere.client({ listen: false });
  await client.initialize();
  const stream = client.stream(callToolRequest(9, "slow", {}, { progressToken: 1 }));
  await stream.reply;
  const again = await client.resume(String(stream.frames[0]?.id)).all();
  assert.deepEqual(again, stream.frames.slice(1));
});

test("the matrix is played on a server over HTTP, and every client has a word of who it is", async () => {
  await using server = newServer();
  const { http } = await server.listen({ http: { port: 0 } });
  const said = new Set<string>();
  const headers = ({ principal = "nobody" }: { readonly principal?: string }) => {
    said.add(principal);
    return { "x-user": principal };
  };
  await using elsewhere = await testServer(remoteServer(http.url, { headers }));
  assert.deepEqual(await clientMatrix((options) => elsewhere.client(options), { calls: [{ name: "greet" }] }), []);
  assert.deepEqual([...said].toSorted(), ["nobody", "tester"]);
});

/** Answers every request by that text of a stream, in those pieces. */
const saying = (pieces: readonly string[]): Promise<Loopback> =>
  onLoopback(
    httpServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const piece of pieces) response.write(piece);
      response.end();
    }),
  );

test("events are read as they may be written: any line breaks, cut anywhere, comments, several lines of data", async () => {
  const text =
    ': hello\r\n\r\nid: 1\r\ndata:\r\n\r\nevent: message\rid: 2\rdata: {"jsonrpc":"2.0",\rdata: "id":1,"result":{}}\r\rdata: é\n\n';
  for (const pieces of [[text], Array.from(text)]) {
    await using http = await saying(pieces);
    await using elsewhere = await testServer(remoteServer(`${http.url}/mcp`));
    const stream = elsewhere.client().stream({ jsonrpc: "2.0", id: 1, method: "ping" });
    assert.deepEqual(await stream.all(), [
      { id: "1", data: "" },
      { id: "2", event: "message", data: '{"jsonrpc":"2.0",\n"id":1,"result":{}}' },
      { data: "é" },
    ]);
    assert.deepEqual((await stream.reply).result, {});
  }
});

test("a reader of a stream that breaks off gets what came, then the error", { timeout: 20_000 }, async () => {
  await using http = await onLoopback(
    httpServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"jsonrpc":"2.0","method":"x"}\n\n', () => response.destroy());
    }),
  );
  await using elsewhere = await testServer(remoteServer(`${http.url}/mcp`));
  const stream = elsewhere.client().stream({ jsonrpc: "2.0", id: 1, method: "ping" });
  await assert.rejects(stream.all(), /terminated/);
  assert.equal(stream.frames.length, 1);
  await using nowhere = await testServer(remoteServer("http://127.0.0.1:9/mcp"));
  await assert.rejects(nowhere.client().stream({ jsonrpc: "2.0", id: 1, method: "ping" }).all(), /Is the server there/);
});

test("a server that is not there, or breaks off, is told as such", async () => {
  await using nowhere = await testServer(remoteServer("http://127.0.0.1:9/mcp"));
  await assert.rejects(nowhere.client().listTools(), /No answer from http:\/\/127\.0\.0\.1:9\/mcp: .+ Is the server there/);
  let asked = false;
  const http = httpServer((request, response) => {
    asked = true;
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n", () => response.destroy());
  });
  await using loopback = await onLoopback(http);
  await using broken = await testServer(remoteServer(`${loopback.url}/mcp`));
  await assert.rejects(broken.client().raw({ jsonrpc: "2.0", id: 1, method: "ping" }));
  await until("it was asked", () => asked);
});
