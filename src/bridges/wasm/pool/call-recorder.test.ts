import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostCall } from "../sandbox.ts";
import { CallRecorder, CallRecorderReader } from "./call-recorder.ts";

const LOG: HostCall = { name: "runtime.log", args: ["Grüße"], result: undefined };
const NOW: HostCall = { name: "timing.now", args: [], result: 2n ** 63n };
const RANDOM: HostCall = { name: "random.random-bytes", args: [2], result: { ok: new Uint8Array([1, 2]) } };

test("the main thread reads recorded calls completely and in order", () => {
  const reader = new CallRecorderReader();
  const recorder = new CallRecorder(reader.shared);
  assert.deepEqual(reader.read(), []);
  assert.deepEqual(
    [LOG, NOW, RANDOM].map((did) => recorder.add(did)),
    [true, true, true],
  );
  assert.deepEqual(reader.read(), [LOG, NOW, RANDOM]);
  recorder.clear();
  assert.deepEqual(reader.read(), []);
});

test("a call that does not fit is refused, and earlier ones stay", () => {
  const reader = new CallRecorderReader();
  const recorder = new CallRecorder(reader.shared);
  assert.equal(recorder.add({ ...LOG, args: ["x".repeat(100_000)] }), false);
  let kept = 0;
  while (recorder.add(LOG)) kept += 1;
  assert.ok(kept > 500);
  assert.deepEqual(
    reader.read(),
    Array.from({ length: kept }, () => LOG),
  );
});
