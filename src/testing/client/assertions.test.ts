import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, refuse } from "../../core/actor/index.ts";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { registry } from "../../mcp/source/index.ts";
import {
  assertError,
  assertHasTools,
  assertRefused,
  assertToolResult,
  callToolRequest,
  getPromptRequest,
  initializeRequest,
  listPromptsRequest,
  listResourcesRequest,
  listToolsRequest,
  readResourceRequest,
  testActor,
  type TestClient,
  testServer,
  toolText,
} from "../index.ts";
import { exampleSource } from "./example-source.fixture.ts";

const failed = (message: RegExp) => ({ name: "AssertionError", message });

test("the request builders make valid requests, whose ids the replies carry #apptheory.properties.testkit", async () => {
  await using server = await testServer(exampleSource().source);
  const client = server.client();
  const begun = await client.raw(initializeRequest("first", { protocolVersion: "2025-06-18" }));
  assert.deepEqual([begun.id, begun.result?.["protocolVersion"]], ["first", "2025-06-18"]);
  assert.ok(client.sessionId);
  for (const request of [
    listToolsRequest(2),
    callToolRequest(3, "greet", { name: "Ada" }),
    listResourcesRequest(20),
    readResourceRequest(21, "home://door"),
    listPromptsRequest(30),
    getPromptRequest(31, "knock", { times: "2" }),
  ]) {
    const reply = await client.raw(request);
    assert.equal(reply.id, request.id);
    assert.ok(reply.result, request.method);
  }
});

test("a tool's data is compared whole, and its members are typed", async () => {
  const tools = {
    measure: { description: "Measures.", work: () => ({ celsius: 5, of: ["a", { b: null }] }) },
    fail: { description: "Fails.", work: () => refuse("Broken.") },
  };
  await using server = await testServer(registry({ tools }));
  const client = server.client();
  const measured = await client.callTool("measure");
  assertToolResult(measured, { of: ["a", { b: null }], celsius: 5 });
  assertToolResult(await client.raw(callToolRequest(9, "measure")), { celsius: 5, of: ["a", { b: null }] });
  assert.throws(() => assertToolResult(measured, { celsius: 5 }), failed(/structuredContent is another:\n.*celsius: 5/));
  const typed: { readonly isError?: boolean; readonly structuredContent?: Json } = measured;
  assert.deepEqual([typed.isError, isJsonObject(typed.structuredContent)], [undefined, true]);
  const broken = await client.callTool("fail");
  assert.equal(broken.isError, true);
  assert.throws(() => assertToolResult(broken, {}), failed(/The tool failed: Broken\./));
});

const gate = actor("gate", {
  description: "A gate.",
  state: z.object({ open: z.boolean().default(false) }),
  tools: {
    pass: {
      description: "Goes through.",
      enabled: ({ state }) => state.open || "The gate is shut.",
      view: () => "Through.",
    },
    knock: {
      description: "Knocks.",
      input: z.object({ times: z.int() }),
      run: ({ args }) => refuse("No answer.", { code: "DEAF", data: args }),
    },
    open: {
      description: "Opens it.",
      run({ state }) {
        state.open = true;
      },
    },
    break: {
      description: "Throws.",
      run() {
        throw new TypeError("a secret");
      },
    },
  },
});

test("assertRefused checks sentence and code, in both eras and for one actor", async () => {
  await using server = await testServer([gate]);
  for (const era of ["legacy", "modern"] as const) {
    const client = server.client({ era });
    const shut = await client.callTool("pass");
    assertRefused(shut);
    assertRefused(shut, "The gate is shut.");
    assertRefused(shut, /shut/, "NOT_NOW");
    assertRefused(await client.raw(callToolRequest(7, "pass")), /shut/, "NOT_NOW");
    assertRefused(await client.callTool("knock", { times: 2 }), "No answer.", "DEAF");
    assertRefused(await client.callTool("knock", { times: "2" }), /times/, "INVALID");
  }
  assertRefused(await server.engine.call({ to: gate.id("main"), action: "tools/pass", args: {}, start: null }), /shut/, "NOT_NOW");
  const actorAlone = testActor(gate);
  assertRefused(actorAlone.view("tools/pass"), /shut/, "NOT_NOW");
  assertRefused(actorAlone.turn("tools/knock", { times: 1 }), "No answer.", "DEAF");
  assertRefused(actorAlone.turn("tools/knock", { times: 1 }).reply, "No answer.", "DEAF");
});

test("assertRefused prints what there is instead of the refusal", async () => {
  await using server = await testServer([gate]);
  const client = server.client();
  const shut = await client.callTool("pass");
  assert.throws(() => assertRefused(shut, "The gate is open."), failed(/says "The gate is shut\.", not The gate is open\./));
  assert.throws(() => assertRefused(shut, /shut/, "REFUSED"), failed(/has NOT_NOW, not REFUSED; it says "The gate is shut\."/));
  const broken = await client.callTool("break");
  assert.throws(() => assertRefused(broken), failed(/but the tool failed with CRASHED: /));
  assert.throws(() => assertRefused({ content: [], isError: true }, undefined, "NO"), failed(/no code, not NO/));
  const unknown = await client.raw(callToolRequest(7, "fly"));
  assert.throws(() => assertRefused(unknown), failed(/but the server answered with the error -32602: /));
  assert.throws(() => assertRefused(testActor(gate).turn("tools/open")), failed(/no reply, which means that it was done/));
  await client.callTool("open");
  const through = await client.callTool("pass");
  assert.throws(() => assertRefused(through, /shut/), failed(/but the tool succeeded: Through\.:\n[^]*content: /));
  assert.throws(() => assertRefused({ ok: 1 }), failed(/the reply is `ok`/));
  assert.throws(() => assertRefused({ needs: {} }), failed(/must answer a question/));
  assert.throws(() => assertRefused("later"), failed(/in a later turn/));
});

/** Compiled, never run. */
export const mustNotCompile = {
  promise: (client: TestClient) => {
    // @ts-expect-error -- await it
    assertRefused(client.callTool("pass"));
  },
};

test("assertions pass, or print what there is instead #apptheory.properties.testkit", async () => {
  await using server = await testServer(exampleSource().source);
  const client = server.client({ era: "modern" });
  const greeted = await client.raw(callToolRequest(1, "greet", { name: "Ada" }));
  assertToolResult(greeted, "Hello, Ada.");
  assertToolResult(greeted, /Ada/);
  assert.throws(() => assertToolResult(greeted, "Hello, Bob."), failed(/"Hello, Ada\.", not Hello, Bob\./));
  const broken = await client.callTool("break");
  assert.throws(() => assertToolResult(broken, toolText(broken)), failed(/The tool failed/));
  const unknown = await client.raw(callToolRequest(2, "fly"));
  assert.throws(() => assertToolResult(unknown, ""), failed(/no tool result/));

  assertError(unknown, -32602);
  await client.callTool("fly").catch((error: unknown) => assertError(error, -32602));
  assert.throws(() => assertError(unknown, -32601), failed(/-32602, not -32601/));
  assert.throws(() => assertError(greeted, -32602), failed(/No error/));

  const tools = await client.listTools();
  assertHasTools(tools, "greet", "count");
  assertHasTools(await client.raw(listToolsRequest(3)), "greet");
  assert.throws(() => assertHasTools(tools, "greet", "fly", "swim"), failed(/missing: fly, swim/));
  assert.throws(() => assertHasTools(unknown, "fly"), failed(/no list of tools/));
});

test("a missing JSON-RPC response is reported with what arrived instead", async () => {
  await using server = await testServer({ exchange: () => ({ status: 404, body: '{"error":"session not found"}' }) });
  await assert.rejects(server.client().raw(listToolsRequest(1)), /status 404, \{"error":"session not found"\}/);
});

test("a pattern used twice matches from the start each time, whatever its flags", () => {
  const done = { content: [{ type: "text", text: "Done." }] };
  for (const pattern of [/Done/g, /Done/y]) for (let time = 0; time < 2; time += 1) assertToolResult(done, pattern);
});
