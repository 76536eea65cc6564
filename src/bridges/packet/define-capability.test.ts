import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, TroupeError } from "../../core/contract/index.ts";
import { actorCapability } from "./define-actor.ts";
import { capability, mcpCapability } from "./define-capability.ts";
import { toolsOf } from "./mcp-tools.ts";

// Served modules have no types.
const define = (how: (...args: never[]) => unknown, definition: object): unknown => Reflect.apply(how, undefined, ["it", definition]);

const refused = (how: (...args: never[]) => unknown, definition: object, sentence: RegExp): void =>
  assert.throws(
    () => define(how, definition),
    (error: unknown) => {
      assert.ok(error instanceof TroupeError && error.code === "BAD_DEFINITION", String(error));
      assert.match(error.message, sentence);
      assert.match(error.message, /\bit\b/, "it names the capability");
      return true;
    },
  );

const run = () => null;
const actorOf = (more: object) => ({ intent: "x", initialState: {}, messages: { a: { run } }, ...more });

void test("an unknown key of an actor's definition is refused with the closest match", () => {
  refused(actorCapability, actorOf({ persistance: "disk" }), /do you mean "persistence"/);
  refused(actorCapability, actorOf({ messages: { a: { mach: {}, run } } }), /messages\.a: there is no "mach", do you mean "match"/);
  refused(actorCapability, actorOf({ periodic: { p: { everyMS: 1, run } } }), /periodic\.p.*"everyMs"/);
  refused(actorCapability, actorOf({ policy: { owner: "anyone" } }), /policy: there is no "owner"/);
  define(actorCapability, actorOf({ persistence: "disk" }));
});

void test("a wrong value in an actor's definition is refused where it is written", () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ persistence: "disc" }, /persistence is one of memory, disk, distributed, not "disc"/],
    [{ timeout: 1_000 }, /timeout is idle\(ms\).*not 1000/],
    [{ timeout: { ends: "idle" } }, /timeout is/],
    [{ timeout: { ends: "idle", ms: "5" } }, /timeout is/],
    [{ initialState: undefined }, /has no `initialState`/],
    [{ initialState: 5 }, /has no `initialState`/],
    [{ state: {} }, /`state` is a Standard Schema/],
    [{ shared: "yes" }, /shared is true or false/],
    [{ migrate: {} }, /migrate is a function/],
    [{ messages: undefined }, /messages is an object/],
    [{ messages: [] }, /messages is an object/],
    [{ messages: { a: null } }, /messages\.a is no object/],
    [{ messages: { a: { run: "r" } } }, /messages\.a: run is a function/],
    [{ messages: { a: { run, match: "x" } } }, /messages\.a: match is/],
    [{ search: "payload:a" }, /search is a list/],
    [{ periodic: { p: { everyMs: 1_000 } } }, /periodic\.p does nothing/],
    [{ effects: ["audit_log"] }, /effects is a list of auditLog.*"audit_log" is none/],
    [{ effects: [{ effect: "metric", metric: "gauge", name: "x" }] }, /effects/],
    [{ effects: "audit" }, /effects/],
  ];
  for (const [more, sentence] of wrong) refused(actorCapability, actorOf(more), sentence);
  for (const timeout of [{ ends: "never" }, { ends: "lifetime", ms: 1 }, () => undefined]) define(actorCapability, actorOf({ timeout }));
});

void test("a schema that cannot be compiled is refused at its definition, not at each call", () => {
  const parameters = { type: "object", properties: { a: { type: "strin" } } };
  refused(capability, { intent: "x", parameters, execute: run }, /properties\/a\/type is "strin"/);
  refused(actorCapability, actorOf({ parameters }), /"strin"/);
  refused(mcpCapability, { intent: "x", tools: { t: { description: "d", parameters } }, handleToolCall: run }, /tools\.t: .*"strin"/);
});

void test("tools need descriptions, and valid parameters", () => {
  const tools = (tool: unknown, more: object = {}) => ({ intent: "x", tools: { t: tool }, handleToolCall: run, ...more });
  const d = { description: "Does a thing" };
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [{ ...d, requird: ["q"] }, /tools\.t: there is no "requird", do you mean "required"/],
    [{ ...d, parameters: ["q"], required: ["p"] }, /tools\.t: required names "p"/],
    [{ ...d, parameters: ["q"], required: "q" }, /tools\.t: required is a list/],
    [{ ...d, parameters: "q" }, /tools\.t: parameters is/],
    [{ ...d, parameters: [1] }, /tools\.t: parameters is/],
    [{ parameters: ["q"] }, /tools\.t has no description/],
    [null, /tools\.t is no object/],
  ];
  for (const [tool, sentence] of wrong) refused(mcpCapability, tools(tool), sentence);
  define(mcpCapability, tools({ ...d, parameters: ["q"], required: ["q"] }));
  const anyOf = [{ properties: { q: true } }];
  define(mcpCapability, tools({ ...d, parameters: { type: "object", properties: {}, anyOf }, required: ["q"] }));
});

void test("a tool's parameters are a whole schema if they say so, with or without properties", () => {
  const schemaOf = (parameters: JsonObject): unknown =>
    toolsOf(mcpCapability("m", { intent: "x", tools: { t: { description: "d", parameters } }, handleToolCall: run }))[0]?.inputSchema;
  const wholes = [
    { type: "object" },
    { type: "object", additionalProperties: false },
    { type: "object", oneOf: [{ properties: { a: { type: "string" } }, required: ["a"] }] },
  ];
  for (const whole of wholes) assert.deepEqual(schemaOf(whole), whole);
  for (const named of [{ type: { type: "string" } }, { type: true, q: { type: "integer" } }])
    assert.deepEqual(schemaOf(named), { type: "object", properties: named });
});

void test("required fields belong to each tool, not to the capability", () => {
  for (const more of [{ requires: ["q"] }, { parameters: { type: "object", properties: {} } }])
    refused(
      mcpCapability,
      { intent: "x", tools: { t: { description: "d", parameters: ["q"] } }, handleToolCall: run, ...more },
      /each tool's to say/,
    );
});
