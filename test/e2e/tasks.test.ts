// Tasks of 2026-07-28 (SEP-2663), beyond what the official suite tests.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as z from "zod";
import { actor, elicit, refuse } from "../../src/core/actor/index.ts";
import type { JsonObject, Source } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { createGateway } from "../../src/mcp/gateway/index.ts";
import { createServer } from "../../src/mcp/server/index.ts";
import { cast } from "../../src/mcp/source/index.ts";
import { memorySessionStore, memoryStore, sqliteSessionStores } from "../../src/core/store/index.ts";
import { connectInMemory } from "../../src/mcp/transport/index.ts";
import { settle, SimulatedClock, type TestClient, type TestServer, testServer } from "../../src/testing/index.ts";

const TASKS = "io.modelcontextprotocol/tasks";
const HOUR = 3_600_000;

const declared = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, extensions: { [TASKS]: {} } } };

/** Resolved to let `name` ask its questions. */
let mayAsk = Promise.withResolvers<void>();

/** How often `wait` was aborted. */
let stopped = 0;

const kiln = actor("kiln", {
  description: "A kiln.",
  per: "user",
  persistence: "memory",
  mailbox: 5,
  state: z.object({ fired: z.int().default(0), of: z.string().default("") }),
  tools: {
    fire: {
      description: "Fires for an hour and a half, and tells of each half.",
      task: "optional",
      run({ state, message, wake, messages, later }) {
        state.of = message.id;
        wake("half", { afterMs: HOUR / 2, everyMs: HOUR / 2, message: messages.half() });
        return later();
      },
    },
    never: { description: "Is never answered.", task: "optional", run: ({ later }) => later() },
    must: { description: "For who knows tasks.", task: "required", run: ({ later }) => later() },
    hidden: { description: "Is not there.", task: "required", enabled: () => false, run: ({ later }) => later() },
    quick: { description: "Is done at once.", task: "optional", run: () => "done" },
    refuses: { description: "Refuses at once.", task: "optional", run: () => refuse("Not today.") },
    wait: {
      description: "Waits until it is aborted.",
      task: "optional",
      work: ({ signal, progress }) =>
        new Promise((_resolve, reject) => {
          progress(1, 2);
          signal.addEventListener("abort", () => {
            stopped += 1;
            reject(new Error("aborted"));
          });
        }),
    },
    name: {
      description: "Asks for two names.",
      task: "optional",
      async work({ ask, state }) {
        await mayAsk.promise;
        const name = z.object({ name: z.string() });
        const { a, b } = ask({ a: elicit("One?", name), b: elicit("Another?", name) });
        state.fired += 1;
        return [a, b].map((one) => (one.action === "accept" ? one.content.name : "-")).join("+");
      },
    },
  },
  messages: {
    half: {
      run({ state, report, answer, cancel }) {
        state.fired += 1;
        report(state.of, state.fired, 3, `half ${state.fired}`);
        if (state.fired < 3) return;
        cancel("half");
        answer(state.of, "It is fired.");
      },
    },
  },
});

const call = (client: TestClient, name: string): Promise<JsonObject> =>
  client.request("tools/call", { name, arguments: {} }, { meta: declared });
/** A call that takes longer than 50 ms becomes a task. */
async function begin({ clock }: TestServer, client: TestClient, name: string): Promise<JsonObject> {
  await client.listTools();
  const called = call(client, name);
  await settle();
  await clock.advance(50);
  return called;
}
const get = (client: TestClient, { taskId = null }: JsonObject): Promise<JsonObject> =>
  client.request("tasks/get", { taskId }, { meta: declared });
const cancel = (client: TestClient, { taskId = null }: JsonObject): Promise<JsonObject> =>
  client.request("tasks/cancel", { taskId }, { meta: declared });
const update = (client: TestClient, { taskId = null }: JsonObject, inputResponses: JsonObject): Promise<JsonObject> =>
  client.request("tasks/update", { taskId, inputResponses }, { meta: declared });

describe("a call of a client that supports tasks", () => {
  test("becomes a task if it takes long, reports its progress and ends with the result", async () => {
    await using server = await testServer([kiln]);
    const client = server.client({ era: "modern" });
    const task = await begin(server, client, "fire");
    assert.equal(task["resultType"], "task");
    assert.equal(task["status"], "working");
    assert.equal(task["createdAt"], "2024-01-01T00:00:00.000Z");
    await server.clock.advance(HOUR / 2 - 50);
    const working = await get(client, task);
    assert.deepEqual([working["resultType"], working["status"], working["statusMessage"]], ["complete", "working", "half 1"]);
    assert.equal(working["lastUpdatedAt"], "2024-01-01T00:30:00.000Z");
    await server.clock.advance(HOUR);
    const done = await get(client, task);
    assert.equal(done["status"], "completed");
    assert.deepEqual(done["result"], { resultType: "complete", content: [{ type: "text", text: "It is fired." }] });
    // Stored for an hour after its end (`ttlMs`), and no longer.
    await server.clock.advance(HOUR - 1);
    assert.equal((await get(client, task))["status"], "completed");
    await server.clock.advance(1);
    await assert.rejects(get(client, task), { code: -32602, message: /no task of this taskId/ });
  });

  test("is answered directly if it completes, refuses or asks at once", async () => {
    await using server = await testServer([kiln]);
    const client = server.client({ era: "modern" });
    assert.equal((await call(client, "quick"))["resultType"], "complete");
    assert.equal((await call(client, "refuses"))["isError"], true);
    mayAsk = Promise.withResolvers();
    mayAsk.resolve();
    const answers = { elicitation: () => ({ action: "decline" }) };
    const elicited = server.client({ era: "modern", answers });
    assert.match(JSON.stringify(await call(elicited, "name")), /"text":"-\+-"/);
  });

  test("finds no tasks of other principals", async () => {
    await using server = await testServer([kiln]);
    const [ann, bob] = [server.client({ era: "modern", principal: "ann" }), server.client({ era: "modern", principal: "bob" })];
    const task = await begin(server, ann, "fire");
    for (const ask of [get, cancel]) await assert.rejects(ask(bob, task), { code: -32602 });
    await assert.rejects(update(bob, task, {}), { code: -32602 });
    assert.equal((await get(ann, task))["status"], "working");
  });

  test("aborts its work when its task is cancelled, and ignores the outcome", async () => {
    await using server = await testServer([kiln]);
    const client = server.client({ era: "modern" });
    const task = await begin(server, client, "wait");
    await settle();
    assert.equal((await get(client, task))["statusMessage"], "1 of 2");
    assert.equal((await cancel(client, task))["resultType"], "complete");
    await settle();
    const cancelled = await get(client, task);
    assert.equal(cancelled["status"], "cancelled");
    assert.ok(!("error" in cancelled) && !("result" in cancelled));
    await cancel(client, task);
  });

  test("asks through its task, which accepts and validates answers one by one", async () => {
    await using server = await testServer([kiln]);
    const client = server.client({ era: "modern" });
    mayAsk = Promise.withResolvers();
    const task = await begin(server, client, "name");
    mayAsk.resolve();
    await settle();
    const waiting = await get(client, task);
    assert.equal(waiting["status"], "input_required");
    assert.deepEqual(Object.keys(Object(waiting["inputRequests"])), ["a", "b"]);
    await assert.rejects(update(client, task, { a: { action: "maybe" } }), {
      code: -32602,
      message: /The answer a is not the result of elicitation/,
    });
    await update(client, task, { a: { action: "accept", content: { name: "Ann" } }, other: 1 });
    assert.deepEqual(Object.keys(Object((await get(client, task))["inputRequests"])), ["b"]);
    await update(client, task, { a: { action: "accept", content: { name: "Eve" } }, b: { action: "decline" } });
    await settle();
    const { result } = await get(client, task);
    assert.match(JSON.stringify(result), /"text":"Ann\+-"/);
  });

  test("fails if its task has no news for an hour", async () => {
    await using server = await testServer([kiln]);
    const client = server.client({ era: "modern" });
    mayAsk = Promise.withResolvers();
    const [asking, never] = [await begin(server, client, "name"), await begin(server, client, "never")];
    mayAsk.resolve();
    await settle();
    await server.clock.advance(HOUR);
    for (const task of [never, asking]) {
      const { status, error } = await get(client, task);
      assert.equal(status, "failed");
      assert.match(JSON.stringify(error), /Nothing was heard of it for too long/);
    }
    await server.clock.advance(HOUR);
    await assert.rejects(get(client, never), { code: -32602 });
  });

  test("waits, or is refused, if its principal has too many tasks", async () => {
    await using server = await testServer([kiln], { limits: { inFlight: 2, tasks: 6 } });
    const [ann, bob] = [server.client({ era: "modern", principal: "ann" }), server.client({ era: "modern", principal: "bob" })];
    const first = await begin(server, ann, "must");
    await begin(server, ann, "must");
    await assert.rejects(call(ann, "must"), { code: -31429, message: /Too many tasks are stored/ });
    await assert.rejects(call(ann, "hidden"), { code: -32602, message: /Unknown tool: hidden/ });
    const waits = call(ann, "fire");
    await server.clock.advance(1.5 * HOUR);
    assert.equal((await waits)["resultType"], "complete");
    await server.clock.advance(HOUR);
    await assert.rejects(get(ann, first), { code: -32602 });
    // Finished tasks count as well, as long as they are stored.
    for (let n = 0; n < 3; n += 1) await cancel(ann, await begin(server, ann, "must"));
    await settle();
    await assert.rejects(call(ann, "must"), { code: -31429 });
    await begin(server, bob, "must");
  });

  test("counts its arguments against the memory limit while it runs, and its result while it is stored", async () => {
    await using server = await testServer([kiln], { limits: { heldBytes: 200_000 } });
    const client = server.client({ era: "modern" });
    const long = client.request("tools/call", { name: "must", arguments: { text: "x".repeat(250_000) } }, { meta: declared });
    await client.listTools();
    await server.clock.advance(50);
    const task = await long;
    await assert.rejects(call(client, "must"), { code: -31429 });
    await cancel(client, task);
    await settle();
    await begin(server, client, "must");
  });

  test("of one principal cannot use the memory for tasks of others", async () => {
    await using server = await testServer([kiln], { limits: { heldBytes: 200_000 } });
    const [ann, bob] = [server.client({ era: "modern", principal: "ann" }), server.client({ era: "modern", principal: "bob" })];
    const long = ann.request("tools/call", { name: "must", arguments: { text: "x".repeat(90_000) } }, { meta: declared });
    await ann.listTools();
    await server.clock.advance(50);
    await long;
    const more = ann.request("tools/call", { name: "must", arguments: { text: "x".repeat(20_000) } }, { meta: declared });
    await settle();
    await server.clock.advance(50);
    await more;
    await assert.rejects(call(ann, "must"), { code: -31429 });
    await begin(server, bob, "must");
  });

  test("C8 notifies a listener of its own tasks' status, at once and at each change", async () => {
    await using server = await testServer([kiln]);
    const client = server.client({ era: "modern", listen: false });
    const task = await begin(server, client, "fire");
    const foreign = await begin(server, server.client({ era: "modern", principal: "bob" }), "fire");
    const stream = client.stream({
      jsonrpc: "2.0",
      id: 77,
      method: "subscriptions/listen",
      params: { notifications: { taskIds: [task["taskId"] ?? null, foreign["taskId"] ?? null, "none"] }, _meta: declared },
    });
    const frames = stream[Symbol.asyncIterator]();
    const next = async (): Promise<JsonObject> => {
      const { value } = await frames.next();
      const { params } = JSON.parse(value?.data ?? "null");
      return params;
    };
    assert.deepEqual((await next())["notifications"], { taskIds: [task["taskId"]] });
    const statuses: unknown[] = [];
    const hear = async (): Promise<void> => {
      const { taskId, status, statusMessage } = await next();
      assert.equal(taskId, task["taskId"]);
      statuses.push(statusMessage ?? status);
    };
    await hear();
    for (let half = 0; half < 3; half += 1) {
      await server.clock.advance(HOUR / 2);
      await hear();
    }
    assert.deepEqual(statuses.slice(0, 4), ["working", "half 1", "half 2", "half 3"]);
  });
});

describe("a client that does not support tasks", () => {
  for (const era of ["legacy", "modern"] as const)
    test(`waits, or is refused if the tool requires tasks (${era})`, async () => {
      await using server = await testServer([kiln]);
      // 2025-06-18, since 2025-11-25 has its own tasks.
      const client = server.client(era === "legacy" ? { era, revision: "2025-06-18" } : { era });
      const fired = client.callTool("fire");
      await server.clock.advance(1.5 * HOUR);
      assert.deepEqual((await fired).content, [{ type: "text", text: "It is fired." }]);
      if (era === "legacy") {
        assert.match(JSON.stringify(await client.callTool("must")), /for clients that declare io\.modelcontextprotocol\/tasks/);
        await assert.rejects(client.request("tasks/get", { taskId: "a" }), { code: -32601 });
      } else {
        await assert.rejects(client.callTool("must"), { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
        for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
          await assert.rejects(client.request(method, { taskId: "a", inputResponses: {} }), { code: -32021 });
      }
    });
});

test("law 3: a hidden tool that requires tasks is unknown to every client", async () => {
  await using server = await testServer([kiln]);
  for (const era of ["legacy", "modern"] as const)
    await assert.rejects(server.client({ era }).callTool("hidden"), { code: -32602, message: /Unknown tool: hidden/ });
  await assert.rejects(call(server.client({ era: "modern" }), "hidden"), { code: -32602, message: /Unknown tool: hidden/ });
});

describe("a server", () => {
  const extensions = async (served: Parameters<typeof testServer>[0], options = {}): Promise<unknown> => {
    await using server = await testServer(served, options);
    const { capabilities } = await server.client({ era: "modern", listen: false }).request("server/discover");
    return Object(capabilities)["extensions"];
  };

  test("declares tasks if a tool has them and every node can find them", async () => {
    const plain = actor("plain", { description: "", initial: () => ({}), tools: { go: { description: "", run: () => "" } } });
    assert.deepEqual(await extensions([kiln]), { [TASKS]: {} });
    assert.equal(await extensions([plain]), undefined);
    assert.equal(await extensions([kiln], { extensions: { [TASKS]: null } }), undefined);
    assert.equal(await extensions([kiln], { tasks: false }), undefined);
    await using sessions = memorySessionStore();
    assert.equal(await extensions([kiln], { sessions, sharedSessions: true }), undefined);
    await using server = await testServer([plain]);
    await assert.rejects(server.client({ era: "modern" }).request("tasks/get", { taskId: "a" }, { meta: declared }), { code: -32601 });
    await using shared = await testServer([kiln], { sessions, sharedSessions: true });
    const client = shared.client({ era: "modern" });
    // Without tasks, calls of tools that require them wait as well.
    const fired = call(client, "fire");
    await shared.clock.advance(1.5 * HOUR);
    assert.equal((await fired)["resultType"], "complete");
  });

  test("of registries has tasks too, and cancelling one aborts its handler", async () => {
    const heard: string[] = [];
    await using server = await testServer((wires) => {
      const made = createServer("s", "1", { ...wires, tasks: true, handlerMs: 2 * HOUR });
      made.tools.register({ name: "dig", task: "optional" }, async ({ signal, progress }) => {
        progress(1);
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
        heard.push("aborted");
        signal.throwIfAborted();
        return "";
      });
      return made;
    });
    const client = server.client({ era: "modern" });
    const task = await begin(server, client, "dig");
    await settle();
    assert.equal((await get(client, task))["statusMessage"], "1");
    await cancel(client, task);
    await settle();
    assert.deepEqual(heard, ["aborted"]);
    assert.equal((await get(client, task))["status"], "cancelled");
  });

  test("has tasks on one ordered stream too, and they outlive the connection", async () => {
    await using store = memoryStore();
    await using engine = await LocalEngine.start({ kinds: [kiln], store });
    const clock = new SimulatedClock();
    await using gateway = createGateway({ source: cast({ engine, kinds: [kiln] }), info: { name: "s", version: "1" }, clock });
    const _meta = { ...declared, "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const heard: JsonObject[] = [];
    const connected = () => {
      const client = connectInMemory(gateway, { principal: "ann", scopes: [] });
      client.onMessage((text) => heard.push(JSON.parse(text)));
      return client;
    };
    const client = connected();
    const ask = async (id: number, method: string, params: JsonObject): Promise<JsonObject> => {
      client.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
      await settle();
      await clock.advance(50);
      const { result } = heard.find((message) => message["id"] === id) ?? {};
      return Object(result);
    };
    const task = await ask(1, "tools/call", { name: "wait", arguments: {} });
    assert.equal(task["resultType"], "task");
    const again = { taskId: task["taskId"] ?? null };
    assert.equal((await ask(2, "tasks/get", again))["status"], "working");
    const before = stopped;
    await client[Symbol.asyncDispose]();
    await settle();
    assert.equal(stopped, before);
    const back = connected();
    back.send({ jsonrpc: "2.0", id: 4, method: "tasks/cancel", params: { ...again, _meta } });
    await settle();
    assert.equal(stopped, before + 1);
    await back[Symbol.asyncDispose]();
  });

  test("that stores tasks reports their known outcome after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-tasks-"));
    const path = join(folder, "sessions.db");
    const left: JsonObject[] = [];
    try {
      for (const life of [1, 2]) {
        await using stores = sqliteSessionStores({ path });
        const { taskStore } = stores;
        await using server = await testServer([kiln], { taskStore });
        const client = server.client({ era: "modern" });
        if (life === 1) {
          left.push(await begin(server, client, "fire"));
          await server.clock.advance(1.5 * HOUR);
          left.push(await begin(server, client, "never"));
          continue;
        }
        const [fired = {}, never = {}] = left;
        await client.listTools();
        await server.clock.advance(1.6 * HOUR);
        const done = await get(client, fired);
        assert.deepEqual([done["resultType"], done["status"], done["taskId"]], ["complete", "completed", fired["taskId"]]);
        assert.match(JSON.stringify(done["result"]), /It is fired/);
        const lost = await get(client, never);
        assert.equal(lost["status"], "failed");
        assert.match(JSON.stringify(lost["error"]), /-31503.*The server closes before this was done/);
        const description = { taskId: "killed", status: "input_required", inputRequests: {} };
        const until = server.clock.now() + HOUR;
        await taskStore.put({ id: "killed", principal: "tester", description: JSON.stringify(description), over: false, until });
        const { error, inputRequests, ...killed } = await get(client, { taskId: "killed" });
        assert.deepEqual([killed["status"], inputRequests], ["failed", undefined]);
        assert.match(JSON.stringify(error), /-31503.*started anew while this ran/);
        assert.equal((await cancel(client, never))["resultType"], "complete");
        assert.equal((await update(client, never, {}))["resultType"], "complete");
        for (const task of left) await assert.rejects(get(server.client({ era: "modern", principal: "bob" }), task), { code: -32602 });
        await server.clock.advance(HOUR);
        await assert.rejects(get(client, fired), { code: -32602 });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("whose store is slow asks only through the task, and ends what no client waits for", async () => {
    await using store = memoryStore();
    await using engine = await LocalEngine.start({ kinds: [kiln], store });
    const clock = new SimulatedClock();
    let written = Promise.withResolvers<void>();
    const done = async (): Promise<void> => undefined;
    const taskStore = { put: () => written.promise, get: async () => undefined, expire: done, [Symbol.asyncDispose]: done };
    const source = cast({ engine, kinds: [kiln] });
    await using gateway = createGateway({ source, info: { name: "s", version: "1" }, clock, taskStore });
    const _meta = { ...declared, "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    await using client = connectInMemory(gateway, { principal: "ann", scopes: [] });
    const heard: JsonObject[] = [];
    client.onMessage((text) => heard.push(JSON.parse(text)));
    const begun = async (id: number, name: string): Promise<void> => {
      client.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: {}, _meta } });
      await settle();
      await clock.advance(50);
    };
    mayAsk = Promise.withResolvers();
    await begun(1, "name");
    mayAsk.resolve();
    await settle();
    assert.deepEqual(heard, []);
    written.resolve();
    await settle();
    assert.equal(Object(heard[0]?.["result"])["resultType"], "task");
    written = Promise.withResolvers();
    const before = stopped;
    await begun(2, "wait");
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    await settle();
    assert.equal(stopped, before + 1);
    written.resolve();
    await settle();
    assert.equal(heard.length, 1);
  });

  test("does not start a call that was cancelled while its tool was resolved", async () => {
    const found = Promise.withResolvers<void>();
    const offer = { name: "go", action: "go", readOnly: false, task: "optional", definition: { inputSchema: { type: "object" } } } as const;
    const surface = { catalogue: { tools: [offer], resources: [], prompts: [], links: {} }, off: {} };
    const begun: unknown[] = [];
    const source: Source = {
      surface: () => found.promise.then(() => surface),
      async act(_viewer, _ref, _args, { signal }) {
        begun.push(signal?.aborted);
        return { ok: "" };
      },
      watch: () => () => undefined,
    };
    await using gateway = createGateway({ source, info: { name: "s", version: "1" } });
    const _meta = { ...declared, "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    await using client = connectInMemory(gateway, { principal: "ann", scopes: [] });
    client.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "go", arguments: {}, _meta } });
    await settle();
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await settle();
    found.resolve();
    await settle();
    assert.deepEqual(begun, [true]);
  });

  test("goes on if its task store fails, and logs it", async () => {
    const logged: string[] = [];
    const broken = (): Promise<never> => Promise.reject(new Error("full"));
    const taskStore = { put: broken, get: broken, expire: broken, [Symbol.asyncDispose]: async () => undefined };
    await using server = await testServer([kiln], { taskStore, log: (_level, data) => void logged.push(JSON.stringify(data)) });
    const client = server.client({ era: "modern" });
    const task = await begin(server, client, "never");
    assert.equal((await get(client, task))["status"], "working");
    assert.match(logged.join(), /task-not-kept/);
  });

  test("that closes waits for tasks as for requests, then aborts the rest", async () => {
    await using store = memoryStore();
    await using engine = await LocalEngine.start({ kinds: [kiln], store });
    const clock = new SimulatedClock();
    const gateway = createGateway({ source: cast({ engine, kinds: [kiln] }), info: { name: "s", version: "1" }, clock });
    await using server = await testServer(gateway);
    const client = server.client({ era: "modern", listen: false });
    const before = stopped;
    const called = call(client, "wait");
    await settle();
    await clock.advance(50);
    const task = await called;
    const closing = gateway.drain(1_000);
    await settle();
    await clock.advance(999);
    await assert.rejects(call(client, "quick"), { code: -31503 });
    await clock.advance(1);
    await closing;
    await settle();
    assert.equal(task["status"], "working");
    assert.equal(stopped, before + 1);
  });

  test("refuses contradictory definitions", () => {
    const wrong = (tool: object) => () =>
      Reflect.apply(actor, undefined, ["a", { description: "", initial: () => ({}), tools: { go: { description: "", ...tool } } }]);
    assert.throws(wrong({ task: "optional", view: () => "" }), { code: "BAD_DEFINITION", message: /only reads/ });
    assert.throws(wrong({ task: "always", run: () => "" }), { code: "BAD_DEFINITION", message: /`task` is "optional" or "required"/ });
    const server = createServer("s", "1");
    const tools: { register(...given: readonly unknown[]): unknown } = server.tools;
    assert.throws(() => tools.register({ name: "x", task: true }, () => ""), {
      code: "BAD_DEFINITION",
      message: /task has to be/,
    });
  });
});
