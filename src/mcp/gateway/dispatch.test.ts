import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, type Caller, isJsonObject, isList, type Source, TroupeError } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { bodyOf, ENVELOPE, exchangeOf, gatewayOf, world } from "./kit.fixture.ts";

/*
 * The way of a tools/call: limit, resolve, scopes, validate, act, encode. Each call below fails at one step and at every step
 * after it. The answer says which step refused it; the trace says whether the source was called to act.
 */

const HEADERS = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const TOKEN: Caller = { principal: "ann", scopes: ["door"] };
const NO_TOKEN: Caller = { principal: "bob", scopes: [] };

/** A source that records when it is called to act and when its tool runs. */
function traced(): { readonly source: Source; readonly trace: string[] } {
  const trace: string[] = [];
  const inner = registry({
    tools: {
      open: {
        description: "Open it.",
        meta: { "troupe/scopes": ["door"] },
        input: { type: "object", properties: { how: { type: "string", enum: ["softly", "badly"] } }, required: ["how"] },
        work({ args: { how } }) {
          trace.push("run");
          if (how === "badly") throw new TroupeError("UNAVAILABLE", "It is stuck.");
          return { open: true };
        },
      },
    },
  });
  const source: Source = {
    surface(viewer) {
      trace.push("surface");
      return inner.surface(viewer);
    },
    watch: inner.watch.bind(inner),
    async act(...given) {
      trace.push("act");
      const reply = await inner.act(...given);
      trace.push("reply");
      return reply;
    },
  };
  return { source, trace };
}

type Post = (
  name: string,
  args: JsonObject,
  caller?: Caller,
) => Promise<readonly [status: number, code: number | "error" | "ok", text: string]>;

const textIn = (bag: JsonObject, name: string): string => (typeof bag[name] === "string" ? bag[name] : "");

/** An error's code and message, or whether a tool's result is an error, and its text. */
function wordsOf({ error, result }: JsonObject): readonly [number | "error" | "ok", string] {
  if (isJsonObject(error)) return [Number(error["code"]), textIn(error, "message")];
  const content = isJsonObject(result) && isList(result["content"]) ? result["content"][0] : undefined;
  const text = isJsonObject(content) ? textIn(content, "text") : "";
  return [isJsonObject(result) && result["isError"] === true ? "error" : "ok", text];
}

/** A gateway whose callers may send `burst` requests each, and what posts one `tools/call` of that era. */
async function opened(era: "legacy" | "modern", source: Source, burst: number) {
  const gateway = gatewayOf(source, { rateLimit: { perSecond: 0.001, burst } });
  const sessions = new Map<Caller, string>();
  const send = (caller: Caller, headers: Readonly<Record<string, string>>, method: string, params: JsonObject) =>
    gateway.exchange(exchangeOf("POST", { ...HEADERS, ...headers }, { jsonrpc: "2.0", id: 1, method, params }, caller).exchange);
  if (era === "legacy")
    for (const caller of [TOKEN, NO_TOKEN]) {
      const begun = await send(caller, {}, "initialize", { protocolVersion: "2025-11-25" });
      sessions.set(caller, begun.headers?.["mcp-session-id"] ?? "");
    }
  const post: Post = async (name, args, caller = TOKEN) => {
    const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
    const headers = era === "modern" ? modern : { "mcp-session-id": sessions.get(caller) ?? "" };
    const params = { name, arguments: args, ...(era === "modern" ? { _meta: ENVELOPE } : undefined) };
    const answer = await send(caller, headers, "tools/call", params);
    return [answer.status, ...wordsOf(bodyOf(answer))];
  };
  return { gateway, post };
}

for (const era of ["legacy", "modern"] as const)
  describe(`tools/call, ${era}`, () => {
    test("resolves, checks scopes, validates, acts and encodes, in this order", async () => {
      const { source, trace } = traced();
      const { gateway, post } = await opened(era, source, 20);
      await using _ = gateway;
      const seen: unknown[] = [];
      const step = async (name: string, args: JsonObject, caller?: Caller): Promise<void> => {
        trace.length = 0;
        const answer = await post(name, args, caller);
        seen.push([...answer, trace.join(" ")]);
      };
      await step("nothing", { how: "wildly" }, NO_TOKEN);
      await step("open", { how: "wildly" }, NO_TOKEN);
      await step("open", { how: "wildly" });
      await step("open", { how: "badly" });
      await step("open", { how: "softly" });
      assert.deepEqual(seen, [
        [200, -32602, "Unknown tool: nothing", "surface"],
        [403, -31403, "This needs the scope door; sign in again with it.", "surface"],
        [200, "error", 'Invalid arguments: how must be one of "softly", "badly".', "surface"],
        [503, -31503, "It is stuck.", "surface act run"],
        [200, "ok", '{"open":true}', "surface act run reply"],
      ]);
    });

    test("is limited before its tool is looked for", async () => {
      const { source, trace } = traced();
      // In a session the initialize request takes a token, too.
      const { gateway, post } = await opened(era, source, era === "legacy" ? 2 : 1);
      await using _ = gateway;
      await post("open", { how: "softly" });
      trace.length = 0;
      const limited = await post("nothing", { how: "wildly" });
      assert.deepEqual(limited, [429, -31429, "Too many requests; try again in 1000 s."]);
      assert.deepEqual(trace, []);
    });
  });

const LIST = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/list",
};

test("all addresses of one IPv6 network count as one peer", async () => {
  await using gateway = gatewayOf(world().source, { rateLimit: { perSecond: 1, burst: 2 } });
  const statusFor = async (peer: string): Promise<number> => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: ENVELOPE } };
    return (await gateway.exchange(exchangeOf("POST", LIST, body, { scopes: [], peer }).exchange)).status;
  };
  const statuses: number[] = [];
  for (const peer of ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"]) statuses.push(await statusFor(peer));
  assert.deepEqual(statuses, [200, 200, 429, 200]);
});

test("a source learns the peer of a call in both eras", async () => {
  const { source } = world();
  const peers: unknown[] = [];
  const spied = {
    surface: source.surface.bind(source),
    watch: source.watch.bind(source),
    act: (...given: Parameters<typeof source.act>) => {
      peers.push(given[3].peer);
      return source.act(...given);
    },
  };
  await using gateway = gatewayOf(spied);
  const caller = { scopes: [], peer: "192.0.2.7" };
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const post = (more: Readonly<Record<string, string>>, method: string, params: object) =>
    gateway.exchange(exchangeOf("POST", { ...headers, ...more }, { jsonrpc: "2.0", id: 1, method, params }, caller).exchange);
  const begun = await post({}, "initialize", { protocolVersion: "2025-11-25" });
  await post({ "mcp-session-id": begun.headers?.["mcp-session-id"] ?? "" }, "tools/call", { name: "look" });
  const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look" };
  await post(modern, "tools/call", { name: "look", _meta: ENVELOPE });
  assert.deepEqual(peers, ["192.0.2.7", "192.0.2.7"]);
});
