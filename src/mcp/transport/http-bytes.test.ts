import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { queryObjects } from "node:v8";
import * as fc from "fast-check";
import { ChunkBuffer } from "./http-bytes.ts";

describe("a chunk buffer", () => {
  test("has the same bytes, however they were split", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 1_200 }), (bytes, cuts) => {
        const pieces = new ChunkBuffer();
        let at = 0;
        for (const length of cuts) {
          pieces.push(bytes.subarray(at, at + length));
          at += length;
        }
        pieces.push(bytes.subarray(at));
        assert.equal(pieces.size, bytes.byteLength);
        assert.deepEqual(pieces.whole(), new Uint8Array(bytes));
      }),
    );
  });

  test("has few objects, even for single bytes", () => {
    const pieces = new ChunkBuffer();
    const before = queryObjects(Uint8Array, { format: "count" });
    for (let n = 0; n < 100_000; n += 1) pieces.push(Uint8Array.of(n & 255));
    assert.ok(queryObjects(Uint8Array, { format: "count" }) - before < 1_000);
    assert.equal(pieces.whole()[255], 255);
  });
});
