import type { OpenTelemetryApi } from "./api.ts";

/**
 * Has the SDK send what it still holds: the last spans of a process that is about to end. Settles when it has, or cannot, or could never
 * be asked: the API itself has no such thing, the providers of the SDK do.
 */
export async function flush({ metrics, trace }: OpenTelemetryApi): Promise<void> {
  const tracers: object = trace.getTracerProvider();
  // The API hands out one that stands for whichever comes.
  const behind: unknown = "getDelegate" in tracers && typeof tracers.getDelegate === "function" ? tracers.getDelegate() : tracers;
  await Promise.allSettled([behind, metrics.getMeterProvider()].map(flushed));
}

async function flushed(provider: unknown): Promise<void> {
  if (typeof provider !== "object" || provider === null || !("forceFlush" in provider)) return;
  if (typeof provider.forceFlush === "function") await provider.forceFlush();
}
