import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, Figures, Json, ObservedFailure, ObservedRequest, Observer } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { bodyOf, channelDouble, ENVELOPE, exchangeOf, gatewayOf, quiet, until, world } from "./kit.fixture.ts";

const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };

const request = (method: string, params: JsonObject = {}, id = 1): JsonObject => ({ jsonrpc: "2.0", id, method, params });

/** An observer that records each request and how it ended. */
function looking(trace?: JsonObject): Observer & {
  readonly seen: (readonly [ObservedRequest, ObservedFailure | "well"])[];
  figures: () => Figures;
  within: number;
} {
  const made: ReturnType<typeof looking> = {
    seen: [],
    within: 0,
    figures: () => ({}),
    begun: (about) => ({
      ...(trace !== undefined && { trace }),
      during(act) {
        made.within += 1;
        try {
          return act();
        } finally {
          made.within -= 1;
        }
      },
      ended: (failure) => void made.seen.push([about, failure ?? "well"]),
    }),
    shows(figures) {
      made.figures = figures;
      return () => (made.figures = () => ({}));
    },
  };
  return made;
}

describe("an observer", () => {
  test("sees each request of a session begin and end, and how", async () => {
    const observer = looking();
    await using gateway = gatewayOf(world().source, { observer });
    const post = async (message: JsonObject, headers: Readonly<Record<string, string>> = {}) =>
      gateway.exchange(exchangeOf("POST", { ...ACCEPT, ...headers }, message).exchange);
    const id = (await post(request("initialize", INITIALIZE, 0))).headers?.["mcp-session-id"] ?? "";
    const say = (method: string, params?: JsonObject) => post(request(method, params), { "mcp-session-id": id });
    await post({ jsonrpc: "2.0", method: "notifications/initialized" }, { "mcp-session-id": id });
    await say("ping");
    await say("tools/call", { name: "look", _meta: { traceparent: "00-1-2-01", progressToken: 3 } });
    await say("tools/call", { name: "open", arguments: { how: "wildly" } });
    await say("tools/call", { name: "nothing" });
    await say("resources/read", { uri: "door://state" });
    await say("prompts/get", { name: "knock", arguments: { times: "3" } });
    await say("rob/bank");
    const [begin, ...rest] = observer.seen;
    assert.deepEqual(begin, [{ method: "initialize", id: 0, peer: "127.0.0.1" }, "well"]);
    const session = rest[0]?.[0].session ?? "";
    assert.match(session, /^session\|[0-9a-f]{32}$/);
    assert.ok(!session.includes(id), "the id is a secret");
    const each = { id: 1, revision: "2025-11-25", session, peer: "127.0.0.1" };
    assert.deepEqual(rest, [
      [{ method: "ping", ...each }, "well"],
      [{ method: "tools/call", ...each, name: "look", trace: { traceparent: "00-1-2-01" } }, "well"],
      [{ method: "tools/call", ...each, name: "open" }, { kind: "tool" }],
      [
        { method: "tools/call", ...each, name: "nothing" },
        { kind: "error", code: -32602, message: "Unknown tool: nothing" },
      ],
      [{ method: "resources/read", ...each, uri: "door://state" }, "well"],
      [{ method: "prompts/get", ...each, name: "knock" }, "well"],
      [
        { method: "rob/bank", ...each },
        { kind: "error", code: -32601, message: "Method not found: rob/bank" },
      ],
    ]);
  });

  test("sees requests of 2026-07-28, and both eras on a stream", async () => {
    const observer = looking();
    const { source } = world();
    await using gateway = gatewayOf(source, { observer });
    const headers = { ...ACCEPT, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look" };
    const call = (name: string, id = 1): JsonObject => request("tools/call", { name, _meta: ENVELOPE }, id);
    await gateway.exchange(exchangeOf("POST", headers, call("look")).exchange);
    await gateway.exchange(exchangeOf("POST", { ...headers, "mcp-name": "fails" }, call("fails")).exchange);
    await gateway.exchange(exchangeOf("POST", { ...headers, "mcp-method": "ping" }, call("look")).exchange);
    const modern = gateway.connect(channelDouble(), { principal: "local", scopes: [], peer: "stdio" });
    modern.receive(JSON.stringify(request("server/discover", { _meta: ENVELOPE })));
    modern.receive(JSON.stringify(call("slow", 7)));
    modern.receive(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }));
    await until(() => observer.seen.length >= 5);
    const legacy = gateway.connect(channelDouble(), { principal: "local", scopes: [], peer: "stdio" });
    legacy.receive(JSON.stringify(request("initialize", INITIALIZE, 0)));
    legacy.receive(JSON.stringify(request("tools/call", { name: "look" })));
    await until(() => observer.seen.length >= 7);
    assert.deepEqual(
      observer.seen.map(([{ method, name = "", revision = "", peer }, how]) => [
        `${method} ${name}`.trim(),
        revision,
        peer,
        how === "well" ? how : (how.code ?? how.kind),
      ]),
      [
        ["tools/call look", "2026-07-28", "127.0.0.1", "well"],
        ["tools/call fails", "2026-07-28", "127.0.0.1", "tool"],
        ["tools/call look", "2026-07-28", "127.0.0.1", -32020],
        ["server/discover", "2026-07-28", "stdio", "well"],
        ["tools/call slow", "2026-07-28", "stdio", "cancelled"],
        ["initialize", "", "stdio", "well"],
        ["tools/call look", "2025-11-25", "stdio", "well"],
      ],
    );
  });

  test("runs the work of a request within its observation and trace", async () => {
    const observer = looking({ traceparent: "00-own" });
    const traces: (Json | undefined)[] = [];
    const source = registry({
      tools: {
        look: {
          description: "Look.",
          work({ trace }) {
            traces.push(trace ?? null, observer.within);
            return "Shut.";
          },
        },
      },
    });
    await using gateway = gatewayOf(source, { observer });
    const connection = gateway.connect(channelDouble(), { principal: "local", scopes: [] });
    connection.receive(JSON.stringify(request("initialize", INITIALIZE, 0)));
    connection.receive(JSON.stringify(request("tools/call", { name: "look", _meta: { traceparent: "00-client" } })));
    await until(() => traces.length > 0);
    assert.deepEqual(traces, [{ traceparent: "00-own" }, 1]);
  });

  test("that throws is logged, and reaches no client", async () => {
    const events: unknown[] = [];
    const broken: Observer = {
      begun({ id }) {
        if (id === 1) throw new Error("broken");
        return {
          during: (act) => act(),
          ended() {
            throw new Error("broken, too");
          },
        };
      },
    };
    await using gateway = gatewayOf(world().source, { observer: broken, log: (_, data) => events.push(Object(data)["event"]) });
    const channel = channelDouble();
    const connection = gateway.connect(channel, { principal: "local", scopes: [] });
    connection.receive(JSON.stringify(request("initialize", INITIALIZE, 0)));
    connection.receive(JSON.stringify(request("tools/call", { name: "look" }, 1)));
    connection.receive(JSON.stringify(request("tools/call", { name: "look" }, 2)));
    await until(() => channel.messages.length >= 3);
    assert.deepEqual(
      channel.messages.map(({ id, result }) => [id, result !== undefined]),
      [
        [0, true],
        [1, true],
        [2, true],
      ],
    );
    // The third one repeats the first, so the log leaves it out.
    assert.deepEqual(events, ["observer-failed", "observer-failed"]);
  });

  test("reads the current figures until the gateway has closed", async () => {
    const observer = looking();
    const slow = world();
    slow.slowMs = 60_000;
    {
      await using gateway = gatewayOf(slow.source, { observer });
      assert.deepEqual(observer.figures(), { sessions: 0, connections: 0, streams: 0, requests: 0 });
      const answer = await gateway.exchange(exchangeOf("POST", ACCEPT, request("initialize", INITIALIZE, 0)).exchange);
      assert.ok("result" in bodyOf(answer));
      const headers = { accept: "text/event-stream", "mcp-session-id": answer.headers?.["mcp-session-id"] ?? "" };
      void gateway.exchange(exchangeOf("GET", headers).exchange);
      const connection = gateway.connect(channelDouble(), { principal: "local", scopes: [] });
      connection.receive(JSON.stringify(request("tools/call", { name: "slow", _meta: ENVELOPE })));
      await quiet();
      assert.deepEqual(observer.figures(), { sessions: 1, connections: 1, streams: 1, requests: 1 });
    }
    assert.deepEqual(observer.figures(), {});
  });
});
