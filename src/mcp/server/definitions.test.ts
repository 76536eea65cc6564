import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { createServer } from "./index.ts";

/** As plain JavaScript would: no compiler has looked at it. */
const unseen = (value: unknown) => Object(value);
const handler = (): string => "x";
const object = (properties: object): object => ({ type: "object", properties });

type List = "tools" | "resources" | "prompts";
type Wrong = readonly [what: string, definition: unknown, reason: RegExp];

async function refused(list: List, wrong: readonly Wrong[], code = "BAD_DEFINITION"): Promise<void> {
  await using server = createServer("definitions", "1");
  for (const [what, definition, message] of wrong)
    assert.throws(() => unseen(server[list]).register(definition, handler), { code, message }, what);
  assert.equal(server[list].size, 0);
}

const input = (schema: unknown): object => ({ name: "t", input: schema });

test("an invalid schema is refused at registration, with its path", () =>
  refused("tools", [
    ["the shape other libraries take", input({ message: z.string() }), /The input of t is a record of schemas: .+z\.object\(/],
    ["the same of JSON", input({ message: { type: "string" } }), /no word of JSON Schema: pass \{ type: "object"/],
    ["text", input("x"), /is no schema: pass a Standard Schema/],
    ["null", input(null), /is no schema/],
    ["an unknown type", input(object({ a: { type: "strin" } })), /\/properties\/a\/type is "strin", none of string, /],
    ["a reference to nothing", input(object({ a: { $ref: "#/$defs/no" } })), /\/properties\/a\/\$ref #\/\$defs\/no leads nowhere/],
    ["a reference elsewhere", input(object({ a: { $ref: "https://a.example/x.json" } })), /leads nowhere within it/],
    ["a bad pattern", input(object({ a: { type: "string", pattern: "(" } })), /\/properties\/a\/pattern is no regular expression/],
    ["a bad pattern for names", input({ type: "object", patternProperties: { "(": {} } }), /\/patternProperties\/\( is no regular/],
    ["a property that is none", input(object({ a: "string" })), /\/properties\/a is no schema/],
    ["names that are none", input({ ...object({}), required: "a" }), /\/required is no list of names/],
    ["a bound that is none", input(object({ a: { type: "string", maxLength: "9" } })), /\/properties\/a\/maxLength is no number/],
    ["an empty choice of schemas", input(object({ a: { items: { anyOf: [] } } })), /\/properties\/a\/items\/anyOf is no list of schemas/],
    ["a tuple of no older dialect", input(object({ a: { items: [true] } })), /\/properties\/a\/items is a list: call it prefixItems/],
    ["another dialect", input({ ...object({}), $schema: "https://a.example/own" }), /The input of t is of a dialect that is not read here/],
    ["a list", input({ type: "array" }), /The input of t must be the schema of an object/],
    ["a library's list", input(z.array(z.string())), /must be the schema of an object/],
    ["an output", { name: "t", output: { type: "objekt" } }, /The output of t .+\/type is "objekt"/],
  ]));

test("schemas that can be compiled are accepted", async () => {
  await using server = createServer("definitions", "1");
  const schemas: readonly object[] = [
    {},
    { properties: { a: { type: ["string", "null"], pattern: "^a" } }, required: ["a"], "x-own": 1 },
    { $defs: { "a/b": { type: "object" } }, type: "object", properties: { a: { $ref: "#/$defs/a~1b" }, self: { $ref: "#" } } },
    { type: "object", $defs: { n: { $anchor: "n", type: "number" } }, properties: { n: { $ref: "#n" } } },
    { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: { a: { items: [true, { type: "string" }] } } },
    z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
  ];
  for (const [i, schema] of schemas.entries()) server.tools.register(unseen({ name: `t${i}`, input: schema }), handler);
  server.tools.register({ name: "list", output: z.array(z.string()) }, () => ["a"]);
  assert.equal(server.tools.size, schemas.length + 1);
});

test("a definition without name or handler, or with an unknown member, is refused with advice", async () => {
  for (const list of ["tools", "resources", "prompts"] as const) {
    await refused(list, [["no name", {}, /has no name/]], "BAD_NAME");
    await refused(list, [
      ["nothing", undefined, /is an object/],
      ["a misspelled word", { name: "x", descripton: "X." }, /there is no property "descripton"; it knows name, title, description/],
      ["another's word", { name: "x", _meta: {} }, /there is no property "_meta"; here it is meta\./],
      ["enabled at once", { name: "x", enabled: true }, /enabled is a function: \(\{ viewer \}\) =>/],
    ]);
    await using server = createServer("definitions", "1");
    assert.throws(() => unseen(server[list]).register({ name: "x", ...(list === "resources" && { uri: "x://x" }) }), {
      code: "BAD_DEFINITION",
      message: /has no handler/,
    });
  }
  await refused("tools", [
    ["the official SDK's word", { name: "x", inputSchema: {} }, /there is no property "inputSchema"; here it is input\./],
  ]);
  await refused("prompts", [["a schema of arguments", { name: "x", arguments: z.object({}) }, /arguments has to be a list of/]]);
});

test("a member that would make clients refuse the whole list is refused by its name", async () => {
  for (const list of ["tools", "resources", "prompts"] as const) {
    const one = (more: object): object => ({ name: "x", ...(list === "resources" && { uri: "x://{x}" }), ...more });
    await refused(list, [
      ["a number", one({ description: 5 }), new RegExp(`^${list}/"x": description has to be text\\.$`)],
      ["null", one({ description: null }), /description has to be text/],
      ["an object", one({ title: {} }), /title has to be text/],
      ["icons without src", one({ icons: [{ href: "x" }] }), /icons has to be a list of \{ src, /],
      ["one icon", one({ icons: { src: "x" } }), /icons has to be a list of/],
      ["meta", one({ meta: 5 }), /meta has to be an object/],
    ]);
    await using server = createServer("definitions", "1");
    const icons = [{ src: "https://a.example/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }];
    unseen(server[list]).register(one({ title: "", description: undefined, icons, meta: { "a.example/b": 1 } }), handler);
    assert.equal(server[list].size, 1);
  }
  const resource = (more: object): object => ({ name: "x", uri: "x://x", ...more });
  await refused("resources", [
    ["type", resource({ mimeType: 5 }), /mimeType has to be text/],
    ["size", resource({ size: "5" }), /size has to be a number of bytes/],
    ["audience", resource({ annotations: { audience: "user" } }), /annotations has to be annotations as MCP has them: audience/],
    ["priority", resource({ annotations: { priority: 2 } }), /priority from 0 to 1/],
    ["time", resource({ annotations: { lastModified: "yesterday" } }), /lastModified a time/],
    [
      "complete of a fixed one",
      resource({ complete: { id: handler } }),
      /complete is for "id", which is no variable of its URI: it has none/,
    ],
    ["complete of another", { name: "x", uri: "x://{a}", complete: { b: handler } }, /it has a\./],
    ["complete", { name: "x", uri: "x://{a}", complete: { a: ["1"] } }, /complete has to be an object of functions/],
  ]);
  await refused("tools", [["a hint", { name: "x", annotations: { readOnlyHint: "yes" } }, /annotations has to be hints as MCP has them/]]);
  const prompt = (...args: readonly object[]): object => ({ name: "x", arguments: args });
  await refused("prompts", [
    ["required", prompt({ name: "a", required: "yes" }), /arguments has to be a list of .+required a boolean/],
    ["no name", prompt({ description: "A." }), /arguments has to be a list of/],
    ["twice", prompt({ name: "a" }, { name: "b" }, { name: "a" }), /"a" is there twice: give each argument a name of its own/],
    ["complete", { ...prompt({ name: "a" }), complete: { y: handler } }, /complete is for "y", which is no argument: it has a\./],
    ["complete of none", { name: "x", complete: { y: handler } }, /it has none/],
  ]);
  await using server = createServer("definitions", "1");
  const annotations = { audience: ["user", "assistant"], priority: 0, lastModified: "2026-01-31T12:00:00+01:00" };
  server.resources.register({ name: "x", uri: "x://x", size: 0, annotations }, handler);
  server.tools.register({ name: "x", annotations: { title: "X", readOnlyHint: true, ownHint: "own" } }, handler);
  assert.deepEqual([server.resources.list()[0]?.["annotations"], server.tools.size], [annotations, 1]);
});

test("a header of an argument that would make clients omit the tool is refused by its path", async () => {
  const of = (properties: object, more: object = {}): object => ({ name: "x", input: { type: "object", properties, ...more } });
  const marked = (header: unknown, type = "string"): object => ({ type, "x-mcp-header": header });
  await refused("tools", [
    ["a number", of({ a: marked("A", "number") }), /^The input of x: \/properties\/a\/x-mcp-header is on what has not the type/],
    ["an object", of({ a: marked("A", "object") }), /has not the type string, integer or boolean/],
    ["empty", of({ a: marked("") }), /is no name of a header/],
    ["a space", of({ a: marked("a b") }), /is no name of a header/],
    ["no text", of({ a: marked(1) }), /is no name of a header/],
    ["a list's", of({ a: { type: "array", items: marked("A") } }), /\/a\/items\/x-mcp-header is not on a property/],
    ["a choice's", of({ a: { anyOf: [{ type: "object", properties: { b: marked("B") } }] } }), /is not on a property/],
    ["all of them", of({}, { "x-mcp-header": "A" }), /is not on a property/],
    ["twice", of({ a: marked("A"), b: { type: "object", properties: { c: marked("a") } } }), /two arguments .+ header mcp-param-a/],
    ["of a schema library", { name: "x", input: z.object({ a: z.number().meta({ "x-mcp-header": "A" }) }) }, /has not the type/],
  ]);
  const odd = of({ "x-mcp-header": { type: "number" }, a: marked("A"), b: { type: "object", properties: { c: marked("C", "integer") } } });
  await using server = createServer("definitions", "1");
  unseen(server.tools).register(odd, handler);
  assert.equal(server.tools.size, 1);
});

test("an invalid URI and an unsupported template are refused", () =>
  refused(
    "resources",
    [
      ["none", undefined, /there is no URI/],
      ["no scheme", "file.txt", /no URI: begin with a scheme/],
      ["words", "not a uri", /no URI: begin with a scheme/],
      ["a space", "x://a b/{c}", /x:\/\/a b\/\{c\} has signs that no URI has: write them percent-encoded/],
      ["letters of others", "x://straße", /signs that no URI has/],
      ["half an encoding", "x://a%2", /signs that no URI has/],
      ["an operator", "x://{#a}", /\{#a\} is of RFC 6570 more than is read here: use \{name\}, or \{\+name\}/],
      ["a query", "x://a{?b}", /more than is read here/],
      ["two at once", "x://{a,b}", /more than is read here/],
      ["half a brace", "x://{a", /a brace without its partner/],
      ["one twice", "x://{a}/{a}", /\{a\} is there twice/],
    ].map(([what, uri, reason]): Wrong => [
      String(what),
      { name: "r", ...(uri !== undefined && { uri }) },
      reason instanceof RegExp ? reason : /^$/,
    ]),
  ));
