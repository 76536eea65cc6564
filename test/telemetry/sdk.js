// What an operator starts Node with: an SDK that writes all it was told to the file TOLD, at the process's end.
import { writeFileSync } from "node:fs";
import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

const spans = new InMemorySpanExporter();
const numbers = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 200 })] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }));
metrics.setGlobalMeterProvider(meters);

const told = () => ({
  spans: spans.getFinishedSpans().map((span) => ({
    name: span.name,
    kind: span.kind,
    status: span.status.code,
    attributes: span.attributes,
    parent: span.parentSpanContext?.spanId,
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
  })),
  metrics: (numbers.getMetrics().at(-1)?.scopeMetrics ?? []).flatMap((scope) =>
    scope.metrics.map(({ descriptor, dataPoints }) => ({
      name: descriptor.name,
      points: dataPoints.map(({ attributes, value }) => ({ attributes, value: value.count ?? value })),
    })),
  ),
});

// Node's last word: the server has had sent before what was held.
process.once("exit", () => writeFileSync(process.env.TOLD, JSON.stringify(told())));
