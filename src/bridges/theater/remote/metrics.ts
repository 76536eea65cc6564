import { isJsonObject, type Json } from "../../../core/contract/index.ts";
import type { StageMetrics } from "../stage.ts";

const NANOSECONDS = 1_000_000;

const field = (json: Json | undefined, name: string): Json | undefined =>
  isJsonObject(json) && Object.hasOwn(json, name) ? json[name] : undefined;

const numberIn = (json: Json | undefined, name: string): number | null => {
  const value = field(json, name);
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
};
/** Upstream does not measure these, so 0 means unknown. */
const measured = (json: Json | undefined, name: string): number | null => numberIn(json, name) || null;
const scaled = (value: number | null, by: number): number | null => (value === null ? null : value * by);

/** Converts a server's metrics, in which durations are nanoseconds and times are seconds. */
export function readMetrics(json: Json): StageMetrics {
  const [operations, resources] = [field(json, "operation_metrics"), field(json, "resource_metrics")];
  return {
    operations: numberIn(operations, "total_operations"),
    failedOperations: measured(operations, "failed_operations"),
    totalMs: scaled(numberIn(operations, "total_processing_time"), 1 / NANOSECONDS),
    maxMs: scaled(numberIn(operations, "max_processing_time"), 1 / NANOSECONDS),
    minMs: scaled(numberIn(operations, "min_processing_time"), 1 / NANOSECONDS),
    memoryBytes: measured(resources, "memory_usage"),
    queued: measured(resources, "operation_queue_size"),
    startedAt: scaled(measured(json, "start_time"), 1_000),
    lastAt: scaled(measured(json, "last_update"), 1_000),
  };
}
