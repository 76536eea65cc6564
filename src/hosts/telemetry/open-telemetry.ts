// Owns: spans and durations of requests, and flushing the SDK. Does not own: attributes (attributes.ts), gauges (gauges.ts).
import type { JsonObject, Observation, ObservedFailure, ObservedRequest, Observer } from "../../core/contract/index.ts";
import { failureAttributes, metricAttributes, spanAttributes } from "./attributes.ts";
import { Gauges, observeEventLoop } from "./gauges.ts";
import type { Histogram, OpenTelemetryApi, OtelContext, Span, Tracer } from "./open-telemetry-api.ts";

const NAME = "troupe";
/** The boundaries of the convention, in seconds, and finer ones below them: most calls take less time than its lowest. */
const BOUNDARIES = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * `openTelemetry(api)`, with `import * as api from "@opentelemetry/api"`: spans and metrics of the requests that a server answers, by
 * OpenTelemetry's semantic conventions for MCP. They go to the SDK that the process has registered with that API; without one, nothing
 * is reported. A span's parent is the trace in the request's `_meta`, and the span is the parent of those of actors. Contains names,
 * codes, ids and durations; never arguments or results.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
 */
export function openTelemetry(api: OpenTelemetryApi): Required<Observer> {
  const meter = api.metrics.getMeter(NAME);
  const gauges = new Gauges(meter);
  observeEventLoop(meter);
  const tracer = api.trace.getTracer(NAME);
  const duration = meter.createHistogram("mcp.server.operation.duration", {
    description: "From when a request of MCP was read until it was answered.",
    unit: "s",
    advice: { explicitBucketBoundaries: BOUNDARIES },
  });
  return {
    begun: (request) => new RequestObservation(request, { api, tracer, duration }),
    shows: (figures) => gauges.add(figures),
  };
}

/** Whether an SDK receives spans or metrics, as far as this can be detected. */
export function isHeard(api: OpenTelemetryApi): boolean {
  const { metrics, trace, context, SpanKind } = api;
  if (metrics.getMeter(NAME).constructor !== api.createNoopMeter().constructor) return true;
  const span = trace.getTracer(NAME).startSpan("heard", { kind: SpanKind.SERVER, attributes: {}, links: [] }, context.active());
  return span.isRecording();
}

interface Instruments {
  readonly api: OpenTelemetryApi;
  readonly tracer: Tracer;
  readonly duration: Histogram;
}

class RequestObservation implements Observation {
  readonly trace?: JsonObject;
  readonly #request: ObservedRequest;
  readonly #of: Instruments;
  readonly #span: Span;
  readonly #context: OtelContext;
  readonly #begun = performance.now();

  constructor(request: ObservedRequest, of: Instruments) {
    const { context, propagation, trace, SpanKind } = of.api;
    this.#request = request;
    this.#of = of;
    const around = context.active();
    const parent = request.trace === undefined ? around : propagation.extract(around, request.trace);
    const ambient = parent === around ? undefined : trace.getSpanContext(around);
    const links = ambient === undefined ? [] : [{ context: ambient }];
    this.#span = of.tracer.startSpan(request.method, { kind: SpanKind.SERVER, attributes: spanAttributes(request), links }, parent);
    this.#context = trace.setSpan(parent, this.#span);
    const carrier: Record<string, string> = {};
    propagation.inject(this.#context, carrier);
    if (Object.keys(carrier).length > 0) this.trace = carrier;
  }

  during<T>(act: () => T): T {
    return this.#of.api.context.with(this.#context, act);
  }

  ended(failure?: ObservedFailure): void {
    const { method, name } = this.#request;
    const { api, duration } = this.#of;
    // The name of an unknown tool must not become a span's name.
    if (name !== undefined && failure?.kind !== "error") this.#span.updateName(`${method} ${name}`);
    if (failure !== undefined) {
      this.#span.setAttributes(failureAttributes(failure));
      this.#span.setStatus({ code: api.SpanStatusCode.ERROR, ...(failure.message !== undefined && { message: failure.message }) });
    }
    this.#span.end();
    duration.record((performance.now() - this.#begun) / 1_000, metricAttributes(this.#request, failure), this.#context);
  }
}

/**
 * Makes the SDK send buffered data: the last spans of a process that is about to end. Settles also if that fails, or if there is no SDK:
 * the API itself has no `forceFlush`, only the providers of the SDK do.
 */
export async function flush({ metrics, trace }: OpenTelemetryApi): Promise<void> {
  const tracers: object = trace.getTracerProvider();
  // The API returns a proxy for the provider that the SDK registers.
  const behind: unknown = "getDelegate" in tracers && typeof tracers.getDelegate === "function" ? tracers.getDelegate() : tracers;
  await Promise.allSettled([behind, metrics.getMeterProvider()].map(flushed));
}

async function flushed(provider: unknown): Promise<void> {
  if (typeof provider !== "object" || provider === null || !("forceFlush" in provider)) return;
  if (typeof provider.forceFlush === "function") await provider.forceFlush();
}
