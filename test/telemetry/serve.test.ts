import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { optionalPackage } from "../../src/cli/installed-packages.ts";
import { runningIn, troupe } from "../cli/run.ts";
import { installPinned } from "../install-pinned.ts";

const SDK = pathToFileURL(join(import.meta.dirname, "sdk.js")).href;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const [UNSET, ERROR, SERVER] = [0, 2, 1];

const attributes = z.record(z.string(), z.string());
const exported = z.object({
  spans: z.array(
    z.object({
      name: z.string(),
      kind: z.number(),
      status: z.number(),
      attributes,
      parent: z.string().optional(),
      traceId: z.string(),
      spanId: z.string(),
    }),
  ),
  metrics: z.array(z.object({ name: z.string(), points: z.array(z.object({ attributes, value: z.number() })) })),
});

const REQUESTS = [
  { method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } },
  { method: "tools/call", params: { name: "add", _meta: { traceparent: `00-${TRACE}-${PARENT}-01` } } },
  { method: "tools/call", params: { name: "add", arguments: { by: "many" } } },
  { method: "tools/call", params: { name: "a stranger's word" } },
  { method: "stranger/method", params: {} },
];

before(() => installPinned(import.meta.dirname));

test("--telemetry exports each request and gauges through Node's SDK, and events name their spans", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-telemetry-"));
  const [file, data] = [join(folder.path, "exported.json"), join(folder.path, "data")];
  const serving = ["serve", "examples/counter-disk", "--stdio", "--data", data, "--json", "--telemetry"];
  await using served = runningIn({ NODE_OPTIONS: `--import=${SDK}`, EXPORT_FILE: file }, ...serving);
  for (const [id, one] of REQUESTS.entries()) {
    served.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...one })}\n`);
    await served.said(new RegExp(`"id":${id}\\b`));
  }
  // Gauges are collected every 200 ms, and a closing server reports none.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  served.child.stdin?.end();
  assert.equal(await served.ended, 0, served.err());
  assert.doesNotMatch(served.err(), /telemetry-unheard/);
  const { spans, metrics } = exported.parse(JSON.parse(readFileSync(file, "utf8")));

  assert.deepEqual(
    spans.map(({ name, kind, status, attributes: { "error.type": error = "" } }) => [name, kind, status, error]),
    [
      ["initialize", SERVER, UNSET, ""],
      ["tools/call add", SERVER, UNSET, ""],
      ["tools/call add", SERVER, ERROR, "tool_error"],
      ["tools/call", SERVER, ERROR, "-32602"],
      ["stranger/method", SERVER, ERROR, "-32601"],
    ],
  );
  const [, add] = spans;
  assert.equal(add?.traceId, TRACE);
  assert.equal(add.parent, PARENT);
  assert.match(add.attributes["mcp.session.id"] ?? "", /^session\|/);
  assert.deepEqual(add.attributes, {
    "mcp.method.name": "tools/call",
    "jsonrpc.request.id": "1",
    "mcp.protocol.version": "2025-11-25",
    "mcp.session.id": add.attributes["mcp.session.id"],
    "client.address": "stdio",
    "network.transport": "pipe",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "add",
  });
  const chain = await troupe("chain", "counter/main", "--data", data, "--json");
  assert.match(chain.stdout, new RegExp(`00-${TRACE}-${add.spanId}-01`));

  const base = { "mcp.protocol.version": "2025-11-25", "network.transport": "pipe" };
  const tool = { ...base, "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add" };
  const refused = (code: string) => ({ "error.type": code, "rpc.response.status_code": code });
  assert.deepEqual(
    metrics.find(({ name }) => name === "mcp.server.operation.duration")?.points.map((point) => [point.attributes, point.value]),
    [
      [{ "mcp.method.name": "initialize", "network.transport": "pipe" }, 1],
      [tool, 1],
      [{ ...tool, "error.type": "tool_error" }, 1],
      [{ ...base, "mcp.method.name": "tools/call", ...refused("-32602") }, 1],
      [{ ...base, "mcp.method.name": "_OTHER", ...refused("-32601") }, 1],
    ],
    "no word of a stranger's is a series",
  );
  assert.deepEqual(
    Object.fromEntries(metrics.flatMap(({ name, points: [one] }) => (name.startsWith("troupe.") ? [[name, one?.value]] : []))),
    {
      "troupe.sessions": 0,
      "troupe.connections": 1,
      "troupe.streams": 0,
      "troupe.requests.running": 0,
      "troupe.actors": 1,
      "troupe.actors.failed": 0,
      "troupe.outbox": 0,
      "troupe.faults": 0,
      // The size of the log varies.
      "troupe.store.log.pages": metrics.find(({ name }) => name === "troupe.store.log.pages")?.points[0]?.value,
      // On a busy machine a turn may be slow enough to be counted.
      "troupe.turns.slow": metrics.find(({ name }) => name === "troupe.turns.slow")?.points[0]?.value,
    },
  );
  for (const name of ["nodejs.eventloop.delay.p99", "nodejs.eventloop.delay.max"])
    assert.ok(
      metrics.some((one) => one.name === name),
      name,
    );
});

test("--telemetry without an SDK is logged", async () => {
  await using served = runningIn({}, "serve", "examples/counter", "--stdio", "--json", "--telemetry");
  await served.said(/"ready":true/);
  served.child.stdin?.end();
  assert.equal(await served.ended, 0);
  assert.match(served.err(), /"event":"telemetry-unheard".*--import/);
});

test("an optional package is resolved from the project, then next to Troupe", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-telemetry-"));
  assert.equal(await optionalPackage("no-such-package-anywhere", folder.path), undefined);
  const found = await optionalPackage("@opentelemetry/api", folder.path);
  assert.match(found?.path ?? "", /node_modules\/@opentelemetry\/api\//);
  assert.equal(typeof Object(found?.loaded).metrics, "object");
});
