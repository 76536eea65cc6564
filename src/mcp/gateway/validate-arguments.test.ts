import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, Offer } from "../../core/contract/index.ts";
import { validateArguments, hintUnknownNames } from "./offer-kinds.ts";

const taking = (inputSchema: JsonObject): Offer => ({
  name: "it",
  action: "it",
  readOnly: false,
  definition: { name: "it", inputSchema },
});

describe("a tool's arguments", () => {
  const node = {
    type: "object",
    properties: { name: { type: "string" }, kids: { type: "array", items: { $ref: "#" } } },
    required: ["name"],
  };

  for (const [dialect, schema] of [
    ["2020-12", node],
    ["draft-07", { ...node, $schema: "http://json-schema.org/draft-07/schema#" }],
  ] as const)
    test(`match a schema that refers to itself, in ${dialect}`, () => {
      const offer = taking(schema);
      assert.equal(validateArguments(offer, { name: "a", kids: [{ name: "b", kids: [] }] }), undefined);
      assert.match(validateArguments(offer, { name: "a", kids: [{ name: "b", kids: [{}] }] })?.message ?? "", /kids\.0\.kids\.0 .*'name'/);
    });

  test("cannot be checked by a schema that leads back to itself at once, and name the reason", () => {
    const message = "The input schema of this tool cannot be used (it refers to itself without end); its author has to correct it.";
    assert.deepEqual(validateArguments(taking({ type: "object", $ref: "#" }), {}), { message });
  });

  test("are checked against their own tool's schema, even if two share an `$id`", () => {
    const [text, number] = ["string", "number"].map((type) =>
      taking({ $id: "https://example.com/one", type: "object", properties: { it: { type } } }),
    );
    assert.ok(text !== undefined && number !== undefined);
    assert.equal(validateArguments(text, { it: "a" }), undefined);
    assert.equal(validateArguments(number, { it: 1 }), undefined);
    assert.match(validateArguments(number, { it: "a" })?.message ?? "", /it must be number/);
  });

  test("that are invalid are reported in a sentence, and each with its path", () => {
    const properties = { size: { enum: ["s", "m"] }, at: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } };
    const complaint = validateArguments(taking({ type: "object", properties, required: ["name"], additionalProperties: false }), {
      size: "l",
      at: {},
      more: 1,
    });
    assert.deepEqual(complaint?.data?.issues, [
      { path: "name", message: "must have required property 'name'" },
      { path: "more", message: 'must not have "more"' },
      { path: "size", message: 'must be one of "s", "m"' },
      { path: "at.x", message: "must have required property 'x'" },
    ]);
    assert.equal(
      complaint.message,
      'Invalid arguments: the arguments must have required property \'name\'; the arguments must not have "more"; size must be one of "s", "m"; at must have required property \'x\'.',
    );
  });

  test("cannot use a schema that refers to another tool's", () => {
    validateArguments(taking({ $id: "https://example.com/other", type: "object" }), {});
    assert.match(validateArguments(taking({ $ref: "https://example.com/other" }), {})?.message ?? "", /cannot be used .*its author/);
  });

  for (const dialect of ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"])
    test(`with uniqueItems are checked in linear time, in ${dialect}`, () => {
      let looks = 0;
      const list = Array.from({ length: 200 }, (_, at) => ({
        get at() {
          looks += 1;
          return at;
        },
      }));
      const offer = taking({ $schema: dialect, type: "object", properties: { list: { type: "array", uniqueItems: true } } });
      assert.equal(validateArguments(offer, { list }), undefined);
      assert.ok(looks <= 2 * list.length, `${looks} looks at ${list.length} items`);
      assert.match(validateArguments(offer, { list: [{ a: 1 }, { a: 1 }] })?.message ?? "", /list must NOT have duplicate items/);
    });

  test("are reported with some of very many allowed values", () => {
    const values = Array.from({ length: 10_000 }, (_, at) => `value ${at}`);
    const message = validateArguments(taking({ type: "object", properties: { it: { enum: values } } }), { it: "none" })?.message ?? "";
    assert.match(message, /^Invalid arguments: it must be one of "value 0", "value 1", .*"value 49" and 9950 more\.$/);
    const few =
      validateArguments(taking({ type: "object", properties: { it: { enum: values.slice(0, 50) } } }), { it: "none" })?.message ?? "";
    assert.match(few, /"value 49"\.$/);
  });
});

test("unknown argument names are listed with the known one that was probably meant", () => {
  const schema = { type: "object", properties: { title: { type: "string" }, severity: { type: "integer" } }, required: ["title"] };
  assert.equal(hintUnknownNames(taking(schema), { titel: "x" }), ' This tool has no argument "titel" (did you mean "title"?).');
  assert.equal(hintUnknownNames(taking(schema), { zzz: 1, title: "x" }), ' This tool has no argument "zzz".');
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${"x".repeat(200)}${n}`, 1]));
  assert.match(hintUnknownNames(taking(schema), many), /^ This tool has no argument "x{100}", "x{100}", "x{100}" and 6 more\.$/);
  assert.equal(hintUnknownNames(taking(schema), { title: "x" }), "");
  for (const open of [{ additionalProperties: true }, { additionalProperties: { type: "string" } }, { patternProperties: { "^x": {} } }])
    assert.equal(hintUnknownNames(taking({ ...schema, ...open }), { titel: "x" }), "");
  assert.equal(hintUnknownNames(taking({ type: "object" }), { titel: "x" }), "");
});
