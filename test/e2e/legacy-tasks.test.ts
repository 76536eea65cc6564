// Tasks of revision 2025-11-25 (Utilities, Tasks), with raw requests and the official client v1.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  GetTaskResultSchema,
  ListTasksResultSchema,
  RELATED_TASK_META_KEY,
} from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { actor, elicit } from "../../src/core/actor/index.ts";
import type { JsonObject, Source } from "../../src/core/contract/index.ts";
import { createServer } from "../../src/mcp/server/index.ts";
import { registry } from "../../src/mcp/source/index.ts";
import { sqliteSessionStores } from "../../src/core/store/index.ts";
import { assertToolResult, settle, type TestClient, testServer, type Wires } from "../../src/testing/index.ts";

const HOUR = 3_600_000;
/** Capabilities of a 2026-07-28 client that supports tasks. */
const DECLARED = { "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } } };

/** Resolved to let `later_ask` ask. */
const mayAsk = Promise.withResolvers<void>();

/** A tool for each possible course of a task. `finish` ends the waiting ones. */
const oven = actor("oven", {
  description: "An oven.",
  per: "user",
  persistence: "memory",
  state: z.object({ waiting: z.array(z.string()).default([]) }),
  tools: {
    bake: {
      description: "Bakes until `finish` is called.",
      task: "optional",
      run({ state, message, later }) {
        state.waiting.push(message.id);
        return later();
      },
    },
    must: { description: "Can only be called as a task.", task: "required", run: ({ later }) => later() },
    hidden: { description: "Never listed.", task: "required", enabled: () => false, run: ({ later }) => later() },
    now: { description: "Is done at once.", task: "optional", run: () => "done" },
    burn: {
      description: "Fails.",
      task: "optional",
      run() {
        throw new Error("burnt");
      },
    },
    secret: { description: "Is for some.", scopes: ["admin"], task: "optional", run: () => "the recipe" },
    plain: { description: "Cannot be a task.", run: () => "plain" },
    finish: {
      description: "Ends all that bakes.",
      run({ state, answer }) {
        for (const of of state.waiting.splice(0)) answer(of, "A cake.");
        return "Finished.";
      },
    },
    later_ask: {
      description: "Asks for a topping, once it may.",
      task: "optional",
      async work({ ask }) {
        await mayAsk.promise;
        const { topping } = ask({ topping: elicit("Which topping?", z.object({ name: z.string() })) });
        return topping.action === "accept" ? `With ${topping.content.name}.` : "Plain.";
      },
    },
    ask: {
      description: "Asks for a topping.",
      task: "optional",
      work({ ask }) {
        const { topping } = ask({ topping: elicit("Which topping?", z.object({ name: z.string() })) });
        return Promise.resolve(topping.action === "accept" ? `With ${topping.content.name}.` : "Plain.");
      },
    },
  },
});

const start = (client: TestClient, name: string, task: JsonObject = {}): Promise<JsonObject> =>
  client.request("tools/call", { name, arguments: {}, task });
const idOf = (created: JsonObject): string => CreateTaskResultSchema.parse(created).task.taskId;
const get = (client: TestClient, taskId: string): Promise<JsonObject> => client.request("tasks/get", { taskId });
const result = (client: TestClient, taskId: string): Promise<JsonObject> => client.request("tasks/result", { taskId });
const statusOf = async (client: TestClient, taskId: string): Promise<string> => GetTaskResultSchema.parse(await get(client, taskId)).status;

describe("tasks of 2025-11-25", () => {
  test("a server with a task tool declares tasks, and each tool declares its support", async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era: "legacy" });
    const { capabilities } = await client.initialize();
    assert.deepEqual(Object(capabilities)["tasks"], { list: {}, cancel: {}, requests: { tools: { call: {} } } });
    const { tools } = await client.request("tools/list");
    const support = Object.fromEntries(Array.from(Object(tools), (tool) => [Object(tool).name, Object(tool).execution]));
    assert.deepEqual(
      [support["bake"], support["must"], support["plain"]],
      [{ taskSupport: "optional" }, { taskSupport: "required" }, undefined],
    );
  });

  test("older revisions and servers without task tools have no tasks", async () => {
    await using server = await testServer([oven]);
    const old = server.client({ era: "legacy", revision: "2025-06-18" });
    assert.equal(Object((await old.initialize())["capabilities"])["tasks"], undefined);
    const { tools } = await old.request("tools/list");
    assert.ok(!JSON.stringify(tools).includes("taskSupport"));
    await assert.rejects(old.request("tasks/list"), { code: -32601 });
    await using bare = await testServer([
      actor("plain", { description: "", initial: () => ({}), tools: { go: { description: "", run: () => "done" } } }),
    ]);
    const client = bare.client({ era: "legacy" });
    assert.equal(Object((await client.initialize())["capabilities"])["tasks"], undefined);
    // Tasks are not declared, so the request for one is ignored.
    assert.deepEqual((await client.request("tools/call", { name: "go", arguments: {}, task: {} }))["content"], [
      { type: "text", text: "done" },
    ]);
  });

  test("a server whose mounted server is not ready declares tasks, in either era", async () => {
    await using server = await testServer((wires: Wires) => {
      const inner = registry({ tools: { far: { work: () => "far" } } });
      const unplanned: Source = {
        surface: async (viewer) => inner.surface(viewer),
        act: (...call) => inner.act(...call),
        watch: (...watch) => inner.watch(...watch),
      };
      const made = createServer("s", "1", { ...wires, tasks: true, sources: [unplanned] });
      made.tools.register({ name: "slow", task: "required" }, () => "done");
      return made;
    });
    const client = server.client({ era: "legacy" });
    assert.ok("tasks" in Object((await client.initialize())["capabilities"]));
    assert.equal(await statusOf(client, idOf(await start(client, "slow"))), "completed");
    await assert.rejects(start(client, "far"), { code: -32601, message: /cannot be called as a task/ });
    const found = await server.client({ era: "modern" }).request("server/discover");
    assert.ok(JSON.stringify(found["capabilities"]).includes("io.modelcontextprotocol/tasks"));
  });

  test("with tasks disabled no list offers one, and every client waits for the result", async () => {
    await using server = await testServer((wires: Wires) => {
      const made = createServer("s", "1", { ...wires, tasks: false });
      for (const task of ["required", "optional"] as const) made.tools.register({ name: task, task }, () => "done");
      return made;
    });
    for (const era of ["legacy", "modern"] as const) {
      const client = server.client({ era, principal: null });
      assert.ok(!JSON.stringify(await client.request("tools/list")).includes("execution"));
      for (const name of ["required", "optional"]) assertToolResult(await client.callTool(name), "done");
    }
  });

  test("a call becomes a task at once, and tasks/result waits for its end", async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era: "legacy" });
    const created = CreateTaskResultSchema.parse(await start(client, "bake", { ttl: 60_000 }));
    assert.deepEqual([created.task.status, created.task.ttl, created.task.createdAt], ["working", 60_000, "2024-01-01T00:00:00.000Z"]);
    const { taskId } = created.task;
    const waiting = result(client, taskId);
    assert.equal(await statusOf(client, taskId), "working");
    await client.callTool("finish");
    const done = await waiting;
    assert.deepEqual(CallToolResultSchema.parse(done).content, [{ type: "text", text: "A cake." }]);
    assert.deepEqual(Object(done["_meta"])[RELATED_TASK_META_KEY], { taskId });
    assert.ok(!("resultType" in done));
    assert.equal(await statusOf(client, taskId), "completed");
    assert.deepEqual(await result(client, taskId), done);
    await server.clock.advance(60_000);
    await assert.rejects(get(client, taskId), { code: -32602 });
  });

  test("a call that completes at once is still a task", async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era: "legacy" });
    const taskId = idOf(await start(client, "now"));
    assert.deepEqual((await result(client, taskId))["content"], [{ type: "text", text: "done" }]);
  });

  test("an error of the tool makes a failed task whose result is that error", async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era: "legacy" });
    const taskId = idOf(await start(client, "burn"));
    await settle();
    assert.equal(await statusOf(client, taskId), "failed");
    const outcome = await result(client, taskId).catch((error: unknown) => ({ isError: true, thrown: String(error) }));
    assert.equal(Object(outcome).isError, true);
  });

  test("a tool that requires or forbids tasks refuses the other kind of call", async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era: "legacy" });
    await assert.rejects(client.request("tools/call", { name: "must", arguments: {} }), { code: -32601, message: /params\.task/ });
    await assert.rejects(start(client, "plain"), { code: -32601, message: /cannot be called as a task/ });
    for (const task of [undefined, {}])
      await assert.rejects(client.request("tools/call", { name: "hidden", arguments: {}, ...(task && { task }) }), {
        code: -32602,
        message: /Unknown tool: hidden/,
      });
  });

  test("a cancelled task stays cancelled, and a finished one cannot be cancelled", async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era: "legacy" });
    const taskId = idOf(await start(client, "bake"));
    const waiting = assert.rejects(result(client, taskId), { code: -32602, message: /"cancelled"/ });
    const cancelled = await client.request("tasks/cancel", { taskId });
    assert.equal(GetTaskResultSchema.parse(cancelled).status, "cancelled");
    await waiting;
    await client.callTool("finish");
    assert.equal(await statusOf(client, taskId), "cancelled");
    await assert.rejects(client.request("tasks/cancel", { taskId }), { code: -32602 });
  });

  test("each caller lists only its own tasks, page by page", async () => {
    await using server = await testServer([oven], { pageSize: 2 });
    const [ann, bob] = [server.client({ era: "legacy", principal: "ann" }), server.client({ era: "legacy", principal: "bob" })];
    const [anonymous, other] = [server.client({ era: "legacy", principal: null }), server.client({ era: "legacy", principal: null })];
    const made: string[] = [];
    for (let n = 0; n < 3; n += 1) made.push(idOf(await start(ann, "bake")));
    const own = idOf(await start(anonymous, "bake"));
    const first = ListTasksResultSchema.parse(await ann.request("tasks/list"));
    const rest = ListTasksResultSchema.parse(await ann.request("tasks/list", { cursor: first.nextCursor ?? "" }));
    assert.deepEqual(
      [...first.tasks, ...rest.tasks].map(({ taskId }) => taskId),
      made,
    );
    assert.deepEqual([first.tasks.length, rest.nextCursor], [2, undefined]);
    await assert.rejects(ann.request("tasks/list", { cursor: "elsewhere" }), { code: -32602 });
    for (const client of [bob, other]) {
      assert.deepEqual((await client.request("tasks/list"))["tasks"], []);
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
        for (const taskId of [made[0] ?? "", own, "none"])
          await assert.rejects(client.request(method, { taskId }), { code: -32602, message: /no task/ });
    }
    assert.equal(await statusOf(anonymous, own), "working");
  });

  test("a caller without the tool's scope finds none of its tasks, in either era and after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-legacy-tasks-"));
    let taskId = "";
    try {
      for (const round of [0, 1]) {
        await using stores = sqliteSessionStores({ path: join(folder, "sessions.db") });
        await using server = await testServer([oven], { taskStore: stores.taskStore });
        const admin = server.client({ era: "legacy", scopes: ["admin"] });
        const [plain, modern] = [server.client({ era: "legacy" }), server.client({ era: "modern", listen: false })];
        if (round === 0) taskId = idOf(await start(admin, "secret"));
        assert.deepEqual((await result(admin, taskId))["content"], [{ type: "text", text: "the recipe" }]);
        await settle();
        assert.ok(!JSON.stringify(await get(admin, taskId)).includes("admin"));
        for (const [client, methods] of [
          [plain, ["tasks/get", "tasks/result", "tasks/cancel"]],
          [modern, ["tasks/get", "tasks/update", "tasks/cancel"]],
        ] as const)
          for (const method of methods)
            await assert.rejects(client.request(method, { taskId, inputResponses: {} }, { meta: DECLARED }), {
              code: -31403,
              data: { scope: "admin" },
            });
        assert.deepEqual((await plain.request("tasks/list"))["tasks"], []);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("a question is sent to a client that waits for the result, and names its task", async () => {
    const questions: JsonObject[] = [];
    await using server = await testServer([oven]);
    const answers = {
      elicitation(params: JsonObject) {
        questions.push(params);
        return { action: "accept", content: { name: "cherries" } };
      },
    };
    const client = server.client({ era: "legacy", answers });
    const taskId = idOf(await start(client, "ask"));
    await settle();
    assert.deepEqual([await statusOf(client, taskId), questions.length], ["input_required", 0]);
    const both = await Promise.all([result(client, taskId), result(client, taskId)]);
    for (const one of both) assert.deepEqual(one["content"], [{ type: "text", text: "With cherries." }]);
    for (const { _meta } of questions) assert.deepEqual(Object(_meta)[RELATED_TASK_META_KEY], { taskId });
    assert.ok(questions.length > 0);
  });

  test("a question goes to another client of the principal if the waiting one lacks elicitation", async () => {
    await using server = await testServer([oven]);
    const answers = { elicitation: () => ({ action: "accept", content: { name: "plums" } }) };
    const [able, unable] = [server.client({ era: "legacy", answers }), server.client({ era: "legacy" })];
    const taskId = idOf(await start(able, "ask"));
    await settle();
    const waiting = result(unable, taskId);
    await settle();
    assert.equal(await statusOf(able, taskId), "input_required");
    const done = await result(able, taskId);
    assert.deepEqual(done["content"], [{ type: "text", text: "With plums." }]);
    assert.deepEqual(await waiting, done);
  });

  test("the newest request for the result carries the question, since older ones may be disconnected", async () => {
    await using server = await testServer([oven]);
    const never = { elicitation: () => new Promise<JsonObject>(() => undefined) };
    const lost = server.client({ era: "legacy", answers: never });
    const taskId = idOf(await start(lost, "ask"));
    await settle();
    const first = result(lost, taskId);
    await settle();
    const answers = { elicitation: () => ({ action: "accept", content: { name: "figs" } }) };
    const done = await result(server.client({ era: "legacy", answers }), taskId);
    assert.deepEqual(done["content"], [{ type: "text", text: "With figs." }]);
    assert.deepEqual(await first, done);
  });

  test("a waiting request carries the question once the one that carried it is cancelled", async () => {
    await using server = await testServer([oven]);
    const never = { elicitation: () => new Promise<JsonObject>(() => undefined) };
    const answers = { elicitation: () => ({ action: "accept", content: { name: "nuts" } }) };
    const [first, waits] = [server.client({ era: "legacy", answers: never }), server.client({ era: "legacy", answers })];
    const taskId = idOf(await start(first, "later_ask"));
    const second = result(waits, taskId);
    await settle();
    void first.raw({ jsonrpc: "2.0", id: 900, method: "tasks/result", params: { taskId } }).catch(() => undefined);
    await settle();
    mayAsk.resolve();
    await settle();
    await first.notify("notifications/cancelled", { requestId: 900 });
    assert.deepEqual((await second)["content"], [{ type: "text", text: "With nuts." }]);
  });

  test("cancelling a task withdraws its question and ends the request for its result", async () => {
    await using server = await testServer([oven]);
    const never = { elicitation: () => new Promise<JsonObject>(() => undefined) };
    const client = server.client({ era: "legacy", answers: never });
    const taskId = idOf(await start(client, "ask"));
    await settle();
    const waiting = assert.rejects(result(client, taskId), { code: -32602, message: /"cancelled"/ });
    await settle();
    await client.request("tasks/cancel", { taskId });
    await waiting;
  });

  test("a task that is not polled for an hour fails, however short its ttl", async () => {
    await using server = await testServer([oven]);
    const client = server.client({ era: "legacy" });
    const taskId = idOf(await start(client, "must", { ttl: 1_000 }));
    await server.clock.advance(HOUR - 1);
    assert.equal(await statusOf(client, taskId), "working");
    const waiting = assert.rejects(result(client, taskId), { code: -31408 });
    await server.clock.advance(1);
    await waiting;
  });

  test("a result survives a restart, and a running task has failed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-legacy-tasks-"));
    const ids: string[] = [];
    try {
      for (const round of [0, 1]) {
        await using stores = sqliteSessionStores({ path: join(folder, "sessions.db") });
        await using server = await testServer([oven], { taskStore: stores.taskStore });
        const client = server.client({ era: "legacy", principal: "ann" });
        if (round === 0) {
          ids.push(idOf(await start(client, "now")), idOf(await start(client, "must")));
          await result(client, ids[0] ?? "");
          await settle();
          continue;
        }
        assert.deepEqual((await result(client, ids[0] ?? ""))["content"], [{ type: "text", text: "done" }]);
        assert.equal(await statusOf(client, ids[1] ?? ""), "failed");
        await assert.rejects(result(client, ids[1] ?? ""), { code: -31503 });
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("the official client v1", () => {
  test("follows a task to its result, answers its question, lists and cancels tasks", async () => {
    const made = createServer("tasks", "1.0.0");
    let finish = (): void => undefined;
    made.tools.register({ name: "slow", task: "required" }, async ({ signal }) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
        signal.addEventListener("abort", () => resolve());
      });
      signal.throwIfAborted();
      return "slowly";
    });
    made.tools.register({ name: "ask", task: "optional" }, ({ ask }) => {
      const { which } = ask({ which: elicit("Which one?", z.object({ name: z.string() })) });
      return `chosen: ${JSON.stringify(which)}`;
    });
    const { http } = await made.listen({ http: { port: 0 } });
    const client = new Client({ name: "v1", version: "1" }, { capabilities: { elicitation: {} } });
    try {
      client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "blue" } }));
      await client.connect(new StreamableHTTPClientTransport(new URL(http.url)));
      await client.listTools();
      const { tasks } = client.experimental;
      const seen: string[] = [];
      for await (const message of tasks.callToolStream({ name: "slow", arguments: {} })) {
        seen.push(message.type);
        if (message.type === "taskCreated") finish();
        if (message.type === "result") assert.deepEqual(message.result.content, [{ type: "text", text: "slowly" }]);
      }
      assert.deepEqual([seen[0], seen.at(-1)], ["taskCreated", "result"]);

      let chosen: unknown;
      for await (const message of tasks.callToolStream({ name: "ask", arguments: {} }, CallToolResultSchema, { task: {} }))
        if (message.type === "result") chosen = message.result.content;
      assert.match(JSON.stringify(chosen), /blue/);

      const stream = tasks.callToolStream({ name: "slow", arguments: {} });
      const { value: created } = await stream.next();
      assert.ok(created?.type === "taskCreated");
      assert.equal((await tasks.cancelTask(created.task.taskId)).status, "cancelled");
      assert.deepEqual(
        (await tasks.listTasks()).tasks.map(({ status }) => status),
        ["completed", "completed", "cancelled"],
      );
      await stream.return(undefined);
    } finally {
      await client.close();
      await made.close();
    }
  });
});
