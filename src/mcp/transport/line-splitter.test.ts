import assert from "node:assert/strict";
import { it } from "node:test";
import * as fc from "fast-check";
import { textOf } from "../../../test/transport/fake-gateway.ts";
import { type Line, LineSplitter } from "./line-splitter.ts";

function split(maxBytes: number, chunks: readonly Uint8Array[]): { lines: string[]; tooLong: number } {
  const seen = { lines: [] as string[], tooLong: 0 };
  const splitter = new LineSplitter(
    () => maxBytes,
    (line) => void seen.lines.push(textOf(line)),
    () => (seen.tooLong += 1),
  );
  for (const chunk of chunks) splitter.push(chunk);
  splitter.finish();
  return seen;
}

it("lines come out as they went in, however the bytes are cut", () => {
  const line = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).map((text) => text.replace(/[\r\n]/g, "x"));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.integer({ min: 1, max: 9 })), fc.boolean(), (lines, cuts, returns) => {
      const bytes = Buffer.from(lines.map((one) => `${one}${returns ? "\r" : ""}\n`).join(""));
      const chunks: Uint8Array[] = [];
      let start = 0;
      for (const cut of [...cuts, bytes.length]) {
        chunks.push(bytes.subarray(start, start + cut));
        start += cut;
      }
      assert.deepEqual(split(1_000, chunks), { lines, tooLong: 0 });
    }),
  );
});

it("empty lines are no messages, and the last line needs no end", () => {
  assert.deepEqual(split(100, [Buffer.from("\n\r\n\na\n\n"), Buffer.from("b")]), { lines: ["a", "b"], tooLong: 0 });
});

it("a line that is too long is thrown away up to its end, once, whole or in pieces", () => {
  assert.deepEqual(split(3, [Buffer.from("abcd\nok\n")]), { lines: ["ok"], tooLong: 1 });
  assert.deepEqual(split(3, [Buffer.from("ab"), Buffer.from("cd"), Buffer.from("efgh"), Buffer.from("i\nok\nabc\n")]), {
    lines: ["ok", "abc"],
    tooLong: 1,
  });
  assert.deepEqual(split(3, [Buffer.from("abcdef")]), { lines: [], tooLong: 1 });
});

it("a line in a million pieces costs as many steps, not their square", () => {
  const size = 1_000_000;
  const chunks = Array.from({ length: size }, () => Buffer.from("x"));
  const { lines } = split(size, [...chunks, Buffer.from("\n")]);
  assert.equal(lines[0]?.length, size);
});

it("nothing comes out after it was stopped, not even from the chunk at hand", () => {
  const lines: string[] = [];
  const splitter = new LineSplitter(
    () => 100,
    (line) => {
      lines.push(textOf(line));
      splitter.stop();
    },
    () => {},
  );
  splitter.push(Buffer.from("a\nb\nc"));
  splitter.finish();
  assert.deepEqual(lines, ["a"]);
});

it("lines of ASCII come as text, and only these: what is no UTF-8 is seen by whoever reads it", () => {
  const lines: Line[] = [];
  const splitter = new LineSplitter(
    () => 100,
    (line) => void lines.push(line),
    () => {},
  );
  splitter.push(Buffer.from("a\nb\r\n\r\n"));
  splitter.push(Buffer.from([0xff, 10]));
  assert.deepEqual(lines, ["a", "b", Buffer.from([0xff])]);
});
