import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { bodyOf, channelDouble, ENVELOPE, exchangeOf, gatewayOf, until, world } from "./kit.fixture.ts";

const LIMITS = { heldBytes: 40_000 };
const TEXT = "x".repeat(9_000);
const HEADERS = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "slow",
};

const call = (id: number, more: JsonObject = {}): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "slow", arguments: { text: TEXT }, ...more },
});
const modern = (id: number): JsonObject => call(id, { _meta: ENVELOPE });
const code = ({ error }: JsonObject): unknown => (isJsonObject(error) ? error["code"] : undefined);

describe("messages being worked on are bounded in bytes", () => {
  const begins: readonly (readonly [era: string, before: readonly JsonObject[], message: (id: number) => JsonObject])[] = [
    ["2026-07-28", [], modern],
    [
      "2025-11-25",
      [
        {
          jsonrpc: "2.0",
          id: 0,
          method: "initialize",
          params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
        },
        { jsonrpc: "2.0", method: "notifications/initialized" },
      ],
      call,
    ],
  ];
  for (const [era, before, message] of begins)
    test(`on a stream, in ${era}`, async () => {
      await using gateway = gatewayOf(world().source, { limits: LIMITS });
      const channel = channelDouble();
      const connection = gateway.connect(channel, { principal: "ada", scopes: [] });
      const send = (one: JsonObject): void => connection.receive(JSON.stringify(one));
      const reply = async (id: number): Promise<JsonObject> => {
        const find = (): JsonObject | undefined => channel.messages.find((one) => one["id"] === id && !("method" in one));
        await until(() => find() !== undefined);
        return find() ?? {};
      };
      for (const one of before) send(one);
      for (const id of [1, 2, 3]) send(message(id));
      assert.equal(code(await reply(3)), -31429);
      // Short messages are accepted all the same.
      send({ jsonrpc: "2.0", id: 4, method: "tools/list", params: { _meta: ENVELOPE } });
      assert.equal(code(await reply(4)), undefined);
      for (const id of [1, 2]) assert.equal(code(await reply(id)), undefined);
      send(message(5));
      assert.equal(code(await reply(5)), undefined);
    });

  test("over HTTP, for each caller", async () => {
    await using gateway = gatewayOf(world().source, { limits: LIMITS });
    const post = async (id: number, principal: string) =>
      gateway.exchange(exchangeOf("POST", HEADERS, modern(id), { principal, scopes: [] }).exchange);
    const under = [post(1, "ada"), post(2, "ada")];
    const refused = await post(3, "ada");
    assert.equal(refused.status, 429);
    assert.equal(refused.headers?.["retry-after"], "1");
    assert.equal(code(bodyOf(refused)), -31429);
    assert.equal((await post(4, "bob")).status, 200);
    for (const one of under) assert.equal((await one).status, 200);
    assert.equal((await post(5, "ada")).status, 200);
  });
});
