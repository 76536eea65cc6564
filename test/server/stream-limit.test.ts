// Log messages, progress and questions of a call need a stream. Without one, or after the answer, they are dropped.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createServer } from "troupe/server";
import { HTTP_SERVERS, type Send } from "../transport/http-servers.ts";
import { legacyCaller, modernCaller } from "./callers.ts";

const ONE_STREAM = { streams: 1 };

/** Tools that log after their answer, log before it, and ask a question. */
const serverWithTools = (log: unknown[] = []) => {
  const afterAnswer: (() => void)[] = [];
  let runs = 0;
  const server = createServer("s", "1", { webLimits: ONE_STREAM, log: (_level, data) => void log.push(data) });
  server.tools.register({ name: "after" }, ({ log: say, emit }) => {
    afterAnswer.push(() => {
      say("warning", "after the answer");
      emit("after the answer");
    });
    return "ok";
  });
  server.tools.register({ name: "first" }, ({ log: say }) => {
    say("warning", "in time");
    runs += 1;
    return "ok";
  });
  server.tools.register({ name: "asks" }, ({ ask }) => {
    const params = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
    ask({ sure: { method: "elicitation/create", params } });
    return "ok";
  });
  return { server, afterAnswer, runs: () => runs };
};

const read = async (response: Response): Promise<unknown> => [response.status, response.headers.get("content-type"), await response.json()];
const OK = (id: number): unknown => [200, "application/json", { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } }];

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } },
};
const HEADERS = { accept: "application/json, text/event-stream", "content-type": "application/json" };

/** A tool call in a session whose client supports elicitation. */
const callWithElicitation = async (send: Send, name: string): Promise<Response> => {
  const begun = await send("/mcp", { method: "POST", headers: HEADERS, body: JSON.stringify(INITIALIZE) });
  await begun.text();
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } });
  return send("/mcp", { method: "POST", headers: { ...HEADERS, ...session }, body });
};

for (const [name, place] of Object.entries(HTTP_SERVERS))
  describe(`log messages and questions of a tool, ${name}`, () => {
    test("C8 are dropped once the call was answered, and take no stream from others", async () => {
      const { server, afterAnswer } = serverWithTools();
      await using _server = server;
      await using at = await place(server, ONE_STREAM);
      const legacy = await legacyCaller(at.send);
      assert.deepEqual(await read(await legacy.call(1, "after", { token: "t" })), OK(1));
      const modern = await modernCaller(at.send).call(2, "after", { token: "t" });
      assert.equal(modern.status, 200);
      await modern.text();
      assert.equal(afterAnswer.length, 2);
      for (const say of afterAnswer) say();
      const stream = await legacy.get();
      assert.equal(stream.status, 200);
      await stream.body?.cancel();
    });

    test("are omitted if no stream is free: the tool runs once and its answer arrives", async () => {
      const log: unknown[] = [];
      const { server, runs } = serverWithTools(log);
      await using _server = server;
      await using at = await place(server, ONE_STREAM);
      const legacy = await legacyCaller(at.send);
      const stream = await legacy.get();
      assert.equal(stream.status, 200);
      assert.deepEqual(await read(await legacy.call(1, "first")), OK(1));
      const modern = await modernCaller(at.send).call(2, "first", { token: "t" });
      assert.equal(modern.status, 200);
      assert.match(await modern.text(), /"id":2,"result"/);
      assert.equal(runs(), 2);
      // A GET has no other answer, so it is refused.
      const [other] = [await legacyCaller(at.send)];
      const refused = await other.get();
      assert.equal(refused.status, 429);
      assert.match(await refused.text(), /Too many streams are open/);
      assert.match(JSON.stringify(log), /stream-refused/);
      await stream.body?.cancel();
    });

    test("a question fails the call if no stream is free", async () => {
      const { server } = serverWithTools();
      await using _server = server;
      await using at = await place(server, ONE_STREAM);
      const stream = await (await legacyCaller(at.send)).get();
      assert.equal(stream.status, 200);
      assert.match(
        JSON.stringify(await read(await callWithElicitation(at.send, "asks"))),
        /Too many streams are open to ask you.*"isError":true/,
      );
      await stream.body?.cancel();
    });
  });
