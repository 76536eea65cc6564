// A source that checks its tools' arguments itself, and refuses a request as such: an error in both eras, with data of its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bag, Gateway, Json, Offer, OfferRef, Reply, Source } from "../../core/contract/index.ts";
import { channelDouble, ENVELOPE, gatewayOf, until } from "./kit.fixture.ts";

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

const eras: readonly (readonly [string, Bag | undefined])[] = [
  ["legacy", undefined],
  ["modern", ENVELOPE],
];

async function asking(gateway: Gateway, meta: Bag | undefined): Promise<(method: string, params: Bag) => Promise<Bag>> {
  const channel = channelDouble();
  const connection = gateway.connect(channel, { principal: "ann", scopes: [] });
  let last = 0;
  const ask = async (method: string, params: Bag): Promise<Bag> => {
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
  test(`${era}: a tool whose source checks its arguments is acted on as it is called, and INVALID_PARAMS is -32602 with its data alone`, async () => {
    const source = strict();
    await using gateway = gatewayOf(source);
    const ask = await asking(gateway, meta);
    const { error, result } = await ask("tools/call", { name: "own", arguments: {} });
    assert.deepEqual(error, { code: -32602, message: "Invalid params", data: DATA });
    assert.equal(result, undefined);
    assert.deepEqual(source.acts, [["tools/own", {}]]);
    const read = await ask("resources/read", { uri: "r://r" });
    assert.deepEqual(read["error"], { code: -32602, message: "Invalid params" });
  });

  test(`${era}: without that mark the gateway checks, and the call never reaches the source`, async () => {
    const source = strict();
    await using gateway = gatewayOf(source);
    const ask = await asking(gateway, meta);
    const { result } = await ask("tools/call", { name: "left", arguments: {} });
    assert.match(JSON.stringify(result), /"isError":true.*INVALID/);
    assert.deepEqual(source.acts, []);
  });

  test(`${era}: law 3: a hidden tool that checks its own arguments answers as one that never was`, async () => {
    await using gateway = gatewayOf(strict());
    const ask = await asking(gateway, meta);
    const hidden = await ask("tools/call", { name: "hidden", arguments: { user_id: 1 } });
    const never = await ask("tools/call", { name: "never", arguments: { user_id: 1 } });
    assert.deepEqual(hidden["error"], { code: -32602, message: "Unknown tool: hidden" });
    assert.deepEqual(never["error"], { code: -32602, message: "Unknown tool: never" });
  });
}
