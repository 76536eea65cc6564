import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LineReader } from "./peer-stream.ts";

const read = (bytes: Uint8Array, cuts: readonly number[], max: number): readonly (string | boolean)[] => {
  const reader = new LineReader();
  const found: (string | boolean)[] = [];
  let start = 0;
  for (const cut of [...cuts.map((at) => at % (bytes.length + 1)).toSorted((one, other) => one - other), bytes.length]) {
    const chunk = bytes.slice(start, cut);
    start = cut;
    if (
      !reader.push(
        chunk,
        () => max,
        (line) => found.push(Buffer.from(line).toString("latin1")),
      )
    ) {
      found.push(false);
      break;
    }
  }
  return found;
};

test("lines are the same however their bytes are split", () => {
  const bytes = fc.array(fc.constantFrom(10, 65, 66, 200), { maxLength: 200 }).map((list) => Uint8Array.from(list));
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(200), { maxLength: 20 }), fc.integer({ min: 1, max: 12 }), (text, cuts, max) => {
      const whole = Buffer.from(text).toString("latin1").split("\n");
      const rest = whole.pop() ?? "";
      const tooLong = whole.findIndex((line) => line.length > max);
      const expected: readonly (string | boolean)[] =
        tooLong >= 0 ? [...whole.slice(0, tooLong), false] : rest.length > max ? [...whole, false] : whole;
      assert.deepEqual(read(text, cuts, max), expected);
    }),
  );
});

test("a line that arrives byte by byte is complete, and a stopped reader reads nothing", () => {
  const text = `${"x".repeat(5_000)}\nlast\n`;
  const bytes = Buffer.from(text);
  assert.deepEqual(read(bytes, Array.from(bytes.keys()), 5_000), ["x".repeat(5_000), "last"]);
  const reader = new LineReader();
  const lines: number[] = [];
  reader.push(
    bytes,
    () => 5_000,
    (line) => {
      lines.push(line.length);
      reader.stop();
    },
  );
  reader.push(
    bytes,
    () => 5_000,
    (line) => lines.push(line.length),
  );
  assert.deepEqual(lines, [5_000]);
});
