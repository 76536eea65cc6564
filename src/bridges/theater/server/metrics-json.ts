import type { Json } from "../../../core/contract/index.ts";
import type { StageMetrics } from "../stage.ts";

const NANOSECONDS_PER_MS = 1_000_000;
const nanoseconds = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * NANOSECONDS_PER_MS));
const seconds = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1_000));

/** Theater's metrics in its units. Values that are not measured are null, where Theater has 0. */
export function metricsJson(metrics: StageMetrics | null, now: number): Json {
  const startedAt = metrics?.startedAt ?? null;
  return {
    operation_metrics: {
      total_operations: metrics?.operations ?? null,
      failed_operations: metrics?.failedOperations ?? null,
      total_processing_time: nanoseconds(metrics?.totalMs ?? null),
      max_processing_time: nanoseconds(metrics?.maxMs ?? null),
      min_processing_time: nanoseconds(metrics?.minMs ?? null),
    },
    resource_metrics: {
      memory_usage: metrics?.memoryBytes ?? null,
      operation_queue_size: metrics?.queued ?? null,
      peak_memory_usage: null,
      peak_queue_size: null,
    },
    last_update: seconds(metrics?.lastAt ?? null),
    uptime_secs: startedAt === null ? null : Math.max(0, seconds(now - startedAt) ?? 0),
    start_time: seconds(startedAt),
  };
}
