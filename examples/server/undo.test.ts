import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalEngine } from "troupe/engine";
import { memoryStore } from "troupe/store";
import { assertToolResult, testServer, toolText } from "troupe/testing";
import { page, pages, stateBefore } from "./undo.ts";

test("a tool reads an actor's history and restores an earlier state", async () => {
  await using engine = await LocalEngine.start({ kinds: [page], store: memoryStore() });
  await using served = pages(engine);
  await using server = await testServer(served);
  const ada = server.client({ principal: "ada", scopes: ["edit"] });
  assert.match(toolText(await ada.callTool("undo")), /not that many steps/);
  for (const text of ["one", "two", "three"]) assertToolResult(await ada.callTool("write", { text }), "Written.");
  const written = async () => (await ada.readResource("page://text")).contents;
  assertToolResult(await ada.callTool("undo"), "Undone.");
  assert.match(JSON.stringify(await written()), /"two"/);
  assert.deepEqual(await stateBefore(engine, page.id("main"), 3), { text: "one" });
  assert.match(toolText(await ada.callTool("undo", { steps: 4 })), /not that many steps/);
  const direct = await engine.call({ to: page.id("main"), action: "tools/write", args: { text: "four" } });
  assert.deepEqual(direct, { ok: "Written." }, "a call of the engine does not check scopes");
  const reader = server.client({ principal: "bob" });
  await assert.rejects(reader.callTool("undo"), { name: "RequestError", code: -31403 });
});
