// Half of an emoji in data of an author or a caller: no transport sends it, in any message.
import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod";
import { refuse } from "troupe";
import { fromMcpServer } from "troupe/mount";
import { prefix } from "troupe/source";
import { content, createServer, failure, message, messages, type Server } from "troupe/server";
import { strictJson } from "../message-validation.ts";
import { envelope, modernHeaders } from "../wire.ts";
import { HTTP_SERVERS, type Send } from "./http-servers.ts";
import { rawSocket } from "./raw-socket.ts";

const HALF = "\ud83d";
const BROKEN = `cut ${HALF}`;

const mounted = (): McpServer => {
  const server = new McpServer({ name: BROKEN, version: "1" });
  server.registerTool("say", { title: BROKEN, description: BROKEN }, () => ({ content: [{ type: "text", text: BROKEN }] }));
  server.registerPrompt("ask", { argsSchema: { word: completable(z.string(), () => [BROKEN]) } }, () => ({
    messages: [{ role: "user", content: { type: "text", text: BROKEN } }],
  }));
  server.registerResource("memo", "memo://one", { title: BROKEN }, () => ({ contents: [{ uri: "memo://one", text: BROKEN }] }));
  return server;
};

function broken(): Server {
  const sources = [prefix("sdk", fromMcpServer(mounted))];
  const server = createServer("broken", "1", { title: BROKEN, instructions: BROKEN, sources });
  const { tools, resources, prompts } = server;
  tools.register({ name: "text", title: BROKEN, description: BROKEN }, () => BROKEN);
  tools.register({ name: "structured" }, () => ({ [HALF]: BROKEN, "\ud83e": [BROKEN] }));
  tools.register({ name: "blocks" }, () => content([BROKEN], { text: BROKEN }));
  tools.register({ name: "failure" }, () => failure(BROKEN));
  tools.register({ name: "refusal" }, () => {
    throw refuse(BROKEN);
  });
  // The data of a refusal comes from the author: half a character in it is the author's mistake, and the call fails.
  tools.register({ name: "bad-refusal" }, () => {
    throw refuse("No.", { data: { text: BROKEN } });
  });
  tools.register({ name: "steps" }, ({ log, emit, progress }) => {
    log("warning", { text: BROKEN }, BROKEN);
    progress(1, 2, BROKEN);
    emit({ text: BROKEN });
    return "done";
  });
  tools.register({ name: "asks" }, ({ ask, answers }) => {
    const params = { message: BROKEN, requestedSchema: { type: "object", properties: { [HALF]: { type: "string", title: BROKEN } } } };
    if (answers["sure"] === undefined) ask({ sure: { method: "elicitation/create", params } });
    return "asked";
  });
  resources.register({ name: "plain", uri: "broken://plain", description: BROKEN }, () => BROKEN);
  resources.register({ name: "json", uri: "broken://json" }, () => ({ text: BROKEN }));
  resources.register({ name: "template", uri: "broken://of/{id}", complete: { id: () => [BROKEN] } }, () => BROKEN);
  prompts.register({ name: "prompt", description: BROKEN }, () => messages([message("user", BROKEN)]));
  return server;
}

/** One expected answer for each path of an author's text. Without it, a failing request would pass as well. */
const ANSWERS = [
  /"structuredContent":\{"\ufffd":\["cut \ufffd"\]\}/,
  /"content":\[\{"type":"text","text":"cut \ufffd"\}\],"isError":true/,
  /"uri":"memo:\/\/sdk\/one","text":"cut \ufffd"/,
  /"name":"sdk__say","title":"cut \ufffd"/,
  /"messages":\[\{"role":"user","content":\{"type":"text","text":"cut \ufffd"\}\}\]/,
  /"completion":\{"values":\["cut \ufffd"\]/,
  /"message":"cut \ufffd","requestedSchema"/,
];

function assertComplete(all: string): void {
  for (const answer of ANSWERS) assert.match(all, answer);
  assert.doesNotMatch(all, /There is no tool sdk__say|Unknown tool: sdk__say|Unknown prompt: sdk__ask/);
}

const calls = (name: string): [string, object] => ["tools/call", { name, arguments: {}, _meta: { progressToken: BROKEN } }];

/** All requests of a client, with arguments that answers repeat. */
const REQUESTS: readonly [method: string, params: object][] = [
  ["tools/list", {}],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["prompts/list", {}],
  ...["text", "structured", "blocks", "failure", "refusal", "bad-refusal", "steps", "sdk__say", BROKEN].map(calls),
  ["resources/read", { uri: "broken://plain" }],
  ["resources/read", { uri: "broken://json" }],
  ["resources/read", { uri: "memo://sdk/one" }],
  ["resources/read", { uri: `broken://${HALF}` }],
  ["prompts/get", { name: "prompt" }],
  ["prompts/get", { name: BROKEN }],
  ["prompts/get", { name: "sdk__ask", arguments: { word: "x" } }],
  ["completion/complete", { ref: { type: "ref/resource", uri: "broken://of/{id}" }, argument: { name: "id", value: "" } }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "sdk__ask" }, argument: { name: "word", value: "" } }],
  [BROKEN, {}],
];

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: BROKEN, version: "1" } },
};
const modernRequest = (id: number, method: string, params: object) => {
  const _meta = { ...envelope({ elicitation: {} }), "io.modelcontextprotocol/logLevel": "debug", progressToken: BROKEN };
  return { jsonrpc: "2.0", id, method, params: { ...params, _meta } };
};

/** The validated messages of an HTTP response. */
async function judged(response: Response): Promise<readonly unknown[]> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length === 0) return [];
  if (response.headers.get("content-type") === "application/json") return [strictJson(bytes)];
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  return Array.from(text.matchAll(/^data: (.+)$/gm), ([, data = ""]) => strictJson(data));
}

async function overHttp(send: Send): Promise<string> {
  const post = (body: unknown, headers: Readonly<Record<string, string>>): Promise<Response> =>
    send("/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify(body),
    });
  const all: unknown[] = [];
  const begun = await post(INITIALIZE, {});
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  all.push(...(await judged(begun)));
  for (const [id, [method, params]] of REQUESTS.entries()) {
    all.push(...(await judged(await post({ jsonrpc: "2.0", id, method, params }, session))));
    const named = "name" in params ? params.name : "uri" in params ? params.uri : undefined;
    const headers = modernHeaders(method, typeof named === "string" ? `=?base64?${Buffer.from(named).toString("base64")}?=` : undefined);
    if (method !== BROKEN && named !== BROKEN) all.push(...(await judged(await post(modernRequest(id, method, params), headers))));
  }
  const asks = modernRequest(1, ...calls("asks"));
  all.push(...(await judged(await post(asks, modernHeaders("tools/call", "asks")))));
  return JSON.stringify(all);
}

for (const [name, place] of Object.entries(HTTP_SERVERS))
  test(`no unpaired surrogate is sent over HTTP by ${name}`, { timeout: 60_000 }, async () => {
    await using server = broken();
    await using at = await place(server);
    const answers = await overHttp(at.send);
    assertComplete(answers);
  });

/** Sends all requests on one stream; resolves with everything received. */
async function overLines(write: (line: string) => void, lines: AsyncIterator<unknown>): Promise<string> {
  const say = (value: object): void => write(`${JSON.stringify(value)}\n`);
  say(INITIALIZE);
  say({ jsonrpc: "2.0", method: "notifications/initialized" });
  for (const [id, [method, params]] of [...REQUESTS, calls("asks")].entries()) say({ jsonrpc: "2.0", id: id + 1, method, params });
  say({ jsonrpc: "2.0", id: HALF, method: "ping" });
  const all: unknown[] = [];
  let answered = 0;
  while (answered < REQUESTS.length + 3) {
    const value: unknown = (await lines.next()).value;
    const frame = strictJson(value instanceof Uint8Array ? value : String(value));
    all.push(frame);
    if (typeof frame !== "object" || frame === null) continue;
    if ("method" in frame && "id" in frame) say({ jsonrpc: "2.0", id: frame.id, result: { action: "accept", content: {} } });
    else if (!("method" in frame)) answered += 1;
  }
  return JSON.stringify(all);
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield rest.subarray(0, end);
      rest = rest.subarray(end + 1);
    }
  }
}

describe("no unpaired surrogate is sent in lines", { timeout: 60_000 }, () => {
  test("over TCP", async () => {
    await using server = broken();
    const { tcp } = await server.listen({ tcp: true });
    await using client = await rawSocket(tcp.port);
    const chunks = new PassThrough();
    client.socket.on("data", (chunk) => void chunks.write(chunk));
    assertComplete(await overLines((line) => client.write(line), linesOf(chunks)));
  });

  test("over stdio", async () => {
    await using server = broken();
    const [input, output] = [new PassThrough(), new PassThrough()];
    await server.listen({ stdio: { input, output } });
    assertComplete(await overLines((line) => void input.write(line), linesOf(output)));
    input.end();
    await once(input, "end");
  });
});
