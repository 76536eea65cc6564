// Owns: the part of `@opentelemetry/api` (1.x) that is used, by its shape. It is not imported: the process has its own copy, with which
// its SDK is registered, and another copy would not know the SDK. Does not own: what is measured (open-telemetry.ts).

export type Attributes = Readonly<Record<string, string>>;

/** `import * as api from "@opentelemetry/api"`. */
export interface OpenTelemetryApi {
  readonly context: {
    active(): OtelContext;
    with<T>(context: OtelContext, act: () => T): T;
  };
  readonly metrics: { getMeter(name: string, version?: string): Meter; getMeterProvider(): object };
  readonly propagation: {
    extract(context: OtelContext, carrier: object): OtelContext;
    inject(context: OtelContext, carrier: object): void;
  };
  readonly trace: {
    getSpanContext(context: OtelContext): SpanContext | undefined;
    getTracer(name: string, version?: string): Tracer;
    getTracerProvider(): object;
    setSpan(context: OtelContext, span: Span): OtelContext;
  };
  createNoopMeter(): Meter;
  readonly SpanKind: { readonly SERVER: number };
  readonly SpanStatusCode: { readonly ERROR: number };
}

/** An opaque context, passed along with each operation. */
export interface OtelContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): OtelContext;
  deleteValue(key: symbol): OtelContext;
}

interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

export interface Tracer {
  startSpan(name: string, options: SpanOptions, context: OtelContext): Span;
}

interface SpanOptions {
  readonly kind: number;
  readonly attributes: Attributes;
  readonly links: { context: SpanContext }[];
}

export interface Span {
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  isRecording(): boolean;
  updateName(name: string): unknown;
  end(): void;
}

export interface MetricOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { explicitBucketBoundaries: number[] };
}

export interface Meter {
  createHistogram(name: string, options: MetricOptions): Histogram;
  createObservableCounter(name: string, options: MetricOptions): Observable;
  createObservableGauge(name: string, options: MetricOptions): Observable;
  addBatchObservableCallback(callback: (result: ObservableResult) => void, observables: Observable[]): void;
}

export interface Histogram {
  record(value: number, attributes: Attributes, context: OtelContext): void;
}

export type Observable = object;

interface ObservableResult {
  observe(observable: Observable, value: number): void;
}

/** Whether a loaded module is `@opentelemetry/api`. */
export function isOpenTelemetryApi(loaded: unknown): loaded is OpenTelemetryApi {
  if (!isObject(loaded) || typeof loaded["createNoopMeter"] !== "function") return false;
  const { context, metrics, propagation, trace, SpanKind, SpanStatusCode } = loaded;
  return (
    has(context, "active", "with") &&
    has(metrics, "getMeter", "getMeterProvider") &&
    has(propagation, "extract", "inject") &&
    has(trace, "getSpanContext", "getTracer", "getTracerProvider", "setSpan") &&
    isObject(SpanKind) &&
    isObject(SpanStatusCode)
  );
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

// Methods of a class are not the object's own.
const has = (part: unknown, ...methods: readonly string[]): boolean =>
  isObject(part) && methods.every((method) => typeof part[method] === "function");
