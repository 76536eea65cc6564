import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { decodeBase64, encodeBase64, InvalidArgument } from "./arguments.ts";

describe("base64 of a message", () => {
  test("round-trips every array of bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) =>
        assert.deepEqual([...decodeBase64("data", encodeBase64(bytes), 64)], [...bytes]),
      ),
    );
  });

  test("accepts only canonical text, and reports what to send instead #theater.face.base64", () => {
    for (const [text, says] of [
      ["a", /its length, 1, is no multiple of four/],
      ["eyJ9", undefined],
      ["e30", /multiple of four/],
      ["e30=", undefined],
      ["e31=", /bits that belong to no byte/],
      ["ab-_", /"-" at 2 \(that is base64url/],
      ["ab cd===", /" " at 2/],
      ["ab\ncd==", /"\\n" at 2/],
      ["====", /"=" at 0/],
      ["ab=c", /"=" at 2/],
      ['{"n":1}', /"{" at 0/],
      ["😀aa", /at 0/],
    ] as const) {
      if (says === undefined) decodeBase64("data", text, 64);
      else
        assert.throws(
          () => decodeBase64("data", text, 64),
          (error) => error instanceof InvalidArgument && says.test(error.message) && error.message.includes("`data` is not base64"),
          text,
        );
    }
  });

  test("is bounded before it is decoded", () => {
    assert.equal(decodeBase64("data", "AAAA", 3).length, 3);
    assert.throws(() => decodeBase64("data", "AAAAAAAA", 3), /longer than 3 bytes/);
    assert.throws(() => decodeBase64("data", "AAAA", 2), /longer than 2 bytes/);
  });

  test("accepts a text only if it is the encoding of its bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from("AQgw+/=-_ \n")), maxLength: 12 }), (text) => {
        try {
          assert.equal(encodeBase64(decodeBase64("data", text, 64)), text);
        } catch (error) {
          assert.ok(error instanceof InvalidArgument, String(error));
        }
      }),
    );
  });
});
