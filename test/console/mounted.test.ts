// The console in an application with its own listener, by `webHandler`.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "troupe";
import { consoleData, consoleFor } from "troupe/console";
import { serveActors } from "troupe/server";
import { webHandler } from "troupe/transport";

const counter = actor("counter", {
  description: "A counter.",
  per: "shared",
  persistence: "memory",
  state: z.object({ n: z.number().default(0) }),
  tools: { add: { description: "Add one.", run: ({ state }) => (state.n += 1) } },
});

test("the console is mounted in an application by webHandler, next to MCP", async () => {
  await using served = await serveActors({ kinds: [counter] });
  const token = "t".repeat(43);
  const assets = { find: () => ({ body: new TextEncoder().encode("<!doctype html>"), type: "text/html", immutable: false }) };
  const { gateway } = served.server;
  await using web = webHandler({ gateway, endpoints: consoleFor({ ...consoleData({ ...served, kinds: [counter] }), token, assets }) });
  const ask = (path: string, init: RequestInit = {}): Promise<Response> => web.fetch(new Request(`http://localhost${path}`, init));
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  assert.equal(await (await ask("/console")).text(), "<!doctype html>");
  assert.equal((await ask("/console/api")).status, 401);
  assert.equal(Object(await (await ask("/console/api", { headers })).json()).mode, "live");
  await served.engine.call({ to: counter.id("main"), action: "tools/add", args: {}, start: null });
  const batch = await ask("/console/api/batch", {
    method: "POST",
    headers,
    body: JSON.stringify({ operation: "restart", ids: ["counter/main"] }),
  });
  assert.equal(batch.headers.get("content-type"), "text/event-stream");
  assert.match(await batch.text(), /event: done\ndata: \{"done":1,"failed":\[\]\}/);
  const ping = { method: "POST", headers: { ...headers, accept: "application/json, text/event-stream" }, body: "{}" };
  assert.equal((await ask("/mcp", ping)).status, 400);
});
