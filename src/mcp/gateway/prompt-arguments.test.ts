import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bag, Json } from "../../core/contract/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf, world } from "./kit.fixture.ts";

const HEADERS = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "prompts/get",
  "mcp-name": "knock",
};

async function knock(times: Json): Promise<Bag> {
  await using gateway = gatewayOf(world().source);
  const params = { name: "knock", arguments: { times }, _meta: ENVELOPE };
  return bodyOf(await gateway.exchange(exchangeOf("POST", HEADERS, { jsonrpc: "2.0", id: 1, method: "prompts/get", params }).exchange));
}

test("a prompt's argument given as a number or boolean is taken as its text", async () => {
  assert.match(JSON.stringify((await knock("3"))["result"]), /Knock 3 times/);
  assert.deepEqual((await knock(3))["result"], (await knock("3"))["result"]);
  assert.match(JSON.stringify((await knock(true))["result"]), /Knock true times/);
});

test("a prompt's argument that is no scalar is refused by its name", async () => {
  for (const times of [["3"], { n: 3 }, null])
    assert.match(JSON.stringify((await knock(times))["error"]), /-32602.*The argument times is text/);
});
