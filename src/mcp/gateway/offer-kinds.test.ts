import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, Gateway, Json, Offer, OfferRef, Reply, Source } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { channelDouble, ENVELOPE, gatewayOf, until, bodyOf, exchangeOf, world } from "./kit.fixture.ts";

// A source that checks its tools' arguments itself, and refuses a request as such: an error in both eras, with data of its own.
const DATA = { capability_error: "Missing required field: user_id" };
const inputSchema = { type: "object", properties: { user_id: { type: "string" } }, required: ["user_id"] };
const offers: readonly Offer[] = [
  { name: "own", action: "own", readOnly: false, checksArguments: true, definition: { inputSchema } },
  { name: "left", action: "left", readOnly: false, definition: { inputSchema } },
  { name: "hidden", action: "hidden", readOnly: false, checksArguments: true, definition: { inputSchema } },
];

function strict(): Source & { readonly acts: (readonly [OfferRef, Json])[] } {
  const acts: (readonly [OfferRef, Json])[] = [];
  return {
    acts,
    surface: () => ({
      catalogue: { tools: offers, resources: [{ name: "r", action: "r", readOnly: true, definition: { uri: "r://r" } }], prompts: [] },
      off: { "tools/hidden": true },
    }),
    async act(_viewer, ref, args): Promise<Reply> {
      acts.push([ref, args]);
      if (ref === "tools/hidden") return { refused: { code: "UNKNOWN", message: "Nothing." } };
      return { refused: { code: "INVALID_PARAMS", message: "Invalid params", ...(ref === "resources/r" ? {} : { data: DATA }) } };
    },
    watch: () => () => undefined,
  };
}

const eras: readonly (readonly [string, JsonObject | undefined])[] = [
  ["legacy", undefined],
  ["modern", ENVELOPE],
];

async function callerOf(
  gateway: Gateway,
  meta: JsonObject | undefined,
): Promise<(method: string, params: JsonObject) => Promise<JsonObject>> {
  const channel = channelDouble();
  const connection = gateway.connect(channel, { principal: "ann", scopes: [] });
  let last = 0;
  const ask = async (method: string, params: JsonObject): Promise<JsonObject> => {
    const id = (last += 1);
    connection.receive(JSON.stringify({ jsonrpc: "2.0", id, method, params: meta === undefined ? params : { ...params, _meta: meta } }));
    await until(() => channel.messages.some((message) => message["id"] === id));
    return channel.messages.find((message) => message["id"] === id) ?? {};
  };
  if (meta === undefined)
    await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
  return ask;
}

for (const [era, meta] of eras) {
  test(`${era}: INVALID_PARAMS of a source that checks arguments itself is -32602`, async () => {
    const source = strict();
    await using gateway = gatewayOf(source);
    const ask = await callerOf(gateway, meta);
    const { error, result } = await ask("tools/call", { name: "own", arguments: {} });
    assert.deepEqual(error, { code: -32602, message: "Invalid params", data: DATA });
    assert.equal(result, undefined);
    assert.deepEqual(source.acts, [["tools/own", {}]]);
    const read = await ask("resources/read", { uri: "r://r" });
    assert.deepEqual(read["error"], { code: -32602, message: "Invalid params" });
  });

  test(`${era}: invalid arguments of other tools do not reach the source`, async () => {
    const source = strict();
    await using gateway = gatewayOf(source);
    const ask = await callerOf(gateway, meta);
    const { result } = await ask("tools/call", { name: "left", arguments: {} });
    assert.match(JSON.stringify(result), /"isError":true.*INVALID/);
    assert.deepEqual(source.acts, []);
  });

  test(`${era}: law 3: a hidden tool that checks its arguments answers like an unknown one`, async () => {
    await using gateway = gatewayOf(strict());
    const ask = await callerOf(gateway, meta);
    const hidden = await ask("tools/call", { name: "hidden", arguments: { user_id: 1 } });
    const never = await ask("tools/call", { name: "never", arguments: { user_id: 1 } });
    assert.deepEqual(hidden["error"], { code: -32602, message: "Unknown tool: hidden" });
    assert.deepEqual(never["error"], { code: -32602, message: "Unknown tool: never" });
  });
}

const secretInput = { type: "object", properties: { to: { type: "string", "x-mcp-header": "to" } }, required: ["to"] };
const hiddenOffers = registry({
  tools: {
    secret: {
      description: "Where it is.",
      input: secretInput,
      meta: { "troupe/scopes": ["keeper"] },
      enabled: () => false,
      work: () => "there",
    },
  },
  prompts: {
    secret: { description: "Where it is.", arguments: [{ name: "to", required: true }], enabled: () => false, view: () => "there" },
  },
});
const keeper = { principal: "iss|ann", scopes: ["keeper"] };
const stranger = { principal: "iss|bob", scopes: [] };

for (const [method, words] of [
  ["tools/call", "Unknown tool: "],
  ["prompts/get", "Unknown prompt: "],
] as const)
  test(`law 3: to ${method} a hidden offer answers like an unknown one`, async () => {
    await using gateway = gatewayOf(hiddenOffers);
    const answerTo = async (
      name: string,
      args: JsonObject,
      headers: Readonly<Record<string, string>>,
      caller: typeof keeper,
    ): Promise<JsonObject> => {
      const all = {
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": name,
        ...headers,
      };
      const body = { jsonrpc: "2.0", id: 1, method, params: { name, arguments: args, _meta: ENVELOPE } };
      const answer = await gateway.exchange(exchangeOf("POST", all, body, caller).exchange);
      return { status: answer.status, ...bodyOf(answer) };
    };
    for (const caller of [keeper, stranger])
      for (const args of [{}, { to: 3 }, { to: ["a"] }, { to: "me" }, { to: "me", more: "x" }])
        for (const headers of [{}, { "mcp-param-to": "you" }])
          for (const name of ["secret", "nothing"])
            assert.deepEqual(await answerTo(name, args, headers, caller), {
              status: 200,
              jsonrpc: "2.0",
              id: 1,
              error: { code: -32602, message: `${words}${name}` },
            });
  });

const KNOCK = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "prompts/get",
  "mcp-name": "knock",
};

async function knock(times: Json): Promise<JsonObject> {
  await using gateway = gatewayOf(world().source);
  const params = { name: "knock", arguments: { times }, _meta: ENVELOPE };
  return bodyOf(await gateway.exchange(exchangeOf("POST", KNOCK, { jsonrpc: "2.0", id: 1, method: "prompts/get", params }).exchange));
}

test("a number or boolean as a prompt's argument is converted to text #gateway.prompts", async () => {
  assert.match(JSON.stringify((await knock("3"))["result"]), /Knock 3 times/);
  assert.deepEqual((await knock(3))["result"], (await knock("3"))["result"]);
  assert.match(JSON.stringify((await knock(true))["result"]), /Knock true times/);
});

test("a prompt's argument that is not a scalar is refused by its name #spec.3.validation", async () => {
  for (const times of [["3"], { n: 3 }, null])
    assert.match(JSON.stringify((await knock(times))["error"]), /-32602.*The argument times is text/);
});
