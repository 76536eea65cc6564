import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { JsonObject } from "../contract/index.ts";
import { checkSchema, compilerFor, toJsonSchema } from "./index.ts";

const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
const DRAFT_4 = "http://json-schema.org/draft-04/schema#";
const TUPLE: JsonObject = { type: "array", items: [{ type: "string" }, { type: "number" }] };

const compiles = (schema: JsonObject): boolean => {
  try {
    compilerFor(schema).compile(schema);
    return true;
  } catch {
    return false;
  }
};

const whole: readonly JsonObject[] = [
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
  { ...TUPLE, $schema: "https://json-schema.org/draft/2019-09/schema", additionalItems: false },
  { ...TUPLE, $schema: "http://json-schema.org/draft-06/schema#" },
  { ...TUPLE, $schema: "http://json-schema.org/draft-05/schema#" },
  { ...TUPLE, $schema: DRAFT_4 },
  { $schema: DRAFT_4, id: "http://example.com/a", minimum: 0, exclusiveMinimum: true, properties: { id: { type: "string" } } },
  { $schema: DRAFT_4, definitions: { n: { id: "#n", type: "number" } }, properties: { n: { $ref: "#n" } } },
  { $schema: DRAFT_7, dependencies: { a: ["b"], b: { required: ["c"] } } },
  { type: "object", id: "no keyword any more" },
  { $schema: DRAFT_7, definitions: { n: { $id: "#n", $ref: "#/definitions/m" }, m: {} }, properties: { n: { $ref: "#n" } } },
];

const broken: readonly JsonObject[] = [
  { type: "strin" },
  { type: [] },
  { required: "a" },
  { enum: "a" },
  { enum: [] },
  { properties: { a: null } },
  { properties: { a: "string" } },
  { pattern: "(" },
  { properties: { a: { $ref: "#/$defs/none" } } },
  { $ref: "https://example.com/elsewhere" },
  { properties: { a: TUPLE } },
  { anyOf: [] },
  { maxLength: "9" },
  { $schema: "https://json-schema.org/draft/2020-12/schema", properties: { a: TUPLE } },
  { minimum: 0, exclusiveMinimum: true },
  { $schema: DRAFT_4, exclusiveMinimum: 0 },
  { $schema: DRAFT_4, properties: { id: {}, a: { $ref: "http://example.com/elsewhere" } } },
  { $schema: DRAFT_7, items: [{}], additionalItems: { type: "strin" } },
  { $schema: DRAFT_7, dependencies: { a: "b" } },
  { $recursiveRef: 1 },
];

test("checkSchema accepts exactly what can be compiled, in the named dialect", () => {
  for (const schema of whole) {
    checkSchema(schema, "It");
    assert.ok(compiles(schema), JSON.stringify(schema));
  }
  for (const schema of broken) {
    assert.throws(() => checkSchema(schema, "It"), { code: "BAD_DEFINITION", message: /^It is no JSON Schema that can be compiled: / });
  }
});

const valid = (schema: JsonObject, ...values: readonly unknown[]): readonly unknown[] => {
  checkSchema(schema, "It");
  const check = compilerFor(schema).compile(schema);
  return values.map((value) => check(value));
};

test("values are checked in the dialect that a schema names", () => {
  const drafts = [4, 5, 6, 7].map((draft) => `http://json-schema.org/draft-0${draft}/schema#`);
  for (const $schema of [...drafts, "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-04/schema"]) {
    assert.deepEqual(valid({ ...TUPLE, $schema }, ["a", 1], [1, "a"], ["a", 1, {}]), [true, false, true], $schema);
    assert.deepEqual(valid({ ...TUPLE, $schema, additionalItems: false }, ["a", 1], ["a", 1, {}]), [true, false], $schema);
  }
  for (const $schema of drafts.slice(2))
    assert.deepEqual(valid({ $schema, exclusiveMinimum: 0, exclusiveMaximum: 2 }, 0, 1, 2), [false, true, false], $schema);
});

test("inherited properties are not properties of a value", () => {
  for (const $schema of [
    DRAFT_4,
    DRAFT_7,
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
  ]) {
    const optional = { $schema, properties: { constructor: { type: "number" }, toString: false } };
    assert.deepEqual(valid(optional, {}, { constructor: 1 }, { constructor: "1" }, { toString: 1 }), [true, true, false, false], $schema);
    assert.deepEqual(valid({ $schema, required: ["constructor"] }, {}, { constructor: 1 }), [false, true], $schema);
  }
  assert.deepEqual(valid({ dependentRequired: { valueOf: ["a"] } }, {}, { valueOf: 1 }), [true, false]);
});

test("draft 4 has flags for exclusive limits, and `id`", () => {
  for (const $schema of [DRAFT_4, "http://json-schema.org/draft-05/schema#"]) {
    const open = { $schema, minimum: 0, exclusiveMinimum: true, maximum: 2, exclusiveMaximum: true };
    assert.deepEqual(valid(open, 0, 1, 2), [false, true, false]);
    assert.deepEqual(valid({ ...open, exclusiveMinimum: false, exclusiveMaximum: false }, -1, 0, 2, 3), [false, true, true, false]);
    const named = { $schema, definitions: { n: { id: "#n", type: "number" } }, properties: { id: { $ref: "#n" } } };
    assert.deepEqual(valid(named, { id: 1 }, { id: "1" }), [true, false]);
  }
  const check = compilerFor({ $schema: DRAFT_4 }).compile({ minimum: 0, exclusiveMinimum: true });
  assert.equal(check(0), false);
  assert.deepEqual(
    check.errors?.map(({ keyword, message }) => [keyword, message]),
    [["minimum", "must be > 0"]],
  );
});

test("a recursive reference of 2019-09 resolves to the outermost schema", () => {
  const $schema = "https://json-schema.org/draft/2019-09/schema";
  const tree = {
    $id: "https://example.com/tree",
    $recursiveAnchor: true,
    type: "object",
    properties: { children: { type: "array", items: { $recursiveRef: "#" } } },
  };
  const strict = {
    $schema,
    $id: "https://example.com/strict",
    $recursiveAnchor: true,
    $ref: "https://example.com/tree",
    unevaluatedProperties: false,
    $defs: { tree },
  };
  assert.deepEqual(valid({ $schema, ...tree }, { children: [{ any: 1 }] }, { children: [1] }), [true, false]);
  assert.deepEqual(valid(strict, { children: [{ children: [] }] }, { children: [{ any: 1 }] }), [true, false]);
});

test("a pattern that is invalid under the flag u is refused with a correction", () => {
  const because = { code: "BAD_DEFINITION", message: /\/pattern is a regular expression without the flag u only/ };
  for (const pattern of ["^[\\w-.]+$", "^a\\_b$", "a{", "\\Z", "[\\w-a]"]) {
    assert.throws(() => checkSchema({ properties: { a: { pattern } } }, "It"), because, pattern);
    assert.throws(() => toJsonSchema(z.object({ a: z.string().regex(new RegExp(pattern)) }), "input", "It"), because, pattern);
  }
  assert.throws(() => checkSchema({ pattern: "(?i)a" }, "It"), { message: /\/pattern is no regular expression of JavaScript.*\(\?i:…\)/ });
  assert.throws(() => checkSchema({ patternProperties: { "\\_": {} } }, "It"), { message: /patternProperties\/\\_ is a regular/ });
  for (const pattern of ["^[\\w\\-.]+$", "^a_b$", "(?i:a)", "\\p{L}"]) checkSchema({ pattern }, "It");
});

test("the formats of zod have patterns that can be compiled", () => {
  for (const schema of [
    z.email(),
    z.uuid(),
    z.url(),
    z.base64(),
    z.ipv4(),
    z.ipv6(),
    z.cidrv6(),
    z.iso.datetime(),
    z.e164(),
    z.emoji(),
    z.jwt(),
  ])
    assert.ok(compiles(toJsonSchema(schema, "input", "It")));
});

const library = (written: JsonObject) => ({
  "~standard": {
    version: 1 as const,
    vendor: "library",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => written, output: () => written },
  },
});

test("a library's reference at the root is inlined, and a recursive one stays defined", () => {
  const named = z.object({ a: z.string() }).meta({ id: "Named" });
  assert.deepEqual(toJsonSchema(named, "input", "It"), { type: "object", properties: { a: { type: "string" } }, required: ["a"] });
  const tree = { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/Tree" } } } };
  const recurring = { $ref: "#/$defs/Tree", description: "Mine.", $defs: { Tree: { ...tree, description: "A tree." }, Leaf: {} } };
  const { $ref: _, ...rest } = recurring;
  assert.deepEqual(toJsonSchema(library(recurring), "input", "It"), { ...tree, ...rest });
  assert.ok(compiles(toJsonSchema(library(recurring), "input", "It")));
});

test("a reference is not inlined where that would change its meaning", () => {
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

test("a library's dialect is named unless it is 2020-12", () => {
  assert.deepEqual(toJsonSchema(library({ ...TUPLE, $schema: DRAFT_7 }), "input", "It"), { $schema: DRAFT_7, ...TUPLE });
  assert.deepEqual(toJsonSchema(z.string(), "input", "It"), { type: "string" });
});
