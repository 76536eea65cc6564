import assert from "node:assert/strict";
import { test } from "node:test";
import { readMetrics } from "./actor-details.ts";

test("metrics are converted to milliseconds, and zeros never measured are null", () => {
  const measured = {
    operation_metrics: {
      total_operations: 0,
      failed_operations: 2,
      total_processing_time: 0,
      max_processing_time: 2_500_000,
      min_processing_time: null,
    },
    resource_metrics: { memory_usage: 65_536, operation_queue_size: 0 },
    last_update: 1_745_424_601,
    start_time: 1_745_424_600,
  };
  assert.deepEqual(readMetrics(measured), {
    operations: 0,
    failedOperations: 2,
    totalMs: 0,
    maxMs: 2.5,
    minMs: null,
    memoryBytes: 65_536,
    queued: null,
    startedAt: 1_745_424_600_000,
    lastAt: 1_745_424_601_000,
  });
});

test("metrics of another form are null", () => {
  for (const json of [null, 1, "x", [], { operation_metrics: [] }, { operation_metrics: { total_operations: "1" }, start_time: -1 }])
    for (const value of Object.values(readMetrics(json))) assert.equal(value, null);
});
