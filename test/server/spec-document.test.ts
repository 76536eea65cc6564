// The document's server over raw HTTP, in its own profile and, where they agree, in MCP's: its snippets and properties.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  audio,
  content,
  contents,
  createServer,
  embeddedResource,
  image,
  message,
  messages,
  resourceLink,
  type Server,
  text,
} from "troupe/server";
import * as z from "zod";

const reply = z.object({
  jsonrpc: z.string(),
  id: z.unknown(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});
const replyIn = async (answer: Response): Promise<z.infer<typeof reply>> => reply.parse(await answer.json());

const echoSchema = { type: "object", properties: { message: { type: "string" } }, required: ["message"] } as const;

/** The document's four snippets. */
function snippets(profile: "strict" | "apptheory"): Server {
  const server = createServer("my-mcp-server", "dev", { profile, rateLimit: false });
  server.tools.register(
    { name: "echo", description: "Echo back the provided message.", input: echoSchema },
    ({ args: { message: input } }) => content([text(input)]),
  );
  server.tools.register(
    { name: "long_task", description: "Example long-running task with progress.", input: { type: "object" } },
    async ({ emit }) => {
      emit({ status: "started" });
      emit("two\nlines");
      emit({ status: "done" });
      return content([text("ok")]);
    },
  );
  server.tools.register({ name: "fails" }, () => {
    throw new Error("out of ink");
  });
  server.resources.register({ uri: "file://hello.txt", name: "hello", mimeType: "text/plain" }, () =>
    contents([{ uri: "file://hello.txt", mimeType: "text/plain", text: "hello world" }]),
  );
  server.prompts.register(
    { name: "greet", description: "Return a greeting message.", arguments: [{ name: "name", required: true }] },
    ({ args: { name } }) => messages([message("user", text(`hello ${name}`))]),
  );
  return server;
}

const INITIALIZE = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };

const post = (server: Server, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  server.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }),
  );

const ask = (id: unknown, method: string, params?: object): object => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});

/** Sends requests in a new session, as the profile requires. */
async function asking(server: Server): Promise<(method: string, params?: object, id?: unknown) => Promise<Record<string, unknown>>> {
  const both = { accept: "application/json, text/event-stream" };
  const begun = await post(server, ask(0, "initialize", INITIALIZE), both);
  const session = { accept: "application/json, text/event-stream;q=0.1", "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  return async (method, params = {}, id = 1) => {
    const answer = await (await post(server, ask(id, method, params), session)).text();
    return JSON.parse(answer.startsWith("{") ? answer : (/^data: (\{"jsonrpc":"2\.0","id".*)$/m.exec(answer)?.[1] ?? "null"));
  };
}

for (const profile of ["strict", "apptheory"] as const)
  describe(`the document's snippets, under ${profile}`, () => {
    test("initialize returns the server's name, version, revision, and capabilities for what it has #apptheory.surface #apptheory.transport.mount #apptheory.transport.revision #apptheory.methods", async () => {
      await using server = snippets(profile);
      const { result } = await replyIn(
        await post(server, ask(1, "initialize", INITIALIZE), { accept: "application/json, text/event-stream" }),
      );
      assert.deepEqual(result?.["serverInfo"], { name: "my-mcp-server", version: "dev" });
      assert.equal(result["protocolVersion"], "2025-06-18");
      assert.match(JSON.stringify(result["capabilities"]), /"tools":\{.*"resources":\{.*"prompts":\{/);
    });

    test("the echo tool is listed and called #apptheory.surface #apptheory.transport.http #apptheory.methods #apptheory.tools.register", async () => {
      await using server = snippets(profile);
      const call = await asking(server);
      const { result } = await call("tools/list");
      assert.ok(
        JSON.stringify(result).startsWith(
          JSON.stringify({ tools: [{ name: "echo", description: "Echo back the provided message.", inputSchema: echoSchema }] }).slice(
            0,
            -2,
          ),
        ),
        JSON.stringify(result),
      );
      assert.deepEqual((await call("tools/call", { name: "echo", arguments: { message: "hi" } }))["result"], {
        content: [{ type: "text", text: "hi" }],
      });
      assert.deepEqual((await call("tools/call", { name: "long_task", arguments: {} }))["result"], {
        content: [{ type: "text", text: "ok" }],
      });
    });

    test("the hello resource is listed and read #apptheory.surface #apptheory.methods #apptheory.resources.register #apptheory.resources.contents #apptheory.resources.methods", async () => {
      await using server = snippets(profile);
      const call = await asking(server);
      assert.deepEqual((await call("resources/list"))["result"], {
        resources: [{ uri: "file://hello.txt", name: "hello", mimeType: "text/plain" }],
      });
      assert.deepEqual((await call("resources/read", { uri: "file://hello.txt" }))["result"], {
        contents: [{ uri: "file://hello.txt", mimeType: "text/plain", text: "hello world" }],
      });
    });

    test("the greet prompt is listed and rendered #apptheory.surface #apptheory.methods #apptheory.prompts.register #apptheory.prompts.methods", async () => {
      await using server = snippets(profile);
      const call = await asking(server);
      assert.deepEqual((await call("prompts/list"))["result"], {
        prompts: [{ name: "greet", description: "Return a greeting message.", arguments: [{ name: "name", required: true }] }],
      });
      const { result } = await call("prompts/get", { name: "greet", arguments: { name: "Ada" } });
      assert.match(JSON.stringify(result), /"messages":\[\{"role":"user","content":\{"type":"text","text":"hello Ada"\}\}\]/);
    });

    test("the five kinds of content block and structured content are as in the document #apptheory.tools.text #apptheory.tools.image #apptheory.tools.audio #apptheory.tools.link #apptheory.tools.embedded #apptheory.tools.structured", async () => {
      await using server = createServer("s", "1", { profile });
      const blocks = [
        text("a"),
        image("AQID", "image/png"),
        audio("AQID", "audio/wav"),
        resourceLink({ uri: "file://a", name: "a" }),
        embeddedResource({ uri: "file://a", text: "a" }),
      ];
      server.tools.register({ name: "all" }, () => content(blocks, { n: 1 }));
      const { result } = await (await asking(server))("tools/call", { name: "all" });
      assert.deepEqual(result, {
        content: [
          { type: "text", text: "a" },
          { type: "image", data: "AQID", mimeType: "image/png" },
          { type: "audio", data: "AQID", mimeType: "audio/wav" },
          { type: "resource_link", uri: "file://a", name: "a" },
          { type: "resource", resource: { uri: "file://a", text: "a" } },
        ],
        structuredContent: { n: 1 },
      });
    });

    test("every answer is JSON-RPC 2.0 with the request's id, and a result or an error #apptheory.transport.body #apptheory.properties.response", async () => {
      await using server = snippets(profile);
      const call = await asking(server);
      const id = fc.oneof(fc.maxSafeInteger(), fc.string({ maxLength: 50 }));
      const method = fc.constantFrom("tools/list", "tools/call", "resources/read", "prompts/get", "ping", "no/such");
      const params = fc.record({
        name: fc.constantFrom("echo", "fails", "greet", ""),
        uri: fc.string(),
        arguments: fc.dictionary(fc.string(), fc.string()),
      });
      await fc.assert(
        fc.asyncProperty(id, method, params, async (one, which, given) => {
          const answered = await call(which, given, one);
          assert.deepEqual([answered["jsonrpc"], answered["id"]], ["2.0", one]);
          assert.notEqual("result" in answered, "error" in answered);
        }),
        { numRuns: 60 },
      );
    });

    test("definitions are listed in the order of registration, whatever is removed #apptheory.properties.definitions", async () => {
      const names = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9_-]{0,20}$/), { minLength: 1, maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(names, fc.string({ minLength: 1 }), fc.nat(7), async (all, description, at) => {
          await using server = createServer("s", "1", { profile });
          for (const name of all) server.tools.register({ name, description, input: echoSchema }, () => name);
          const removed = all[at];
          if (removed !== undefined) server.tools.unregister(removed);
          const { result } = await (await asking(server))("tools/list");
          const expected = all.filter((name) => name !== removed).map((name) => ({ name, description, inputSchema: echoSchema }));
          assert.deepEqual(result, { tools: expected });
        }),
        { numRuns: 25 },
      );
    });
  });

describe("the document's server, under apptheory", () => {
  test("each kind of error has its code, over 200, and a session #apptheory.transport.http #apptheory.transport.body #apptheory.methods #apptheory.properties.codes #apptheory.properties.handlers", async () => {
    await using server = snippets("apptheory");
    const sent: readonly (readonly [unknown, unknown, number, RegExp])[] = [
      ["garbage", null, -32700, /^Parse error: /],
      [{ id: 5, method: "tools/list" }, null, -32700, /^Parse error: missing required field: jsonrpc$/],
      [{ jsonrpc: "1.0", id: 5, method: "tools/list" }, null, -32700, /^Parse error: unsupported jsonrpc version: 1\.0$/],
      [{ jsonrpc: "2.0", id: 5, method: "" }, null, -32700, /^Parse error: method must not be empty$/],
      [{ jsonrpc: "2.0", id: 5 }, null, -32700, /^Parse error: /],
      [ask(5, "no/such"), 5, -32601, /^Method not found: no\/such$/],
      [{ jsonrpc: "2.0", id: 5, method: "tools/call", params: [] }, 5, -32602, /^Invalid params: /],
      [ask(5, "tools/call", {}), 5, -32602, /^Invalid params: missing tool name$/],
      [ask(5, "tools/call", { name: "echo", arguments: 1 }), 5, -32602, /^Invalid params: /],
      [ask(5, "tools/call", { name: "no" }), 5, -32602, /^tool not found: no$/],
      [ask(5, "tools/call", { name: "fails" }), 5, -32000, /^out of ink$/],
      [ask(5, "resources/read", { uri: "x://no" }), 5, -32602, /^resource not found: x:\/\/no$/],
      [ask(5, "prompts/get", { name: "no" }), 5, -32602, /^prompt not found: no$/],
    ];
    for (const [body, id, code, why] of sent) {
      const answer = await post(server, body);
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get("mcp-session-id") ?? "", /^[0-9a-f]{32}$/);
      const replied = await replyIn(answer);
      assert.deepEqual([replied.id, replied.error?.code], [id, code], JSON.stringify(replied));
      assert.match(replied.error?.message ?? "", why);
    }
  });

  test("session ids are unique, and a known one is retained #apptheory.surface #apptheory.transport.session #apptheory.sessions.issued #apptheory.properties.ids", async () => {
    await using server = snippets("apptheory");
    const ids = new Set<string>();
    for (let at = 0; at < 50; at += 1) ids.add((await post(server, ask(at, "tools/list"))).headers.get("mcp-session-id") ?? "");
    assert.equal(ids.size, 50);
    const [known = ""] = ids;
    const again = await post(server, ask(1, "tools/list"), { "mcp-session-id": known });
    assert.equal(again.headers.get("mcp-session-id"), known);
    const unknown = await post(server, ask(1, "tools/list"), { "mcp-session-id": "unknown" });
    assert.ok(!ids.has(unknown.headers.get("mcp-session-id") ?? "") && unknown.headers.get("mcp-session-id") !== "unknown");
  });

  test("a tool call that accepts events gets events, and every other request JSON #apptheory.surface #apptheory.streaming.accept #apptheory.streaming.events #apptheory.streaming.register #apptheory.properties.format", async () => {
    await using server = snippets("apptheory");
    const typeOf = async (accept: string, method: string, name?: string): Promise<string | null> => {
      const answer = await post(server, ask(1, method, name === undefined ? {} : { name, arguments: { message: "m" } }), { accept });
      await answer.text();
      return answer.headers.get("content-type");
    };
    assert.equal(await typeOf("application/json", "tools/call", "long_task"), "application/json");
    assert.equal(await typeOf("TEXT/Event-Stream", "tools/call", "echo"), "text/event-stream");
    assert.equal(await typeOf("application/json, text/event-stream", "tools/call", "no"), "text/event-stream");
    assert.equal(await typeOf("application/json, text/event-stream", "tools/list"), "application/json");
    const events = await (await post(server, ask(1, "tools/call", { name: "long_task" }), { accept: "text/event-stream" })).text();
    assert.equal(
      events.replaceAll(/^(?:id|retry): .*\n|^:.*\n\n?/gm, ""),
      [
        'event: progress\ndata: {"status":"started"}\n\n',
        "event: progress\ndata: two\ndata: lines\n\n",
        'event: progress\ndata: {"status":"done"}\n\n',
        'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok"}]}}\n\n',
      ].join(""),
    );
  });

  test("a batch is answered in order, also after initialize; an invalid element or none is one parse error #apptheory.properties.batch", async () => {
    await using server = snippets("apptheory");
    const answer = await post(server, [ask("a", "initialize"), ask("b", "no/such"), ask("c", "tools/call", { name: "fails" })]);
    const replies = z.array(reply).parse(await answer.json());
    assert.deepEqual(
      replies.map(({ id, result, error }) => [id, result?.["protocolVersion"] ?? error?.code]),
      [
        ["a", "2025-06-18"],
        ["b", -32601],
        ["c", -32000],
      ],
    );
    for (const [batch, why] of [
      [[], "Parse error: empty batch request"],
      [[ask(1, "ping"), { id: 2, method: "ping" }], "Parse error: batch element 1: missing required field: jsonrpc"],
    ] as const)
      assert.deepEqual(await (await post(server, batch)).json(), { jsonrpc: "2.0", id: null, error: { code: -32700, message: why } });
  });

  test("notifications/initialized and ping are accepted as in MCP #apptheory.properties.official", async () => {
    await using server = snippets("apptheory");
    assert.equal((await post(server, { jsonrpc: "2.0", method: "notifications/initialized" })).status, 202);
    assert.deepEqual(await (await post(server, ask(1, "ping"))).json(), { jsonrpc: "2.0", id: 1, result: {} });
  });

  test("a timeout error names its tool #apptheory.properties.handlers", async () => {
    await using server = createServer("s", "1", { profile: "apptheory", handlerMs: 5 });
    server.tools.register({ name: "slow" }, () => new Promise(() => undefined));
    const { error } = await replyIn(await post(server, ask(1, "tools/call", { name: "slow" })));
    assert.deepEqual(error, { code: -32000, message: 'tool "slow" timed out' });
  });
});
