import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, assertToolResult, testServer } from "troupe/testing";
import { board, inbox, openTasks, task } from "../src/index.ts";

const DAY_MS = 24 * 60 * 60_000;

async function office() {
  const server = await testServer([board, task, inbox], { indexes: [openTasks] });
  const ann = server.client({ principal: "ann", scopes: ["lead"] });
  const bob = server.client({ principal: "bob" });
  return { server, ann, bob, [Symbol.asyncDispose]: () => server.close() };
}

test("a task is added, found, taken and finished, and its author is notified", async () => {
  await using at = await office();
  const { ann, bob } = at;
  assertToolResult(await ann.tools.add({ title: "Water the plants" }), { task: "T-1" });
  assertToolResult(await bob.callTool("find_tasks", { where: { status: "open" } }), /Water the plants/);
  await bob.callTool("task__take", { task: "T-1" });
  assertRefused(await ann.callTool("task__take", { task: "T-1" }), "The task is taken.", "NOT_NOW");
  assertRefused(await ann.callTool("task__finish", { task: "T-1" }), "Only the person who took the task may finish it.");
  assertToolResult(await bob.callTool("task__finish", { task: "T-1" }), "Done.");
  assert.match(await ann.readText("inbox://mine"), /T-1 is done: Water the plants/);
  assert.equal(await ann.readText("tasks://open"), '{"items":[]}');
});

test("the person who took a task is reminded every two days until it is done", async () => {
  await using at = await office();
  const { server, ann, bob } = at;
  await ann.tools.add({ title: "Water the plants" });
  await bob.callTool("task__take", { task: "T-1" });
  await server.clock.advance(5 * DAY_MS);
  assert.equal(JSON.parse(await bob.readText("inbox://mine")).length, 2);
  await bob.callTool("task__finish", { task: "T-1" });
  await server.clock.advance(5 * DAY_MS);
  assert.equal(JSON.parse(await bob.readText("inbox://mine")).length, 2);
});

test("only the lead reminds others", async () => {
  await using at = await office();
  const { ann, bob } = at;
  await ann.tools.add({ title: "Water the plants" });
  assertRefused(await ann.tools.nudge({ task: "T-1" }), "The task is open: there is no one to remind.");
  await bob.callTool("task__take", { task: "T-1" });
  assertRefused(await bob.tools.nudge({ task: "T-1" }), "Only the team's lead may do this.");
  assertToolResult(await ann.tools.nudge({ task: "T-1" }), "Reminded.");
  assert.match(await bob.readText("inbox://mine"), /Still waiting for you: T-1/);
  await bob.callTool("task__finish", { task: "T-1" });
  assertRefused(await ann.tools.nudge({ task: "T-1" }), "The task is done: there is no one to remind.");
  assertRefused(await ann.tools.nudge({ task: "T-9" }), /no actor/, "NO_ACTOR");
  await ann.tools.nudge({ task: "" });
  assert.deepEqual(at.server.faults, []);
});

test("the last 200 notifications are stored, and a title is short", async () => {
  await using at = await office();
  const { ann } = at;
  for (let n = 1; n <= 201; n += 1) {
    await ann.tools.add({ title: `Task ${n}` });
    await ann.callTool("task__take", { task: `T-${n}` });
    await ann.callTool("task__finish", { task: `T-${n}` });
  }
  const notices: unknown = JSON.parse(await ann.readText("inbox://mine"));
  assert.ok(Array.isArray(notices));
  assert.deepEqual([notices.length, notices[0]], [200, "T-2 is done: Task 2"]);
  assert.equal((await ann.tools.add({ title: "x".repeat(201) })).isError, true);
});
