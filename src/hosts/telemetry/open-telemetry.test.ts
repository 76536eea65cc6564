import assert from "node:assert/strict";
import { test } from "node:test";
import * as api from "@opentelemetry/api";
import { metricAttributes } from "./attributes.ts";
import { isHeard, isOpenTelemetryApi, openTelemetry } from "./index.ts";

// With an SDK: test/telemetry.

test("accepts the API as it is published, by its type too, and nothing else", () => {
  assert.ok(isOpenTelemetryApi(api));
  for (const wrong of [
    undefined,
    null,
    1,
    {},
    { ...api, trace: {} },
    { ...api, createNoopMeter: undefined },
    { ...api, context: { active() {} } },
  ])
    assert.ok(!isOpenTelemetryApi(wrong));
});

test("without an SDK nothing is reported, and requests remain in their client's trace", () => {
  assert.ok(!isHeard(api));
  const observer = openTelemetry(api);
  const observation = observer.begun({ method: "tools/call", id: 1, name: "add", trace: { traceparent: "00-1-2-01" } });
  assert.equal(observation.trace, undefined);
  assert.equal(
    observation.during(() => 7),
    7,
  );
  observation.ended({ kind: "error", code: -32_602, message: "no" });
  let reads = 0;
  observer.shows?.(() => {
    reads += 1;
    return {};
  })();
  assert.equal(reads, 0, "nothing collects");
});

test("each method of the protocol is counted by its name, and all others under one", () => {
  const counted = (method: string) => metricAttributes({ method, id: 1 }, undefined)["mcp.method.name"];
  for (const method of ["tools/call", "subscriptions/listen", "tasks/get", "tasks/list", "tasks/result", "tasks/update", "tasks/cancel"])
    assert.equal(counted(method), method);
  assert.equal(counted("tasks/none"), "_OTHER");
});
