// The profile apptheory over HTTP: the bytes on the wire, and what official clients receive.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createGateway } from "../../src/mcp/gateway/index.ts";
import { registry } from "../../src/mcp/source/index.ts";
import { memorySessionStore, memoryStreamStore } from "../../src/core/store/index.ts";
import { serveHttp } from "../../src/mcp/transport/index.ts";
import { CLIENTS } from "../clients.ts";
import { callerOf } from "../server/progress.ts";

interface Served extends AsyncDisposable {
  readonly url: string;
  /** Lets the tool go on. */
  readonly goOn: () => void;
}

async function serve(): Promise<Served> {
  const gate = Promise.withResolvers<void>();
  const gateway = createGateway({
    profile: "apptheory",
    info: { name: "test", version: "1" },
    sessions: memorySessionStore(),
    streams: memoryStreamStore(),
    source: registry({
      tools: {
        long_task: {
          async work({ progress }) {
            progress(1, undefined, "started", { status: "started" });
            await gate.promise;
            progress(2, undefined, "done", { status: "done" });
            return "ok";
          },
        },
      },
    }),
  });
  const http = await serveHttp({ gateway, port: 0 });
  return {
    url: http.url,
    goOn: () => gate.resolve(),
    async [Symbol.asyncDispose]() {
      await http.close();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

test("progress events and the reply are named events, and progress arrives while the tool runs #apptheory.properties.incremental", async () => {
  await using served = await serve();
  const response = await fetch(served.url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "long_task" } }),
  });
  assert.match(response.headers.get("mcp-session-id") ?? "", /^[0-9a-f]{32}$/);
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    // The tool goes on only once its first event was read here.
    if (text.includes("started")) served.goOn();
  }
  const events = text.replaceAll(/^(?:id|retry): .*\n|^:.*\n\n?/gm, "");
  assert.equal(
    events,
    [
      'event: progress\ndata: {"status":"started"}\n\n',
      'event: progress\ndata: {"status":"done"}\n\n',
      'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}\n\n',
    ].join(""),
  );
});

test("a client that accepts only JSON gets JSON; one that accepts neither type is refused", async () => {
  await using served = await serve();
  served.goOn();
  const post = async (accept: string): Promise<Response> =>
    fetch(served.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "long_task", _meta: { progressToken: 1 } } }),
    });
  const answer = await post("application/json");
  assert.deepEqual(await answer.json(), { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "ok" }] } });
  assert.equal((await post("text/html")).status, 406);
});

for (const which of CLIENTS)
  test(`the official client ${which.sdk}, ${which.era}, receives requested progress under apptheory #apptheory.properties.official`, async () => {
    await using served = await serve();
    const caller = await callerOf(which, served.url);
    const steps: (string | undefined)[] = [];
    const result = await caller.call("long_task", (message) => {
      steps.push(message);
      served.goOn();
    });
    assert.deepEqual(steps, ["started", "done"]);
    assert.deepEqual(result, [{ type: "text", text: "ok" }]);
    await caller.close();
  });
