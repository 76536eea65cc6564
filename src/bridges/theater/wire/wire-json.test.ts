import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { toJson } from "./fields.ts";
import { type Printable, printJson, printPieces, readWireJson, WireError } from "./wire-json.ts";

const LIMITS = { depth: 32, values: 10_000, members: 1_000 };
const read = (text: string | Uint8Array, limits = LIMITS) => readWireJson(typeof text === "string" ? Buffer.from(text) : text, limits);
const refused = (text: string | Uint8Array, words: RegExp, limits = LIMITS): void => {
  assert.throws(
    () => read(text, limits),
    (error) => error instanceof WireError && words.test(error.message),
    String(text).slice(0, 60),
  );
};

void test("reads what JSON.parse reads", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, "\t \r"), (text, indent) => {
      const spaced = JSON.stringify(JSON.parse(text), undefined, indent);
      assert.equal(JSON.stringify(toJson(read(spaced))), JSON.stringify(JSON.parse(text)));
    }),
  );
});

void test("refuses what JSON.parse refuses", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from('[]{},:"\\0123-.eE tnulrsfax\n\u00e9')) }), (text) => {
      const parsed = (() => {
        try {
          return [JSON.stringify(JSON.parse(text))];
        } catch {
          return [];
        }
      })();
      const got = (() => {
        try {
          return [JSON.stringify(toJson(read(text)))];
        } catch (error) {
          assert.ok(error instanceof WireError);
          return [];
        }
      })();
      assert.deepEqual(got, parsed);
    }),
    { numRuns: 2_000 },
  );
});

void test("bytes are printed as numbers and read as bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      const text = printJson(bytes, 10_000).toString();
      assert.equal(text, JSON.stringify(Array.from(bytes)));
      assert.deepEqual(read(text), bytes);
      assert.deepEqual(read(JSON.stringify(Array.from(bytes), undefined, 2)), bytes);
    }),
  );
});

void test("numbers that are not bytes make a list of numbers", () => {
  for (const text of ["[256]", "[1,-1]", "[0.5]", "[1e2,1]", "[1000000000000]"]) assert.deepEqual(read(text), JSON.parse(text));
  for (const text of ["[01]", "[1,]", "[,1]", "[1 2]", "[1,,2]", "[ ,]", "[007]"]) refused(text, /not JSON/);
});

void test("prints the text of JSON.stringify and omits undefined fields", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const plain: ReturnType<typeof toJson> = JSON.parse(JSON.stringify(value));
      assert.equal(printJson(plain, 1_000_000).toString(), JSON.stringify(plain));
    }),
  );
  assert.equal(printJson({ a: undefined, b: 1, c: undefined }, 100).toString(), '{"b":1}');
  assert.equal(printJson({ a: undefined }, 100).toString(), "{}");
  assert.throws(() => printJson({ a: Buffer.alloc(100) }, 100), /longer than the 100 bytes/);
});

void test("hostile texts are refused for depth, number of values or bytes", () => {
  refused("[".repeat(1_000_000), /32 deep/);
  refused('{"a":'.repeat(40), /32 deep/);
  refused(`[${"[1,2],".repeat(20_000)}"x"]`, /more values/);
  refused(`[${"{},".repeat(20_000)}1]`, /more values/);
  refused(`{${Array.from({ length: 1_001 }, (_, n) => `"k${n}":0`).join(",")}}`, /may have 1000 members/);
  refused(`{${'"":0,'.repeat(1_000)}"":0}`, /may have 1000 members/);
  refused(Uint8Array.of(34, 0xff, 34), /UTF-8/);
  refused(`"${"\\".repeat(100_001)}"`, /not JSON/);
  refused("1".repeat(100), /not JSON/);
  refused("", /not JSON/);
  assert.deepEqual(read(`[${"1,".repeat(200_000)}1]`, { depth: 2, values: 2, members: 2 }), new Uint8Array(200_001).fill(1));
});

void test("half a character is refused, since it can be no part of a URI", () => {
  for (const text of ['"\\ud800"', '{"\\udc00":1}', '["a","\\ud800x"]']) refused(text, /half a character/);
  assert.equal(read('"\\ud83d\\ude00"'), "😀");
});

void test("any name is safe as a key", () => {
  const value = read('{"__proto__":{"polluted":true},"constructor":"x"}');
  assert.ok(value instanceof Map);
  assert.deepEqual(Array.from(value.keys()), ["__proto__", "constructor"]);
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
});

void test("text printed in pieces has the same bytes, and no piece is long", () => {
  const bytes = (length: number): Uint8Array => new Uint8Array(length).map((_, at) => at % 256);
  for (const length of [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000]) {
    const value: Printable = { before: [1, "two"], bytes: bytes(length), after: [bytes(3), null] };
    const pieces: Buffer[] = [];
    printPieces(value, (piece) => void pieces.push(piece));
    const text = JSON.stringify({ before: [1, "two"], bytes: Array.from(bytes(length)), after: [[0, 1, 2], null] });
    assert.equal(Buffer.concat(pieces).toString(), text);
    assert.deepEqual(printJson(value, 2 ** 31), Buffer.from(text));
    assert.ok(pieces.every((piece) => piece.length <= 4 * 65_536 + 1));
  }
});
