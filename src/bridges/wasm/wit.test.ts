import assert from "node:assert/strict";
import { test } from "node:test";
import { EXPORTS, IMPORTS } from "./component/world.ts";
import { simpleShape, printFunction, type TypeShape, shapeOf, signatureOf } from "./wit.ts";

void test("types are printed as in WIT", () => {
  const printed = [
    ["u64", shapeOf("u64")],
    ["list<tuple<string, string>>", shapeOf({ list: { tuple: ["string", "string"] } })],
    ["result", shapeOf({ result: {} })],
    ["result<_, string>", shapeOf({ result: { err: "string" } })],
    ["result<bool>", shapeOf({ result: { ok: "bool" } })],
    [
      "record { accepted: bool, message: option<list<u8>> }",
      shapeOf({ record: { accepted: "bool", message: { option: { list: "u8" } } } }),
    ],
    ["enum { a, b }", shapeOf({ enum: ["a", "b"] })],
    ["variant { none, some(s32) }", shapeOf({ variant: { none: null, some: "s32" } })],
    ["own<resource>", simpleShape("own<resource>")],
  ] as const;
  for (const [text, shape] of printed) assert.equal(printFunction({ params: [], result: shape }), `func() -> ${text}`);
  assert.equal(printFunction(signatureOf(IMPORTS.runtime.log)), "func(msg: string)");
  assert.equal(printFunction(signatureOf(IMPORTS.timing.now)), "func() -> u64");
  assert.equal(
    printFunction(signatureOf(EXPORTS["message-server-client"]["handle-request"])),
    "func(state: option<list<u8>>, params: tuple<string, list<u8>>) -> result<tuple<option<list<u8>>, tuple<option<list<u8>>>>, string>",
  );
});

void test("every function of Theater's world is printed completely", () => {
  for (const functions of [...Object.values(IMPORTS), ...Object.values(EXPORTS)])
    for (const type of Object.values(functions)) assert.doesNotMatch(printFunction(signatureOf(type)), /…/);
});

void test("a very long type is truncated", () => {
  let shape: TypeShape = simpleShape("u8");
  for (let depth = 0; depth < 100_000; depth += 1)
    shape = {
      form: depth % 2 === 0 ? "tuple" : "option",
      parts: [
        ["", shape],
        ["", shape],
      ],
    };
  assert.match(printFunction({ params: [], result: shape }), /^func\(\) -> option<tuple<.{900,}…$/);
});
