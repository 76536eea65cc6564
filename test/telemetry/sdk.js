// Preloaded into Node like an operator's SDK. At exit it writes all exported data to the file EXPORT_FILE.
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

const exported = () => ({
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

// The exit event comes last, after the server has flushed pending data.
process.once("exit", () => writeFileSync(process.env.EXPORT_FILE, JSON.stringify(exported())));
