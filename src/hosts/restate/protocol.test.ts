import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { begunBy, frame, opening, describeFrame } from "./direct.fixture.ts";
import { END_FRAME, readInvocation, outputFrame, setFrame } from "./protocol.ts";

const text = fc.string({ unit: "grapheme", maxLength: 300 });
const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });

describe("the server's protocol", () => {
  test("an invocation's start is read as it was written, and not before it is complete", () => {
    fc.assert(
      fc.property(
        fc.record({
          key: text,
          state: fc.dictionary(name, text, { maxKeys: 5 }),
          input: text,
          output: text,
          set: name,
          cut: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        }),
        ({ key, state, input, output, set, cut }) => {
          const journal = [outputFrame(output), setFrame(set, input), frame(0xfbff, []), frame(0x407, [[1, "actor"]])];
          const bytes = opening({ key, state: new Map(Object.entries(state)), input, journal });
          const found = begunBy(bytes);
          assert.equal(found.key, key);
          assert.deepEqual(Object.fromEntries([...(found.state ?? [])].map(([one, value]) => [one, String(value)])), { ...state });
          assert.equal(String(found.input), JSON.stringify(input));
          assert.deepEqual(
            found.journal.map((command) => ({ ...command, output: command.output && String(command.output) })),
            [{ output }, { set, output: undefined }, { output: undefined }],
          );
          const some = Math.floor(bytes.length * cut);
          const least = readInvocation(bytes.subarray(0, some));
          assert.ok(typeof least === "number" && least > some && least <= bytes.length);
        },
      ),
      { seed: 1, numRuns: 200 },
    );
  });

  test("written frames are what others read", () => {
    fc.assert(
      fc.property(
        name.filter((one) => !/\s/.test(one)),
        fc.string({ unit: "grapheme", maxLength: 40_000 }),
        (key, value) => {
          assert.equal(describeFrame(setFrame(key, value)), `set ${key} ${value}`);
          assert.equal(describeFrame(outputFrame(value)), `output ${value}`);
        },
      ),
      { seed: 2, numRuns: 100 },
    );
    for (const length of [0, 1, 127, 128, 16_380, 16_384, 2_097_152])
      assert.equal(describeFrame(outputFrame("x".repeat(length))).length, 7 + length);
    assert.equal(describeFrame(END_FRAME), "end");
  });

  test("partial state is no state", () => {
    const begun = { key: "k", state: new Map([["actor", "text"]]), input: null };
    assert.equal(begunBy(opening({ ...begun, partial: true })).state, undefined);
    assert.equal(begunBy(opening(begun)).state?.size, 1);
  });

  test("anything else is refused, and numbers that do not end", () => {
    assert.throws(() => readInvocation(frame(0x400, [])), RangeError);
    for (const bytes of [10, 150, 5_000]) {
      const endless = Buffer.from([0x22, ...Array.from({ length: bytes }, () => 0x80), 0x00]);
      const head = Buffer.alloc(8);
      head.writeUInt32BE(endless.length, 4);
      assert.throws(() => readInvocation(Buffer.concat([head, endless])), RangeError);
    }
    const whole = opening({ key: "k", state: new Map([["actor", "text"]]), input: null });
    for (let at = 8; at < whole.length; at += 1)
      for (const byte of [0xff, 0x0b, 0x7f]) {
        const changed = Buffer.from(whole);
        changed[at] = byte;
        try {
          readInvocation(changed);
        } catch (error) {
          assert.ok(error instanceof RangeError, `${at} ${String(error)}`);
        }
      }
  });
});
