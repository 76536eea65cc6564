import assert from "node:assert/strict";
import { test } from "node:test";
import { type Log, type Source, TroupeError } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf } from "./kit.fixture.ts";

const MEDIA = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const LIST_HEADERS = { ...MEDIA, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: ENVELOPE } };

test("errors in definitions are logged, and not disclosed to clients", async () => {
  const logged: Parameters<Log>[] = [];
  const why = "tools/look is offered by the cast of ledger and by the cast of vault: put one under a prefix with prefix().";
  const source: Source = {
    surface() {
      throw new TroupeError("NAME_COLLISION", why);
    },
    act: async () => ({ ok: null }),
    watch: () => () => undefined,
  };
  await using gateway = gatewayOf(source, { log: (...one) => void logged.push(one) });
  const { error } = bodyOf(await gateway.exchange(exchangeOf("POST", LIST_HEADERS, LIST).exchange));
  assert.deepEqual(error, { code: -32603, message: "The server is misconfigured; its log says how.", data: { code: "NAME_COLLISION" } });
  assert.deepEqual(
    logged.map(([level, data]) => [level, data]),
    [["error", { event: "request-failed", method: "tools/list", error: "NAME_COLLISION", why }]],
  );
});

test("tools with a union at the root of their input are logged once each", async () => {
  const logged: unknown[] = [];
  const variant = (kind: string) => ({ type: "object", properties: { kind: { const: kind } } });
  const union = { oneOf: [variant("a"), variant("b")] };
  const tools = registry({ name: "tools" });
  tools.add({
    tools: { shape: { input: union, work: () => 1 }, inside: { input: { type: "object", properties: { union } }, work: () => 1 } },
  });
  await using gateway = gatewayOf(tools, { log: (level, data) => void logged.push([level, data]) });
  const list = async (): Promise<unknown> => bodyOf(await gateway.exchange(exchangeOf("POST", LIST_HEADERS, LIST).exchange));
  await list();
  tools.add({ tools: { other: { input: union, work: () => 1 } } });
  await list();
  await list();
  assert.match(
    JSON.stringify(logged[0]),
    /^\["warning",\{"event":"union-inputs","tools":\["shape"\],"text":".+ put the union into a property\."\}\]$/,
  );
  assert.match(JSON.stringify(logged[1]), /"tools":\["other"\]/);
  assert.equal(logged.length, 2);
});
