import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { optionalPackage } from "../../src/cli/optional-package.ts";
import { lines, runningIn, troupe } from "./run.ts";

const SDK = pathToFileURL(join(import.meta.dirname, "telemetry.fixture.ts")).href;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

const MESSAGES = [
  { id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } },
  { id: 1, method: "tools/call", params: { name: "add", _meta: { traceparent: `00-${TRACE}-${PARENT}-01` } } },
].map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));

test("--telemetry tells the SDK that Node was started with of each request, and events name its spans", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-telemetry-"));
  const [spans, data] = [join(folder.path, "spans"), join(folder.path, "data")];
  const env = { NODE_OPTIONS: `--import=${SDK}`, SPANS: spans };
  const serving = ["serve", "examples/counter-disk", "--stdio", "--data", data, "--json", "--telemetry"];
  await using served = runningIn(env, ...serving);
  served.child.stdin?.write(`${MESSAGES.join("\n")}\n`);
  await served.said(/"id":1,"result"/);
  served.child.stdin?.end();
  assert.equal(await served.ended, 0);
  assert.doesNotMatch(served.err(), /telemetry-unheard/);
  const [begun, called] = lines(readFileSync(spans, "utf8")).map((span) => ({ ...Object(span) }));
  assert.equal(begun.name, "initialize");
  assert.deepEqual(called, { name: "tools/call add", traceId: TRACE, spanId: called.spanId, parent: PARENT });
  const chain = await troupe("chain", "counter/main", "--data", data, "--json");
  assert.match(chain.stdout, new RegExp(`00-${TRACE}-${called.spanId}-01`));
});

test("--telemetry without an SDK is said in the log", async () => {
  await using served = runningIn({}, "serve", "examples/counter", "--stdio", "--json", "--telemetry");
  await served.said(/"ready":true/);
  served.child.stdin?.end();
  assert.equal(await served.ended, 0);
  assert.match(served.err(), /"event":"telemetry-unheard".*--import/);
});

test("a package that only some need is looked for in the project, then beside Troupe", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-telemetry-"));
  assert.equal(await optionalPackage("no-such-package-anywhere", folder.path), undefined);
  const found = await optionalPackage("@opentelemetry/api", folder.path);
  assert.match(found?.path ?? "", /node_modules\/@opentelemetry\/api\//);
  assert.equal(typeof Object(found?.loaded).metrics, "object");
});
