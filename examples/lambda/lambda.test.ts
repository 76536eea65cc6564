// The functions of this folder as Lambda loads them: buffered, streaming, and with callers that the gateway authorized.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fakeAwsLambda, FakeResponseStream } from "../../test/lambda/fake-awslambda.ts";
import { changed } from "../../test/lambda/samples.ts";
import { handler, server } from "./index.ts";
import { handler as authorizedHandler } from "./callers.ts";

Reflect.set(globalThis, "awslambda", fakeAwsLambda);
after(async () => {
  Reflect.deleteProperty(globalThis, "awslambda");
  await server.close();
});

const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
};

const toolCall = (name: string, args: object) => {
  const params = { name, arguments: args, _meta: { ...meta, progressToken: "p" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return { headers: { ...headers, "mcp-name": name }, body, isBase64Encoded: false };
};

test("bufferedHandler returns the whole response", async () => {
  const answer = await handler(changed("function-url.json", toolCall("echo", { message: "hi" })));
  assert.equal(answer.statusCode, 200, answer.body);
  assert.match(answer.body, /"text":"hi"/);
});

test("streamingHandler streams events", async () => {
  const streaming = await import("./streaming.ts");
  const events: string[] = [];
  const stream = new FakeResponseStream({
    head: ({ headers: { "content-type": type = "" } }) => events.push(type),
    bytes: (chunk) => events.push(chunk.toString()),
    end: () => events.push("end"),
  });
  await streaming.handler(changed("function-url.json", toolCall("count", {})), stream);
  assert.equal(events[0], "text/event-stream");
  assert.match(events.join(""), /"progress":1.*"progress":2.*"progress":3.*"text":"three".*end$/s);
});

test("a handler with authorizedCaller refuses unauthorized callers", async () => {
  const call = toolCall("echo", { message: "hi" });
  const jwt = { claims: { iss: "https://login.example", sub: "ana" }, scopes: null };
  assert.equal((await authorizedHandler(changed("http-jwt.json", call, { authorizer: { jwt } }))).statusCode, 200);
  assert.equal((await authorizedHandler(changed("http.json", call))).statusCode, 401);
});
