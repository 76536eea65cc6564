// Owns: what the console shows of an earlier process: actors that had failed, and tasks.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { systemClock, type TaskRow, type TaskStore } from "../../core/contract/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { storeReader } from "../operate/index.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import { cast } from "../../mcp/source/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { failuresText, readFailures } from "./earlier-failures.ts";
import { recordLive } from "./live.ts";
import { itemsIn, servedConsole } from "./served.fixture.ts";

const mill = actor("mill", {
  description: "A mill.",
  state: z.object({ n: z.number().default(0) }),
  restart: { max: 1, withinMs: 60_000 },
  tools: {
    grind: { description: "Grind.", run: ({ state }) => (state.n += 1) },
    jam: {
      description: "Jam.",
      run() {
        throw new RangeError("A stone is in it.");
      },
    },
  },
});
const ID = mill.id("one");
const call = (tool: string) => ({ to: ID, action: `tools/${tool}`, args: {}, start: null });

test("an actor that had failed before the start is listed until it has handled a message", async () => {
  const store = memoryStore();
  let saved = "";
  {
    using live = recordLive();
    const failures = { earlier: [], save: (text: string) => void (saved = text) };
    await using at = await servedConsole({ kinds: [mill], store, more: { live, failures } });
    await at.engine.call(call("grind"));
    for (let n = 0; n < 2; n += 1) await assert.rejects(at.engine.call(call("jam")), { code: "CRASHED" });
    live.logged("error", "fault", { actor: ID, why: "A stone is in it." });
    live.close();
    assert.deepEqual(
      readFailures(saved).map(({ id, why }) => [id, why]),
      [[ID, "A stone is in it."]],
    );
  }
  const { lastMessageAt = 0 } = (await storeReader(store).state(ID)) ?? {};
  for (const [at, isListed] of [
    [lastMessageAt, true],
    [lastMessageAt - 1, false],
  ] as const) {
    const earlier = readFailures(saved).map((one) => ({ ...one, at }));
    await using later = await servedConsole({ kinds: [mill], store, more: { failures: { earlier } } });
    const found = itemsIn(await later.client.read("/doctor")).find(({ code }) => code === "FAILED_BEFORE");
    assert.equal(found?.["title"], isListed ? "mill/one had failed before this start: A stone is in it." : undefined);
  }
});

test("what was stored of failures is read with suspicion", () => {
  assert.deepEqual(readFailures(""), []);
  assert.deepEqual(readFailures('{"id":1}'), []);
  assert.deepEqual(readFailures('[1,{"id":"no id","why":"","at":1},{"id":"mill/one","why":2,"at":1}]'), []);
  const many = JSON.stringify(Array.from({ length: 5_000 }, (_, n) => ({ id: `mill/${n}`, why: "x".repeat(10_000), at: 1 })));
  const read = readFailures(many);
  assert.deepEqual([read.length, read[0]?.why.length], [100, 200]);
  assert.equal(readFailures(failuresText({ reader: storeReader(memoryStore()) }, read)).length, 100);
});

test("tasks of an earlier process are listed, and those that ran then are lost", async () => {
  const until = systemClock.now() + 60_000;
  const describe = (status: string): string =>
    JSON.stringify({
      taskId: status,
      status,
      createdAt: "2026-11-28T10:00:00.000Z",
      lastUpdatedAt: "2026-11-28T10:00:01.000Z",
      "troupe/tool": "grind",
    });
  const rows: readonly TaskRow[] = [
    { id: "working", principal: "ann", description: describe("working"), over: false, until },
    { id: "completed", description: describe("completed"), over: true, until },
    { id: "expired", description: describe("completed"), over: true, until: 1 },
    { id: "torn", description: "{", over: true, until },
  ];
  const taskStore: TaskStore = {
    put: async () => undefined,
    get: async () => undefined,
    list: async (limit) => rows.slice(0, limit),
    expire: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  await using engine = await LocalEngine.start({ kinds: [mill], store: memoryStore() });
  await using gateway = createGateway({ source: cast({ engine, kinds: [mill] }), info: { name: "t", version: "1" }, taskStore });
  using live = recordLive();
  live.gateway(gateway, "http");
  await using at = await servedConsole({ kinds: [mill], store: memoryStore(), more: { live } });
  assert.deepEqual(
    itemsIn(await at.client.read("/tasks")).map(({ id, status, principal, tool, earlier }) => [id, status, principal, tool, earlier]),
    [
      ["working", "lost", "ann", "grind", true],
      ["completed", "completed", undefined, "grind", true],
    ],
  );
  const lost = itemsIn(await at.client.read("/doctor")).find(({ code }) => code === "TASKS_LOST");
  assert.deepEqual([lost?.["count"], lost?.["page"]], [1, "/tasks"]);
});
