import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import * as z from "zod";
import { actor, refuse } from "../actor/index.ts";
import type { Bag } from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { createGateway } from "../gateway/index.ts";
import { cast } from "../source/index.ts";
import { memoryStore } from "../store/index.ts";
import { until } from "../testing/index.ts";
import { connectInMemory } from "../transport/index.ts";
import { isHeard, isOpenTelemetryApi, openTelemetry } from "./index.ts";

const spans = new InMemorySpanExporter();
const numbers = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 3_600_000 });
const tracers = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] });
const meters = new MeterProvider({ readers: [reader] });

assert.ok(isOpenTelemetryApi(api));
assert.ok(!isHeard(api), "no SDK yet");
api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
api.trace.setGlobalTracerProvider(tracers);
api.metrics.setGlobalMeterProvider(meters);
after(async () => {
  await meters.shutdown();
  await tracers.shutdown();
});

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

const counter = actor("counter", {
  describe: "A counter.",
  per: "shared",
  state: z.object({ count: z.int().default(0) }),
  tools: {
    add: {
      describe: "Add one.",
      run({ state }) {
        if (state.count >= 1) refuse("It is full.");
        state.count += 1;
        return state.count;
      },
    },
    ambient: { describe: "The span around.", view: () => api.trace.getActiveSpan()?.spanContext().traceId ?? null },
  },
});

interface Point {
  readonly attributes: object;
  readonly value: unknown;
}

const collected = async (): Promise<Readonly<Record<string, readonly Point[]>>> => {
  numbers.reset();
  await meters.forceFlush();
  const metrics = numbers.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  return Object.fromEntries(metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
};

const counted = (points: readonly Point[] | undefined): readonly (readonly [object, unknown])[] =>
  (points ?? []).map(({ attributes, value }) => [attributes, Object(value)["count"] ?? value]);

test("requests are spans of the trace they came in, their actors' messages are the spans', and durations are counted by what they were", async () => {
  assert.ok(isHeard(api));
  const observer = openTelemetry(api);
  await using engine = await LocalEngine.start({ kinds: [counter], store: memoryStore(), observer });
  await using gateway = createGateway({ source: cast({ engine, kinds: [counter] }), info: { name: "t", version: "1" }, observer });
  const client = connectInMemory(gateway, { principal: "local", scopes: [], peer: "stdio" });
  const replies: Bag[] = [];
  client.onMessage((text) => replies.push(JSON.parse(text)));
  const ask = async (method: string, params: Bag): Promise<Bag> => {
    const id = replies.length;
    client.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    await until(`a reply to ${id}`, () => replies.some((reply) => reply["id"] === id));
    return replies.find((reply) => reply["id"] === id) ?? {};
  };
  const _meta = { traceparent: `00-${TRACE}-${PARENT}-01` };
  await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
  await ask("tools/call", { name: "add", _meta });
  await ask("tools/call", { name: "add" });
  await ask("tools/call", { name: "stranger's word" });
  await ask("stranger/method", {});
  const ambient = await ask("tools/call", { name: "ambient", _meta });
  assert.match(JSON.stringify(ambient), new RegExp(TRACE));

  const made = spans.getFinishedSpans();
  assert.deepEqual(
    made.map(({ name, attributes, status, kind }) => [name, attributes["error.type"] ?? "", status.code, kind]),
    [
      ["initialize", "", api.SpanStatusCode.UNSET, api.SpanKind.SERVER],
      ["tools/call add", "", api.SpanStatusCode.UNSET, api.SpanKind.SERVER],
      ["tools/call add", "tool_error", api.SpanStatusCode.ERROR, api.SpanKind.SERVER],
      ["tools/call", "-32602", api.SpanStatusCode.ERROR, api.SpanKind.SERVER],
      ["stranger/method", "-32601", api.SpanStatusCode.ERROR, api.SpanKind.SERVER],
      ["tools/call ambient", "", api.SpanStatusCode.UNSET, api.SpanKind.SERVER],
    ],
  );
  const [, add] = made;
  assert.ok(add);
  assert.equal(add.spanContext().traceId, TRACE);
  assert.equal(add.parentSpanContext?.spanId, PARENT);
  assert.deepEqual(add.attributes, {
    "mcp.method.name": "tools/call",
    "jsonrpc.request.id": "1",
    "mcp.protocol.version": "2025-11-25",
    "mcp.session.id": add.attributes["mcp.session.id"],
    "client.address": "stdio",
    "network.transport": "pipe",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "add",
  });
  const event = await engine.event((await engine.read("counter/main"))?.head ?? "");
  assert.match(event?.body ?? "", new RegExp(`00-${TRACE}-${add.spanContext().spanId}-01`));

  const base = { "mcp.protocol.version": "2025-11-25", "network.transport": "pipe" };
  const tool = (name: string) => ({
    ...base,
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
  });
  const refused = (code: string) => ({ "error.type": code, "rpc.response.status_code": code });
  const numbersNow = await collected();
  assert.deepEqual(counted(numbersNow["mcp.server.operation.duration"]), [
    [{ "mcp.method.name": "initialize", "network.transport": "pipe" }, 1],
    [tool("add"), 1],
    [{ ...tool("add"), "error.type": "tool_error" }, 1],
    [{ ...base, "mcp.method.name": "tools/call", ...refused("-32602") }, 1],
    [{ ...base, "mcp.method.name": "_OTHER", ...refused("-32601") }, 1],
    [tool("ambient"), 1],
  ]);
  const gauges = Object.entries(numbersNow).filter(([name]) => name.startsWith("troupe."));
  assert.deepEqual(Object.fromEntries(gauges.map(([name, points]) => [name, points[0]?.value])), {
    "troupe.sessions": 0,
    "troupe.connections": 1,
    "troupe.streams": 0,
    "troupe.requests.running": 0,
    "troupe.actors": 1,
    "troupe.actors.failed": 0,
    "troupe.outbox": 0,
    "troupe.faults": 0,
  });
});
