// What the traffic page stores and shows, and a recorded request as a command, without a browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { liveRows } from "../../console/src/live-rows.ts";
import { clientLabels } from "../../console/src/session-label.ts";
import { asCurl, asPlaygroundPath } from "../../console/src/pages/traffic/curl.ts";
import { matches } from "../../console/src/pages/traffic/filter.ts";
import type { TrafficRow } from "../../src/bridges/console/shapes.ts";

const row = (n: number, more: Partial<TrafficRow> = {}): TrafficRow => ({
  n,
  at: n,
  transport: "http",
  era: "legacy",
  direction: "in",
  method: "ping",
  requestBytes: 1,
  status: "ok",
  ...more,
});
const numbers = (rows: readonly TrafficRow[]): readonly number[] => rows.map(({ n }) => n);

test("rows are listed newest first, each once, and not more than 2,000", () => {
  const log = liveRows<TrafficRow>(2_000);
  log.add([row(2), row(1, { status: "running" })]);
  log.add([row(3), row(1)]);
  assert.deepEqual(numbers(log.rows.value), [3, 2, 1]);
  assert.equal(log.rows.value[2]?.status, "ok");
  log.add(Array.from({ length: 5_000 }, (_, at) => row(at + 4)));
  assert.equal(log.rows.value.length, 2_000);
  assert.equal(log.rows.value[0]?.n, 5_003);
});

test("while someone reads, new rows are held back until they are requested", () => {
  const log = liveRows<TrafficRow>(2_000);
  log.add([row(1)]);
  log.hold(true);
  log.add([row(2), row(3)]);
  // The earlier holder still holds it.
  log.hold(true);
  assert.equal(log.heldAt.value, 1);
  log.catchUp();
  assert.equal(log.heldAt.value, 3);
  log.add([row(4)]);
  assert.equal(log.heldAt.value, 3);
  log.hold(false);
  assert.equal(log.heldAt.value, undefined);
  // The first rows are not new if the pointer was there before them.
  const early = liveRows<TrafficRow>(2_000);
  early.hold(true);
  early.add([row(1), row(2)]);
  assert.equal(early.heldAt.value, 2);
});

test("each filter leaves out what does not fit", () => {
  const all = { method: "", transport: "", session: "", status: "", era: "", principal: "", slow: "", search: "", where: "" };
  const one = row(1, {
    method: "tools/call",
    name: "take",
    transport: "packets-http",
    session: "s1",
    client: "Claude 1.0",
    principal: "ann",
    ms: 120,
    status: "error",
    error: { code: -1, message: "No Torch" },
  });
  assert.ok(matches(one, all));
  for (const found of [
    { method: "tools/call" },
    { transport: "packets" },
    { transport: "packets-http" },
    { session: "s1" },
    { status: "error" },
    { era: "legacy" },
    { search: "claude" },
    { search: "torch" },
    { principal: "ann" },
    { slow: "50" },
  ])
    assert.ok(matches(one, { ...all, ...found }), JSON.stringify(found));
  for (const missed of [
    { method: "ping" },
    { transport: "http" },
    { transport: "packets-tcp" },
    { session: "s" },
    { status: "ok" },
    { era: "modern" },
    { search: "lamp" },
    { principal: "bo" },
    { slow: "200" },
  ])
    assert.ok(!matches(one, { ...all, ...missed }), JSON.stringify(missed));
});

test("messages are named after their client, and after its session only where two have the same name", () => {
  const [one, two] = [`session|${"1".repeat(32)}`, `session|${"2".repeat(32)}`];
  const label = clientLabels([
    row(1, { session: one, client: "Claude 1.0" }),
    row(2, { session: two, client: "Claude 1.0" }),
    row(3, { session: "portal 2 | ann", client: "portal 2" }),
  ]);
  assert.deepEqual([one, two, "portal 2 | ann", "other 1 | bo"].map(label), [
    "Claude 1.0, 11111111",
    "Claude 1.0, 22222222",
    "portal 2",
    "other 1, bo",
  ]);
});

test("a request becomes a command that sends exactly its text, and takes from the shell what is hidden", () => {
  const request = `{"method":"tools/call","params":{"text":"it's $HOME \`id\` \\"$(id)\\""}}`;
  const requestHeaders = { "content-type": "application/json", authorization: "[hidden]", "mcp-session-id": "ab12", "user-agent": "x" };
  const command = asCurl({ request, requestHeaders }, "http://127.0.0.1:3000/mcp");
  const words = execFileSync("sh", ["-c", command.replace(/^curl/, "printf '%s\\n'")], {
    encoding: "utf8",
    env: { AUTHORIZATION: "Bearer 1", MCP_SESSION_ID: "s" },
  });
  assert.deepEqual(words.split("\n"), [
    "http://127.0.0.1:3000/mcp",
    "-H",
    "content-type: application/json",
    "-H",
    "accept: application/json, text/event-stream",
    "-H",
    "authorization: Bearer 1",
    "-H",
    "mcp-session-id: s",
    "-d",
    request,
    "",
  ]);
});

test("calls, reads and prompts can be repeated in the playground; the rest, and what was cut, cannot", () => {
  const path = (method: string, params: object): string | undefined => asPlaygroundPath(JSON.stringify({ method, params }));
  assert.equal(path("tools/call", { name: "take", arguments: { of: "a&b" } }), "/playground?tool=take&args=%7B%22of%22%3A%22a%26b%22%7D");
  assert.equal(path("resources/read", { uri: "inbox://mine" }), "/playground?resource=inbox%3A%2F%2Fmine");
  assert.equal(path("prompts/get", { name: "hand over" }), "/playground?prompt=hand+over");
  assert.equal(path("ping", {}), undefined);
  assert.equal(asPlaygroundPath('{"method":"tools/call","par'), undefined);
});
