import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as math from "@adobe/data/math";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { toJSONSchema } from "./index.ts";

const ajv = new Ajv2020({ strict: false });
const strict = new Ajv2020({ strict: true, strictTypes: false, strictTuples: false, strictRequired: false });

const isValid = (schema: unknown): void => {
  assert.ok(typeof schema === "object" && schema !== null);
  assert.ok(ajv.validateSchema(schema), JSON.stringify(ajv.errors));
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

/** Every `schema` below the library's math, by where it is. */
function mathSchemas(): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  const look = (value: unknown, path: string, depth: number): void => {
    if (!isRecord(value) || depth > 3) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "schema" || key === "layout") found.set(`${path}.${key}`, inner);
      else look(inner, `${path}.${key}`, depth + 1);
    }
  };
  look(math, "math", 0);
  return found;
}

describe("toJSONSchema", () => {
  it("makes strict 2020-12 of every schema of the library's math #agentic.schema", () => {
    const schemas = mathSchemas();
    assert.ok(schemas.size > 15, [...schemas.keys()].join());
    for (const [path, schema] of schemas) {
      const made = toJSONSchema(schema);
      isValid(made);
      assert.doesNotThrow(() => strict.compile(made), path);
      assert.doesNotMatch(JSON.stringify(made), /precision|layout|interpolators/, path);
    }
  });

  const quat = { type: "array", items: { type: "number", precision: 1 }, minItems: 4, maxItems: 4, default: [0, 0, 0, 1] };
  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ["layout", { type: "object", layout: "std140" }, { type: "object" }],
    ["precision", { type: "number", precision: 1 }, { type: "number" }],
    ["interpolators", { ...quat, interpolators: { linear: () => 1 } }, { ...quat, items: { type: "number" } }],
    ["conditionals", { type: "object", conditionals: [{ path: "$", value: {} }] }, { type: "object" }],
    ["mutable", { type: "array", mutable: true }, { type: "array" }],
    ["nonPersistent", { type: "string", nonPersistent: true }, { type: "string" }],
    ["nonShared", { type: "string", nonShared: true }, { type: "string" }],
    ["partition", { type: "string", partition: true }, { type: "string" }],
    ["entity", { type: "integer", entity: true }, { type: "integer" }],
    ["typed-buffer", { type: "typed-buffer", items: { type: "number", precision: 2 } }, { type: "array", items: { type: "number" } }],
    ["blob", { type: "blob", mediaType: "image/png" }, { type: "string", contentEncoding: "base64", contentMediaType: "image/png" }],
    ["mediaType", { type: "string", mediaType: "text/css" }, { type: "string", contentMediaType: "text/css" }],
    ["an empty enum", { type: "string", enum: [], not: { const: "a" } }, { type: "string", not: {} }],
    ["an unknown keyword", { type: "string", colour: "red" }, { type: "string" }],
    ["an unknown type", { type: "quaternion" }, {}],
    [
      "a tuple of older drafts",
      { items: [{ type: "string" }, true], additionalItems: false },
      { prefixItems: [{ type: "string" }, true], items: false },
    ],
    ["exclusive bounds of draft 4", { maximum: 3, exclusiveMaximum: true }, { maximum: 3, exclusiveMaximum: 3 }],
    ["required of draft 3", { type: "string", required: true }, { type: "string" }],
    ["values a keyword does not allow", { minLength: -1, maxItems: 1.5, multipleOf: 0, pattern: "(", anyOf: [], maximum: Number.NaN }, {}],
    ["a reference to elsewhere", { $ref: "https://example.org/schema", $id: "x", title: "T" }, { title: "T" }],
    [
      "a reference to nowhere",
      { items: { $ref: "#/$defs/x" }, not: { $ref: "#x" }, layout: {}, else: { $ref: "#/layout" } },
      { items: {}, not: {}, else: {} },
    ],
    [
      "a reference into a tuple of older drafts",
      {
        properties: {
          a: { items: [{ type: "null" }, { $ref: "#/properties/a/items/0" }], additionalItems: { $ref: "#/properties/a/additionalItems" } },
        },
      },
      {
        properties: {
          a: { prefixItems: [{ type: "null" }, { $ref: "#/properties/a/prefixItems/0" }], items: { $ref: "#/properties/a/items" } },
        },
      },
    ],
    [
      "a reference by an anchor, of which the first counts",
      { anyOf: [{ $ref: "#x" }, { $anchor: "x", type: "null" }, { $anchor: "x" }], const: { $ref: "#data" } },
      { anyOf: [{ $ref: "#x" }, { $anchor: "x", type: "null" }, {}], const: { $ref: "#data" } },
    ],
    [
      "a reference with escapes",
      { $defs: { "a/b c": {} }, $ref: "#/$defs/a~1b%20c" },
      { $defs: { "a/b c": {} }, $ref: "#/$defs/a~1b%20c" },
    ],
    ["a default that JSON has no word for", { default: () => 1, const: undefined }, {}],
    ["a boolean in place of a schema", { properties: { a: true, b: false } }, { properties: { a: true, b: false } }],
    ["no schema at all", false, {}],
  ];
  for (const [what, schema, made] of rows) {
    it(`${what} is mapped or removed #agentic.schema #agentic.gap.schema`, () => {
      assert.deepEqual(toJSONSchema(schema), made);
      isValid(toJSONSchema(schema));
    });
  }

  it("ends if a schema contains itself, however often #agentic.schema", () => {
    const tree: Record<string, unknown> = { type: "object" };
    tree["properties"] = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`child${i}`, tree]));
    const made = toJSONSchema(tree);
    isValid(made);
    assert.deepEqual(made["properties"], Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`child${i}`, {}])));
    let wide: object = { type: "string" };
    for (let depth = 0; depth < 40; depth += 1) wide = { anyOf: [wide, wide] };
    assert.ok(JSON.stringify(toJSONSchema(wide)).length < 1_000_000);
  });

  it("preserves a property called __proto__, and sets no prototype", () => {
    const made = toJSONSchema(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'));
    assert.equal(JSON.stringify(made), '{"properties":{"__proto__":{"type":"string"}}}');
  });

  it("makes a valid schema of any value #agentic.schema", () => {
    const words =
      "type items properties required enum const pattern minimum exclusiveMinimum minLength anyOf not $ref $defs definitions $anchor " +
      "patternProperties dependentRequired format title default uniqueItems layout precision mediaType additionalProperties prefixItems " +
      "if contains examples x";
    const keyword = fc.constantFrom(...words.split(" "));
    const { schema } = fc.letrec((tie) => ({
      schema: fc.dictionary(keyword, fc.oneof({ maxDepth: 4 }, fc.anything(), tie("schema"), fc.array(tie("schema"), { maxLength: 3 }))),
    }));
    fc.assert(
      fc.property(schema, (raw) => isValid(toJSONSchema(raw))),
      { numRuns: 150 },
    );
  });
});
