import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { bodyOf, channelDouble, ENVELOPE, exchangeOf, gatewayOf, until, world } from "./kit.fixture.ts";

const HEADERS = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "look",
};

const objectOf = (members: number): JsonObject => Object.fromEntries(Array.from({ length: members }, (_, n) => [`k${n}`, 0]));
const listOf = (values: number): readonly number[] => Array.from({ length: values }, () => 0);
const call = (junk: Json): JsonObject => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "look", arguments: {}, junk, _meta: ENVELOPE },
});
const message = ({ error }: JsonObject): unknown => (isJsonObject(error) ? error["message"] : undefined);

describe("values and members of a message", () => {
  const wrong: readonly (readonly [what: string, junk: Json, words: RegExp])[] = [
    ["an object of 10,001 members", objectOf(10_001), /^An object may have 10000 members; send less at once/],
    ["an object of 10,001 members far below", [[{ deep: objectOf(10_001) }]], /^An object may have 10000 members/],
    ["100,001 values", listOf(100_001), /^A message may hold 100000 values/],
    ["100,001 empty objects", listOf(100_001).map(() => ({})), /^A message may hold 100000 values/],
  ];
  for (const [what, junk, words] of wrong)
    test(`${what} are refused over HTTP and on a stream`, async () => {
      await using gateway = gatewayOf(world().source);
      const answer = await gateway.exchange(exchangeOf("POST", HEADERS, call(junk)).exchange);
      assert.equal(answer.status, 413);
      assert.match(String(message(bodyOf(answer))), words);
      const channel = channelDouble();
      const connection = gateway.connect(channel, { scopes: [] });
      connection.receive(JSON.stringify(call(junk)));
      await until(() => channel.messages.length > 0);
      assert.match(String(message(channel.messages[0] ?? {})), words);
    });

  test("10,000 members and 90,000 values are served", async () => {
    await using gateway = gatewayOf(world().source);
    for (const junk of [objectOf(10_000), listOf(90_000)]) {
      const answer = await gateway.exchange(exchangeOf("POST", HEADERS, call(junk)).exchange);
      assert.equal(answer.status, 200);
    }
  });

  test("the limits can be configured", async () => {
    await using gateway = gatewayOf(world().source, { limits: { values: 50, members: 20 } });
    const ask = async (junk: Json) => (await gateway.exchange(exchangeOf("POST", HEADERS, call(junk)).exchange)).status;
    assert.deepEqual([await ask(objectOf(20)), await ask(objectOf(21)), await ask(listOf(50))], [200, 413, 413]);
  });
});
