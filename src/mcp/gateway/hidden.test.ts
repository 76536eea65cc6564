import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bag } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf } from "./kit.fixture.ts";

const input = { type: "object", properties: { to: { type: "string", "x-mcp-header": "to" } }, required: ["to"] };
const source = registry({
  tools: {
    secret: { describe: "Where it is.", input, meta: { "troupe/scopes": ["keeper"] }, when: () => false, run: () => "there" },
  },
  prompts: { secret: { describe: "Where it is.", arguments: [{ name: "to", required: true }], when: () => false, get: () => "there" } },
});
const keeper = { principal: "iss|ann", scopes: ["keeper"] };
const stranger = { principal: "iss|bob", scopes: [] };

for (const [method, words] of [
  ["tools/call", "Unknown tool: "],
  ["prompts/get", "Unknown prompt: "],
] as const)
  test(`law 3: to ${method}, what is hidden answers like what never was, whatever its arguments, headers and scopes`, async () => {
    await using gateway = gatewayOf(source);
    const told = async (name: string, args: Bag, headers: Readonly<Record<string, string>>, caller: typeof keeper): Promise<Bag> => {
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
            assert.deepEqual(await told(name, args, headers, caller), {
              status: 200,
              jsonrpc: "2.0",
              id: 1,
              error: { code: -32602, message: `${words}${name}` },
            });
  });
