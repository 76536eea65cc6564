import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Bag } from "../contract/index.ts";
import { checkSchema, compilerFor, toJsonSchema } from "./index.ts";

const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
const TUPLE: Bag = { type: "array", items: [{ type: "string" }, { type: "number" }] };

const compiles = (schema: Bag): boolean => {
  try {
    compilerFor(schema).compile(schema);
    return true;
  } catch {
    return false;
  }
};

const whole: readonly Bag[] = [
  {},
  { const: null },
  { ...TUPLE, $schema: DRAFT_7 },
  { type: "array", prefixItems: [true, { type: "string" }] },
  { $schema: "https://json-schema.org/draft/2020-12/schema", type: ["string", "null"], pattern: "^a", "x-own": 1 },
  { $defs: { "a/b": { type: "object" } }, properties: { a: { $ref: "#/$defs/a~1b" }, self: { $ref: "#" } } },
  { $defs: { n: { $anchor: "n", type: "number" } }, properties: { n: { $ref: "#n" } } },
  {
    $id: "https://example.com/a",
    $defs: { n: { $id: "https://example.com/n", properties: { a: { $ref: "#/$defs/deep" } }, $defs: { deep: {} } } },
    properties: { n: { $ref: "https://example.com/n" } },
  },
  { $schema: DRAFT_7, definitions: { n: { $id: "#n", $ref: "#/definitions/m" }, m: {} }, properties: { n: { $ref: "#n" } } },
];

const broken: readonly Bag[] = [
  { type: "strin" },
  { type: [] },
  { required: "a" },
  { enum: "a" },
  { properties: { a: null } },
  { properties: { a: "string" } },
  { pattern: "(" },
  { properties: { a: { $ref: "#/$defs/none" } } },
  { $ref: "https://example.com/elsewhere" },
  { properties: { a: TUPLE } },
  { anyOf: [] },
  { maxLength: "9" },
];

test("the walk through a schema takes what can be compiled, in the dialect it names, and refuses what cannot", () => {
  for (const schema of whole) {
    checkSchema(schema, "It");
    assert.ok(compiles(schema), JSON.stringify(schema));
  }
  for (const schema of broken) {
    assert.throws(() => checkSchema(schema, "It"), { code: "BAD_DEFINITION", message: /^It is no JSON Schema that can be compiled: / });
  }
});

test("values are checked in the dialect that a schema names", () => {
  const fits = compilerFor({ ...TUPLE, $schema: DRAFT_7 }).compile({ ...TUPLE, $schema: DRAFT_7 });
  assert.deepEqual([fits(["a", 1]), fits([1, "a"])], [true, false]);
});

const library = (written: Bag) => ({
  "~standard": {
    version: 1 as const,
    vendor: "library",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => written, output: () => written },
  },
});

test("what a library puts behind a reference is at the root, and stays a definition where it recurs", () => {
  const named = z.object({ a: z.string() }).meta({ id: "Named" });
  assert.deepEqual(toJsonSchema(named, "input", "It"), { type: "object", properties: { a: { type: "string" } }, required: ["a"] });
  const tree = { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/Tree" } } } };
  const recurring = { $ref: "#/$defs/Tree", description: "Mine.", $defs: { Tree: { ...tree, description: "A tree." }, Leaf: {} } };
  const { $ref: _, ...rest } = recurring;
  assert.deepEqual(toJsonSchema(library(recurring), "input", "It"), { ...tree, ...rest });
  assert.ok(compiles(toJsonSchema(library(recurring), "input", "It")));
});

test("a reference stays where its meaning hangs on its place", () => {
  for (const written of [
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: {} } },
    { $ref: "#/$defs/a", $defs: { a: { $id: "https://example.com/a" } } },
    { $ref: "#/$defs/a", minProperties: 1, $defs: { a: { minProperties: 2 } } },
    { $ref: "#/$defs/a~1b", $defs: { "a/b": {} } },
    { $ref: "#", $defs: {} },
    { $schema: DRAFT_7, $ref: "#/$defs/a", $defs: { a: {} } },
  ])
    assert.deepEqual(toJsonSchema(library(written), "input", "It"), written);
});

test("a dialect that a library writes is said, unless it is the one that is assumed", () => {
  assert.deepEqual(toJsonSchema(library({ ...TUPLE, $schema: DRAFT_7 }), "input", "It"), { $schema: DRAFT_7, ...TUPLE });
  assert.deepEqual(toJsonSchema(z.string(), "input", "It"), { type: "string" });
});
