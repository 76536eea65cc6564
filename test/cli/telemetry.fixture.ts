// What an operator starts Node with: an SDK whose spans go to the file SPANS, a line each.
import { appendFileSync } from "node:fs";
import { propagation, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

const exporter = {
  export(spans: readonly ReadableSpan[], done: (result: { code: number }) => void): void {
    for (const span of spans) {
      const { traceId, spanId } = span.spanContext();
      appendFileSync(
        process.env["SPANS"] ?? "",
        `${JSON.stringify({ name: span.name, traceId, spanId, parent: span.parentSpanContext?.spanId })}\n`,
      );
    }
    done({ code: 0 });
  },
  shutdown: async (): Promise<void> => undefined,
};
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
