import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { elicit } from "./index.ts";

const titled = [{ const: "r", title: "Red" }];

test("a form whose schema has an id is a form like any other", () => {
  const form = z.object({ name: z.string() }).meta({ id: "Form" });
  assert.deepEqual(
    elicit("?", form).request.params["requestedSchema"],
    elicit("?", z.object({ name: z.string() })).request.params["requestedSchema"],
  );
});

test("a form is sent with every field that MCP allows", () => {
  const zod = z.object({
    name: z.string().min(1).optional(),
    mail: z.email(),
    site: z.url(),
    day: z.iso.date(),
    at: z.iso.datetime(),
    age: z.int().default(3),
    weight: z.number().positive(),
    yes: z.boolean(),
    kind: z.enum(["a", "b"]),
    tags: z.array(z.enum(["a", "b"])).min(1),
  });
  assert.deepEqual(Object.keys(JSON.parse(JSON.stringify(elicit("?", zod).request.params["requestedSchema"])).properties), [
    "name",
    "mail",
    "site",
    "day",
    "at",
    "age",
    "weight",
    "yes",
    "kind",
    "tags",
  ]);
  const properties = {
    old: { type: "string", enum: ["r"], enumNames: ["Red"] },
    one: { type: "string", oneOf: titled },
    many: { type: "array", items: { anyOf: titled } },
  };
  assert.deepEqual(elicit("?", { properties }).request.params["requestedSchema"], { type: "object", properties });
});

const at = (property: object) => ({ type: "object", properties: { fine: { type: "string" }, at: property } });

const unfit: readonly (readonly [what: string, schema: object, told: RegExp])[] = [
  [
    "an object in it",
    z.object({ at: z.object({ street: z.string() }) }),
    /^The schema of elicit\(\), at: it is an object\. A form is a flat object/,
  ],
  ["a list of text", z.object({ at: z.array(z.string()) }), /, at: it is a list of something else than an enum of texts\./],
  ["a union", z.object({ at: z.union([z.email(), z.literal("none")]) }), /, at: it is a union, a reference, or has no type\./],
  ["text or null", z.object({ at: z.string().nullable() }), /, at: its type is \["string","null"\]\.|, at: it is a union/],
  ["a record", z.object({ at: z.record(z.string(), z.string()) }), /, at: it is an object\./],
  ["anything", z.object({ at: z.any() }), /, at: it is a union, a reference, or has no type\./],
  ["a format nobody knows", z.object({ at: z.uuid() }), /, at: its format is none of email, uri, date, date-time\./],
  [
    "a union of objects",
    z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    /^The schema of elicit\(\): it names no properties\./,
  ],
  ["an enum of numbers", at({ type: "integer", enum: [1, 2] }), /, at: it is an enum of numbers\./],
  ["an enum of both", at({ type: "string", enum: ["a", 2] }), /, at: its `enum` is no list of texts\./],
  ["values without titles", at({ type: "string", oneOf: [{ const: "a" }] }), /, at: its `oneOf` is no list of \{ const, title \}/],
  ["a list of untitled values", at({ type: "array", items: { anyOf: [{ const: "a" }] } }), /, at: it is a list of something else/],
  ["a boolean for a schema", { properties: { at: true } }, /, at: it has no schema\./],
];

for (const [what, schema, told] of unfit)
  test(`a form that MCP does not allow is refused where it is written: ${what}`, () => {
    assert.throws(() => elicit("?", schema), { code: "BAD_DEFINITION", message: told });
  });
