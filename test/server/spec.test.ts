// The snippets of the published Go API in TypeScript; clients see the same server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { content, createServer, message, messages, type Server, text } from "troupe/server";

const PROTOCOL = "2025-06-18";

interface Legacy {
  post(method: string, params?: object, signal?: AbortSignal): Promise<Response>;
  result(method: string, params?: object): Promise<unknown>;
  get(lastEventId: string): Promise<Response>;
}

async function legacy(server: Server): Promise<Legacy> {
  let session: Readonly<Record<string, string>> = {};
  let id = 0;
  const ask = (init: RequestInit): Promise<Response> => server.fetch(new Request("http://localhost/mcp", init));
  const post = (method: string, params: object = {}, signal: AbortSignal = new AbortController().signal): Promise<Response> => {
    id += 1;
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json", ...session };
    return ask({ method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id, method, params }), signal });
  };
  const begun = await post("initialize", { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: "t", version: "1" } });
  session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": PROTOCOL };
  return {
    post,
    async result(method, params) {
      const reply: unknown = await (await post(method, params)).json();
      assert.ok(typeof reply === "object" && reply !== null && "result" in reply, JSON.stringify(reply));
      return reply.result;
    },
    get: (last) => ask({ headers: { accept: "text/event-stream", "last-event-id": last, ...session } }),
  };
}

const echoSchema = { type: "object", properties: { message: { type: "string" } }, required: ["message"] } as const;

test("echo: a tool with a JSON Schema, listed verbatim #apptheory.tools.register", async () => {
  await using server = createServer("my-mcp-server", "dev");
  server.tools.register(
    { name: "echo", description: "Echo back the provided message.", input: echoSchema },
    ({ args: { message: input } }) => content([text(input)]),
  );
  const client = await legacy(server);
  assert.deepEqual(await client.result("tools/list"), {
    tools: [{ name: "echo", description: "Echo back the provided message.", inputSchema: echoSchema }],
  });
  assert.deepEqual(await client.result("tools/call", { name: "echo", arguments: { message: "hi" } }), {
    content: [{ type: "text", text: "hi" }],
  });
});

/** Events of a response, one at a time. */
async function* eventsOf(response: Response): AsyncGenerator<{ readonly id: string; readonly message: unknown }> {
  assert.ok(response.body !== null);
  let text_ = "";
  const decoder = new TextDecoder();
  for await (const piece of response.body) {
    text_ += decoder.decode(piece, { stream: true });
    for (let end = text_.indexOf("\n\n"); end >= 0; end = text_.indexOf("\n\n")) {
      const lines = text_.slice(0, end).split("\n");
      text_ = text_.slice(end + 2);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6) ?? "";
      if (data !== "") yield { id: lines.find((line) => line.startsWith("id: "))?.slice(4) ?? "", message: JSON.parse(data) };
    }
  }
}

const longTask = (server: Server, go: Promise<void>): void => {
  server.tools.register(
    { name: "long_task", description: "Example long-running task with progress.", input: { type: "object" } },
    async ({ emit }) => {
      emit({ status: "started" });
      await go;
      emit({ status: "done" });
      return content([text("ok")]);
    },
  );
};

const progress = (n: number, status: string) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: "p", progress: n, message: JSON.stringify({ status }) },
});

test("long_task: progress arrives while the task still runs #apptheory.streaming.register", async () => {
  const go = Promise.withResolvers<void>();
  await using server = createServer("my-mcp-server", "dev");
  longTask(server, go.promise);
  const client = await legacy(server);
  const response = await client.post("tools/call", { name: "long_task", arguments: {}, _meta: { progressToken: "p" } });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const seen: unknown[] = [];
  for await (const { message: received } of eventsOf(response)) {
    seen.push(received);
    go.resolve();
  }
  assert.deepEqual(seen, [
    progress(1, "started"),
    progress(2, "done"),
    { jsonrpc: "2.0", id: 2, result: { content: [{ type: "text", text: "ok" }] } },
  ]);
});

test("long_task: a legacy client that disconnects resumes from its last event and gets its reply", async () => {
  const go = Promise.withResolvers<void>();
  await using server = createServer("my-mcp-server", "dev");
  longTask(server, go.promise);
  const client = await legacy(server);
  const disconnect = new AbortController();
  const response = await client.post("tools/call", { name: "long_task", arguments: {}, _meta: { progressToken: "p" } }, disconnect.signal);
  let last = "";
  for await (const { id } of eventsOf(response)) {
    last = id;
    break;
  }
  disconnect.abort();
  go.resolve();
  const rest: unknown[] = [];
  for await (const { message: received } of eventsOf(await client.get(last))) rest.push(received);
  // Progress that is emitted while no client is connected is not stored.
  assert.deepEqual(rest, [{ jsonrpc: "2.0", id: 2, result: { content: [{ type: "text", text: "ok" }] } }]);
});

test("hello: a resource, listed and read", async () => {
  await using server = createServer("my-mcp-server", "dev");
  server.resources.register({ uri: "file://hello.txt", name: "hello", mimeType: "text/plain" }, () => "hello world");
  const client = await legacy(server);
  assert.deepEqual(await client.result("resources/list"), {
    resources: [{ name: "hello", uri: "file://hello.txt", mimeType: "text/plain" }],
  });
  assert.deepEqual(await client.result("resources/read", { uri: "file://hello.txt" }), {
    contents: [{ uri: "file://hello.txt", mimeType: "text/plain", text: "hello world" }],
  });
});

test("greet: a prompt with a required argument", async () => {
  await using server = createServer("my-mcp-server", "dev");
  server.prompts.register(
    { name: "greet", description: "Return a greeting message.", arguments: [{ name: "name", required: true }] },
    ({ args: { name } }) => messages([message("user", `hello ${name}`)]),
  );
  const client = await legacy(server);
  assert.deepEqual(await client.result("prompts/list"), {
    prompts: [{ name: "greet", description: "Return a greeting message.", arguments: [{ name: "name", required: true }] }],
  });
  assert.deepEqual(await client.result("prompts/get", { name: "greet", arguments: { name: "Ana" } }), {
    description: "Return a greeting message.",
    messages: [{ role: "user", content: { type: "text", text: "hello Ana" } }],
  });
});

test("a server uses its configured dialect: a client without a session is given one", async () => {
  for (const [profile, status] of [
    ["strict", 400],
    ["apptheory", 200],
  ] as const) {
    await using server = createServer("my-mcp-server", "dev", { profile });
    server.tools.register({ name: "t" }, () => "t");
    const answer = await server.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      }),
    );
    assert.equal(answer.status, status);
    assert.equal(answer.headers.has("mcp-session-id"), status === 200);
  }
});
