// Logic of the console's page without rendering: forms of schemas, conditions, differences, rows of a tree.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { differences } from "../../console/src/json-paths.ts";
import { rowsOf as whereRows, whereOf, whereText } from "../../console/src/pages/actors/where.ts";
import { matching, nodesIn, rowsOf } from "../../console/src/ui/json-tree/rows.ts";
import { check } from "../../console/src/ui/schema-form/check.ts";
import { firstValue, kindOf, optionsOf, resolve, variantOf, variantsOf } from "../../console/src/ui/schema-form/schema.ts";
import type { JsonObject } from "../../src/core/contract/index.ts";

describe("a form made from a schema", () => {
  const mail = {
    type: "object",
    properties: { by: { const: "mail" }, address: { type: "string", minLength: 1 } },
    required: ["by", "address"],
  };
  const phone = {
    title: "By phone",
    type: "object",
    properties: { by: { const: "phone" }, number: { type: "string" } },
    required: ["by", "number"],
  };
  const schema: JsonObject = {
    type: "object",
    properties: {
      title: { type: "string", minLength: 1 },
      severity: { type: "integer", minimum: 1, maximum: 3, default: 2 },
      area: { oneOf: [{ const: "n", title: "North" }, { const: "s" }] },
      contact: { oneOf: [mail, phone] },
      note: { type: ["string", "null"] },
      next: { $ref: "#" },
    },
    required: ["title", "contact"],
    additionalProperties: false,
  };

  test("has a field of the right kind for each member", () => {
    const kinds = Object.fromEntries(
      Object.entries(schema["properties"] ?? {}).map(([name, own]) => [name, kindOf(resolve(own, schema), 1)]),
    );
    assert.deepEqual(kinds, { title: "text", severity: "number", area: "choice", contact: "variants", note: "variants", next: "object" });
    assert.equal(kindOf(resolve({ $ref: "#" }, schema), 7), "json", "a schema within itself ends");
    assert.deepEqual(optionsOf({ oneOf: [{ const: "n", title: "North" }, { const: "s" }] }), [
      { value: "n", label: "North" },
      { value: "s", label: "s" },
    ]);
  });

  test("begins with defaults, constants and what is required", () => {
    assert.deepEqual(firstValue(schema, schema), { severity: 2, contact: { by: "mail" } });
  });

  test("finds the variant that a value looks like", () => {
    const variants = variantsOf({ oneOf: [mail, phone] }, {});
    assert.deepEqual(
      variants.map(({ label }) => label),
      ['by: "mail"'.replaceAll('"', ""), "By phone"],
    );
    assert.equal(variantOf(variants, { by: "phone" }), 1);
    assert.equal(variantOf(variants, { by: "mail", address: "a" }), 0);
  });

  test("reports errors at their paths, and only for the intended alternative", () => {
    assert.deepEqual(Object.fromEntries(check(schema, { severity: 9, contact: { by: "phone" } })), {
      "/title": "Required.",
      "/severity": "9 is greater than 3.",
      "/contact/number": "Required.",
    });
    assert.deepEqual(Object.fromEntries(check(schema, { title: "", contact: { by: "mail", address: "a" }, other: 1 })), {
      "/title": "It must not be empty.",
      "/other": "This member is not allowed here.",
    });
    assert.equal(check(schema, { title: "a", contact: { by: "mail", address: "a" } }).size, 0);
    assert.equal(check({ $ref: "https://other.example/schema" }, 1).size, 0, "what cannot be read is the server's to check");
  });
});

describe("conditions on an index", () => {
  test("round-trip through the address", () => {
    const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    const filter = fc.oneof(
      value,
      fc.record({ in: fc.array(value, { minLength: 1, maxLength: 4 }) }),
      fc.record({ gte: fc.integer(), lte: fc.integer() }),
      fc.record({ gte: fc.string() }),
      fc.record({ lte: fc.integer() }),
      fc.record({ prefix: fc.string() }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), filter, { maxKeys: 5, noNullPrototype: true }), (where) => {
        const text = JSON.stringify(where);
        assert.deepEqual(whereOf(whereRows(text)), JSON.parse(text));
      }),
    );
  });

  test("are left out until they are filled in", () => {
    const row = { field: "severity", condition: "is", value: " " } as const;
    assert.equal(whereText([row]), "");
    assert.equal(whereText([{ ...row, condition: "between", value: "1" }]), "");
    assert.deepEqual(whereOf([{ ...row, condition: "in", value: '1, "2", open' }]), { severity: { in: [1, "2", "open"] } });
    assert.deepEqual(whereRows("{"), []);
  });
});

describe("a tree of JSON", () => {
  const state = {
    title: "No lights",
    comments: [
      { by: "sam", text: "a" },
      { by: "rita", text: "b" },
    ],
    "a/b": { "~": 1 },
  };

  test("has a row for each value that is visible", () => {
    const rows = rowsOf(state, { isOpen: (_, depth) => depth < 2, most: () => 1 });
    assert.deepEqual(
      rows.map(({ path }) => path),
      ["", "/title", " more"],
    );
    const all = rowsOf(state, { isOpen: () => true, most: () => 100 });
    assert.equal(all.length, nodesIn(state, 1_000));
    assert.ok(all.some(({ path }) => path === "/a~1b/~0"));
    assert.equal(nodesIn(state, 3), 3);
  });

  test("shows where a search matches, and all of what matches by its name", () => {
    const rows = rowsOf(state, { isOpen: () => true, most: () => 100, only: matching(state, "RITA") });
    assert.deepEqual(
      rows.map(({ path }) => path),
      ["", "/comments", "/comments/1", "/comments/1/by"],
    );
    assert.deepEqual(rowsOf(state, { isOpen: () => true, most: () => 100, only: matching(state, "nothing like it") }), []);
  });

  test("differs from another exactly where a member does", () => {
    assert.deepEqual(differences(state, { ...state, title: "No water", more: null }), [
      { path: "/title", before: "No lights", after: "No water" },
      { path: "/more", after: null },
    ]);
    assert.deepEqual(differences(state, structuredClone(state)), []);
    assert.equal(differences([1, 2, 3], [4, 5, 6], 2).length, 2);
    assert.deepEqual(differences({ a: [] }, { a: {} }), [{ path: "/a", before: [], after: {} }]);
  });
});
