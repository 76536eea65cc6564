import assert from "node:assert/strict";
import { test } from "node:test";
import { type Log, type Source, TroupeError } from "../contract/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf } from "./kit.fixture.ts";

const MEDIA = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const ASKED = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: ENVELOPE } };

test("what is wrong with the definitions is told to the log, and to a client only that something is", async () => {
  const said: Parameters<Log>[] = [];
  const why = "tools/look is offered by the cast of ledger and by the cast of vault: put one under a prefix with prefix().";
  const source: Source = {
    surface() {
      throw new TroupeError("NAME_COLLISION", why);
    },
    act: async () => ({ ok: null }),
    watch: () => () => undefined,
  };
  await using gateway = gatewayOf(source, { log: (...one) => void said.push(one) });
  const headers = { ...MEDIA, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  const { error } = bodyOf(await gateway.exchange(exchangeOf("POST", headers, ASKED).exchange));
  assert.deepEqual(error, { code: -32603, message: "The server is misconfigured; its log says how.", data: { code: "NAME_COLLISION" } });
  assert.deepEqual(
    said.map(([level, data]) => [level, data]),
    [["error", { event: "request-failed", method: "tools/list", error: "NAME_COLLISION", why }]],
  );
});
