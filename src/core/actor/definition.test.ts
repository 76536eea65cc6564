import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { DEFAULT_POLICY, type Message, TroupeError } from "../contract/index.ts";
import { testActor } from "../../testing/index.ts";
import { actor, fromJsonSchema } from "./index.ts";

const first: Message = { id: "1", to: "thing/a%20b", action: "x", args: {}, at: 7, seed: "1".repeat(32), start: { by: "test" } };

/** A definition that only JavaScript authors can write. */
function untyped(definition: object): unknown {
  const build: (kind: string, definition: never) => unknown = actor;
  return Reflect.apply(build, undefined, ["thing", { description: "A thing.", initial: () => ({}), ...definition }]);
}

function badDefinition(pattern: RegExp) {
  return { name: "TroupeError", code: "BAD_DEFINITION", message: pattern };
}

test("the catalogue is built once, in the definition's order and MCP's newest form, frozen #spec.6.tools.understanding", () => {
  const kind = actor("thing", {
    description: "A thing.",
    state: z.object({ n: z.number().default(0) }),
    tools: {
      zeta: {
        description: "Acts.",
        title: "Zeta",
        input: z.object({ by: z.int().min(0).max(9).default(1).meta({ "x-mcp-header": "By", title: "By" }), to: z.string().optional() }),
        output: z.object({ n: z.number() }),
        annotations: { idempotentHint: true },
        icons: [{ src: "data:," }],
        meta: { "ui/resourceUri": "ui://x" },
        run: ({ state }) => ({ n: state.n }),
      },
      alpha: {
        description: "Reads.",
        annotations: { title: "Alpha", readOnlyHint: false, openWorldHint: false },
        view: ({ state }) => state.n,
      },
      either: { description: "One of two.", input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), run() {} },
      plain: {
        description: "Plain.",
        input: {
          $schema: "http://json-schema.org/draft-07/schema#",
          type: "object",
          properties: { a: { type: "string", "x-vendor": 1 } },
          required: [],
        },
        run() {},
      },
    },
    resources: {
      state: { uri: "thing://{alias}/state", mimeType: "application/json", view: ({ state }) => state },
      day: {
        uri: "thing://{alias}/{day}",
        title: "Day",
        description: "A day.",
        annotations: { priority: 1 },
        size: 3,
        view: ({ args }) => args.day,
      },
    },
    prompts: {
      start: {
        description: "Start.",
        input: z.object({ topic: z.string().describe("On what"), level: z.number().optional() }),
        view: () => "x",
      },
      help: { description: "Help.", title: "Help", view: () => "x" },
    },
  });
  assert.deepEqual(kind.catalogue, {
    links: {},
    tools: [
      {
        name: "zeta",
        definition: {
          title: "Zeta",
          description: "Acts.",
          inputSchema: {
            type: "object",
            properties: {
              by: { default: 1, type: "integer", minimum: 0, maximum: 9, "x-mcp-header": "By", title: "By" },
              to: { type: "string" },
            },
          },
          outputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"], additionalProperties: false },
          annotations: { idempotentHint: true },
          icons: [{ src: "data:," }],
          _meta: { "ui/resourceUri": "ui://x" },
        },
        action: "tools/zeta",
        readOnly: false,
        checksArguments: "misfits",
      },
      {
        name: "alpha",
        definition: {
          description: "Reads.",
          inputSchema: { type: "object", properties: {} },
          annotations: { title: "Alpha", readOnlyHint: true, openWorldHint: false },
        },
        action: "tools/alpha",
        readOnly: true,
      },
      {
        name: "either",
        definition: {
          description: "One of two.",
          inputSchema: {
            type: "object",
            anyOf: [
              { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
              { type: "object", properties: { b: { type: "string" } }, required: ["b"] },
            ],
          },
        },
        action: "tools/either",
        readOnly: false,
        checksArguments: "misfits",
      },
      {
        name: "plain",
        definition: {
          description: "Plain.",
          inputSchema: {
            $schema: "http://json-schema.org/draft-07/schema#",
            type: "object",
            properties: { a: { type: "string", "x-vendor": 1 } },
            required: [],
          },
        },
        action: "tools/plain",
        readOnly: false,
      },
    ],
    resources: [
      {
        name: "state",
        definition: { uri: "thing://{alias}/state", name: "state", mimeType: "application/json" },
        action: "resources/state",
        readOnly: true,
      },
      {
        name: "day",
        definition: {
          uriTemplate: "thing://{alias}/{day}",
          name: "day",
          title: "Day",
          description: "A day.",
          annotations: { priority: 1 },
          size: 3,
        },
        action: "resources/day",
        readOnly: true,
      },
    ],
    prompts: [
      {
        name: "start",
        definition: {
          description: "Start.",
          arguments: [
            { name: "topic", description: "On what", required: true },
            { name: "level", required: false },
          ],
        },
        action: "prompts/start",
        readOnly: true,
      },
      { name: "help", definition: { title: "Help", description: "Help." }, action: "prompts/help", readOnly: true },
    ],
  });
  assert.ok(Object.isFrozen(kind) && Object.isFrozen(kind.catalogue) && Object.isFrozen(kind.catalogue.tools[0]?.definition));
});

test("a schema with an id has arguments and choices like any other", () => {
  const input = z.object({ item: z.string() }).meta({ id: "Item" });
  const choices = { item: () => ["lamp"] };
  const kind = actor("thing", {
    description: "A thing.",
    state: z.object({}),
    tools: { take: { description: "", input, choices, run() {} } },
    prompts: { ask: { description: "", input, view: () => "" } },
  });
  const catalogue = testActor(kind).surface()?.catalogue;
  assert.deepEqual(catalogue?.prompts[0]?.definition["arguments"], [{ name: "item", required: true }]);
  assert.deepEqual(catalogue?.tools[0]?.definition["inputSchema"], {
    type: "object",
    properties: { item: { type: "string" } },
    required: ["item"],
  });
});

test("a prompt's explicit list of arguments is listed unchanged, even if empty", () => {
  const view = () => "Hello.";
  const kind = actor("thing", {
    description: "A thing.",
    initial: () => ({}),
    prompts: { written: { description: "", arguments: [], view }, absent: { description: "", view } },
  });
  const [written, absent] = kind.catalogue.prompts;
  assert.deepEqual(written?.definition["arguments"], []);
  assert.equal(absent !== undefined && "arguments" in absent.definition, false);
});

test("policy, `per` and version have defaults and are checked #actors.policy", () => {
  const kind = actor("thing", { description: "A thing.", initial: () => ({}) });
  assert.deepEqual([kind.policy, kind.per, kind.version], [DEFAULT_POLICY, "shared", 1]);
  const own = actor("thing", {
    description: "",
    initial: () => ({}),
    per: "user",
    version: 3,
    persistence: "memory",
    expireMs: 5,
    restart: { max: 1, withinMs: 2 },
  });
  assert.deepEqual(own.policy, { ...DEFAULT_POLICY, persistence: "memory", expireMs: 5, restart: { max: 1, withinMs: 2 } });
  assert.equal(own.version, 3);
  for (const wrong of [{ idleMs: 0 }, { mailbox: -1 }, { workMs: Number.NaN }, { expireMs: 0 }, { version: 0 }, { version: 1.5 }]) {
    assert.throws(() => untyped(wrong), { code: "BAD_DEFINITION" });
  }
});

test("the initial state comes from `initial` or the schema's defaults, and is frozen", () => {
  const born = actor("thing", {
    description: "",
    state: z.object({ name: z.string(), at: z.number(), tags: z.array(z.string()).default([]) }),
    initial: ({ key, now: at, args: start, random, id }) => ({
      name: `${key} ${JSON.stringify(start)}`,
      at: at + Math.floor(random()),
      tags: [typeof id()],
    }),
  });
  const state = born.initial("a b", first);
  assert.deepEqual(state, { name: 'a b {"by":"test"}', at: 7, tags: ["string"] });
  assert.ok(Object.isFrozen(state) && Object.isFrozen(state.tags));
  assert.deepEqual(born.initial("a b", first), state);
  const bare = actor("thing", { description: "", state: z.object({ n: z.number().default(4) }) });
  assert.deepEqual(bare.initial("x", first), { n: 4 });
});

test("a definition without an initial state is refused with advice", () => {
  assert.throws(() => untyped({ initial: undefined }), badDefinition(/thing has no state: give `state` .* or `initial`/));
  assert.throws(
    () => untyped({ initial: undefined, state: z.object({ n: z.number() }) }),
    badDefinition(/does not fit its schema: n: .*Give defaults, `initial` or `migrate`/),
  );
  assert.throws(() => untyped({ initial: undefined, state: z.unknown().transform(() => 5) }), badDefinition(/must be an object/));
  const wrong = actor("thing", { description: "", state: z.object({ n: z.number().max(1) }), initial: () => ({ n: 5 }) });
  assert.throws(() => wrong.initial("x", first), badDefinition(/A state of thing does not fit its schema: n: /));
});

test("an initial state that is not JSON is refused at the definition, with the path", () => {
  for (const [state, why] of [
    [z.object({ at: z.date().default(() => new Date(0)) }), "/at is a Date"],
    [z.object({ deep: z.object({ seen: z.set(z.string()).default(() => new Set<string>()) }).prefault({}) }), "/deep/seen is a Set"],
  ] as const)
    assert.throws(() => untyped({ state, initial: undefined }), badDefinition(new RegExp(`^The first state of thing is not JSON: ${why}`)));
});

test("an old state is migrated, checked against the schema and frozen #actors.migrate", () => {
  const kind = actor("thing", {
    description: "",
    version: 2,
    state: z.object({ count: z.number(), since: z.number().default(0) }),
    initial: () => ({ count: 0, since: 0 }),
    migrate: ({ state: old, from }) => ({ count: from + (typeof old === "number" ? old : 0), since: 0 }),
  });
  assert.deepEqual(kind.migrate?.(5, 1), { count: 6, since: 0 });
  assert.ok(!("migrate" in actor("thing", { description: "", initial: () => ({}) })));
});

test("a misspelled property is refused at run time, with a suggestion", () => {
  const run = (): void => {};
  assert.throws(
    () => untyped({ ownr: "starter" }),
    badDefinition(/^thing: "ownr" means nothing here, do you mean "owner"\? There are .*\bowner\b/),
  );
  assert.throws(() => untyped({ owner: "starterr" }), badDefinition(/^thing: owner is one of anyone, starter, not "starterr"\.$/));
  assert.throws(() => untyped({ per: "everyone" }), badDefinition(/^thing: per is one of shared, user, handle, link/));
  assert.throws(() => untyped({ persistence: "ram" }), badDefinition(/^thing: persistence is one of memory, disk, distributed/));
  assert.throws(
    () => untyped({ tools: { x: { description: "", wehn: () => false, run } } }),
    badDefinition(/^thing: tools\/x: "wehn" means nothing here/),
  );
  assert.throws(() => untyped({ tools: { x: { run } } }), badDefinition(/^thing: tools\/x needs `description`/));
  assert.throws(
    () => untyped({ resources: { x: { url: "a://b", view: run } } }),
    badDefinition(/^thing: resources\/x: "url" means nothing here/),
  );
  assert.throws(
    () => untyped({ prompts: { x: { descibe: "", view: run } } }),
    badDefinition(/^thing: prompts\/x: "descibe" means nothing here/),
  );
  assert.throws(() => untyped({ messages: { x: { reply: true, run } } }), badDefinition(/^thing: messages\/x: "reply" means nothing here/));
});

test("a property name of another library is refused with the name used here", () => {
  const run = (): void => {};
  for (const [word, here] of [
    ["describe", "description"],
    ["inputSchema", "input"],
    ["outputSchema", "output"],
    ["when", "enabled"],
    ["handler", "run"],
  ] as const)
    assert.throws(
      () => untyped({ tools: { x: { description: "", run, [word]: undefined } } }),
      badDefinition(new RegExp(`^thing: tools/x: "${word}" means nothing here, do you mean "${here}"\\? There are `)),
    );
  assert.throws(() => untyped({ zzzzzzzz: 1 }), badDefinition(/^thing: "zzzzzzzz" means nothing here\. There are /));
  // A message has no such property, so there is no suggestion.
  assert.throws(() => untyped({ messages: { x: { enabled: true, run } } }), badDefinition(/"enabled" means nothing here\. There are /));
});

test("scopes of an offer must be a list, and are in its definition next to its own meta", () => {
  const view = (): string => "x";
  const { catalogue } = actor("thing", {
    description: "",
    initial: () => ({}),
    tools: { x: { description: "", scopes: ["admin"], meta: { a: 1 }, view } },
    resources: { x: { uri: "a://b", scopes: ["read"], view } },
    prompts: { x: { description: "", scopes: ["talk"], view } },
  });
  const metas = [...catalogue.tools, ...catalogue.resources, ...catalogue.prompts].map(({ definition }) => definition["_meta"]);
  assert.deepEqual(metas, [{ a: 1, "troupe/scopes": ["admin"] }, { "troupe/scopes": ["read"] }, { "troupe/scopes": ["talk"] }]);
  assert.throws(() => untyped({ tools: { x: { description: "", scopes: "admin", view } } }), badDefinition(/`scopes` must be a list/));
  assert.throws(
    () => untyped({ tools: { x: { description: "", scopes: ["a b"], view } } }),
    badDefinition(/scopes are a list of texts without/),
  );
});

test("exactly one of run, view and work is required at run time too", () => {
  const rule = badDefinition(/thing: tools\/x must have exactly one of `run`/);
  assert.throws(() => untyped({ tools: { x: { description: "" } } }), rule);
  assert.throws(() => untyped({ tools: { x: { description: "", run() {}, view() {} } } }), rule);
  assert.throws(() => untyped({ tools: { x: { description: "", run() {}, async work() {} } } }), rule);
  assert.throws(() => untyped({ messages: { x: { view() {} } } }), badDefinition(/a message is no read/));
  assert.throws(() => untyped({ messages: { x: { replies: true, input: z.object({}), run() {} } } }), badDefinition(/leave `input` away/));
  assert.throws(() => untyped({ tools: { x: { description: "", confirm: "Sure?", view() {} } } }), badDefinition(/nothing to confirm/));
  assert.throws(
    () => untyped({ prompts: { x: { description: "", input: z.object({}), arguments: [], view() {} } } }),
    badDefinition(/give one of them/),
  );
});

test("`choices` and `secret` must name arguments of the input", () => {
  const input = z.object({ a: z.string() });
  assert.throws(
    () => untyped({ tools: { x: { description: "", input, choices: { b: () => [] }, run() {} } } }),
    badDefinition(/speaks of the argument "b"/),
  );
  assert.throws(() => untyped({ tools: { x: { description: "", input, secret: ["b"], run() {} } } }), badDefinition(/"b"/));
  assert.throws(() => untyped({ resources: { x: { uri: "x:{a}", choices: { alias: () => [] }, view() {} } } }), badDefinition(/"alias"/));
  assert.throws(() => untyped({ prompts: { x: { description: "", choices: { a: () => [] }, view() {} } } }), badDefinition(/"a"/));
});

test("what clients would refuse the whole list over is refused, with the member and what it has to be", () => {
  const resource = (more: object) => untyped({ resources: { x: { uri: "x:1", ...more, view() {} } } });
  const tool = (more: object) => untyped({ tools: { x: { description: "", ...more, run() {} } } });
  const prompt = (list: readonly unknown[]) => untyped({ prompts: { x: { description: "", arguments: list, view() {} } } });
  assert.throws(() => tool({ icons: [{ href: "a.png" }] }), badDefinition(/tools\/x: icons has to be a list of \{ src/));
  assert.throws(() => prompt(["unit"]), badDefinition(/prompts\/x: arguments has to be a list of \{ name/));
  assert.throws(() => prompt([{ name: "unit" }, { name: "unit" }]), badDefinition(/the argument "unit" twice/));
  assert.throws(() => resource({ annotations: { priority: 5 } }), badDefinition(/annotations has to be .*priority from 0 to 1/));
  assert.throws(() => resource({ size: -1 }), badDefinition(/size has to be a number of bytes/));
  assert.throws(() => tool({ annotations: { readOnlyHint: "yes" } }), badDefinition(/annotations has to be hints/));
  tool({ icons: [{ src: "data:," }], annotations: { readOnlyHint: false }, title: undefined });
  resource({ annotations: { audience: ["user"], priority: 1 }, size: 0 });
});

test("a misspelled `secret` of a message or of a union is refused, since its argument would be stored as it is", () => {
  const input = z.object({ password: z.string() });
  const message = (secret: string, schema: object) => untyped({ messages: { x: { input: schema, secret: [secret], run() {} } } });
  assert.throws(() => message("pasword", input), badDefinition(/messages\.x speaks of the argument "pasword"/));
  message("password", input);
  for (const schema of [
    z.looseObject({ user: z.string() }),
    z.object({ user: z.string() }).catchall(z.string()),
    z.union([input, z.looseObject({ user: z.string() })]),
  ])
    message("pasword", schema);
  // A schema that only checks has no names to compare.
  message("password", z.object({ password: z.string(), when: z.date() }));
  const union = z.discriminatedUnion("by", [
    z.object({ by: z.literal("password"), password: z.string() }),
    z.object({ by: z.literal("token"), token: z.string() }),
  ]);
  const tool = (secret: string) => untyped({ tools: { x: { description: "", input: union, secret: [secret], run() {} } } });
  assert.throws(() => tool("pasword"), badDefinition(/"pasword"/));
  tool("token");
});

test("an argument with choices must be text or a list of texts", () => {
  const choices = { a: () => ["1"] };
  for (const a of [z.number(), z.object({ b: z.string() }), z.array(z.number()), z.boolean().optional()]) {
    const input = z.object({ a });
    const rule = badDefinition(
      /^thing: (tools|prompts)\/x: `choices\.a` are texts, and the argument is (number|object|boolean): make it text/,
    );
    assert.throws(() => untyped({ tools: { x: { description: "", input, choices, run() {} } } }), rule);
    assert.throws(() => untyped({ prompts: { x: { description: "", input, choices, view() {} } } }), rule);
  }
  for (const a of [z.string(), z.string().nullable(), z.array(z.string()), z.enum(["1", "2"]), z.union([z.string(), z.number()]), z.any()])
    untyped({ tools: { x: { description: "", input: z.object({ a }), choices, run() {} } } });
});

test("a schema without a JSON Schema is refused with advice", () => {
  const silent = { "~standard": { version: 1, vendor: "silent", validate: (value: unknown) => ({ value }) } };
  assert.throws(
    () => untyped({ tools: { x: { description: "", input: silent, run() {} } } }),
    badDefinition(/thing: tools\/x, input: this silent schema has no JSON Schema .*zod 4\.2 or newer.*plain JSON Schema/),
  );
  assert.throws(
    () => untyped({ tools: { x: { description: "", input: z.object({ when: z.date() }), run() {} } } }),
    badDefinition(/this zod schema cannot be written as JSON Schema/),
  );
  assert.throws(
    () => untyped({ tools: { x: { description: "", input: z.string(), run() {} } } }),
    badDefinition(/must be the schema of an object/),
  );
  for (const word of ["input", "output"])
    assert.throws(
      () => untyped({ tools: { x: { description: "", [word]: { a: z.string() }, run() {} } } }),
      badDefinition(new RegExp(`^thing: tools/x, ${word} is a record of schemas: pass one schema, z\\.object`)),
    );
  assert.throws(
    () => untyped({ tools: { x: { description: "", input: { type: "array" }, run() {} } } }),
    badDefinition(/must be the schema of an object/),
  );
  assert.throws(
    () => untyped({ tools: { x: { description: "", input: { type: "object", properties: { a: { type: "nonsense" } } }, run() {} } } }),
    badDefinition(/no JSON Schema that can be compiled/),
  );
  assert.throws(
    () => untyped({ tools: { x: { description: "", input: () => true, run() {} } } }),
    badDefinition(/is a function: pass a schema/),
  );
  assert.throws(() => untyped({ tools: { x: { description: "", input: [], run() {} } } }), badDefinition(/is no schema/));
  for (const [input, reason] of [
    [{ message: { type: "string" } }, /input has no word of JSON Schema: pass \{ type: "object"/],
    [{ properties: { a: "string" } }, /input is no JSON Schema .+: \/properties\/a is no schema/],
    [{ properties: { a: null } }, /: \/properties\/a is no schema/],
    [{ properties: { a: { type: "strin" } } }, /: \/properties\/a\/type is "strin", none of string, /],
  ] as const)
    assert.throws(() => untyped({ tools: { x: { description: "", input, run() {} } } }), badDefinition(reason));
  // JSON leaves it out.
  assert.doesNotThrow(() => untyped({ tools: { x: { description: "", input: { properties: { a: undefined } }, run() {} } } }));
  // Clients never see the schema of a message or a state, so it need not be convertible.
  assert.doesNotThrow(() => untyped({ messages: { x: { input: silent, run() {} } } }));
});

test("arguments are checked in the JSON Schema dialect that the schema names", () => {
  const pair = { type: "array", items: [{ type: "string" }, { type: "number" }] };
  const input = { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: { pair } };
  const kind = actor("thing", { description: "", initial: () => ({}), tools: { x: { description: "", input, run: () => "taken" } } });
  const reply = (...given: readonly (string | number)[]) => testActor(kind).turn("tools/x", { pair: given }).reply;
  assert.deepEqual(reply("a", 1), { ok: "taken" });
  assert.deepEqual(reply("a", "b"), {
    refused: {
      code: "INVALID",
      message: "Invalid arguments: pair.1: must be number.",
      data: { issues: [{ path: "pair.1", message: "must be number" }] },
    },
  });
});

test("an asynchronous schema is refused when it is used", () => {
  const waiting = actor("thing", {
    description: "",
    initial: () => ({}),
    messages: { x: { input: z.object({ a: z.string().refine(async () => true) }), run() {} } },
  });
  assert.throws(() => testActor(waiting).turn("x", { a: "b" }), badDefinition(/validates asynchronously/));
});

test("the error for a schema whose check throws names that cause, not only async checks", () => {
  const throwing = z.number().refine((): boolean => {
    throw new Error("mine");
  });
  const kind = actor("thing", { description: "", initial: () => ({}), messages: { x: { input: z.object({ a: throwing }), run() {} } } });
  assert.throws(() => testActor(kind).turn("x", { a: 1 }), badDefinition(/a check in it throws of this value/));
});

test("an invalid `x-mcp-header` is refused with its path: clients would drop the tool", () => {
  const input = z.object({ a: z.object({ b: z.number().meta({ "x-mcp-header": "B" }) }) });
  const reason = badDefinition(/^thing: tools\/x, input: \/properties\/a\/properties\/b\/x-mcp-header is on what has not the type/);
  assert.throws(() => untyped({ tools: { x: { description: "", input, run() {} } } }), reason);
});

test("a secret argument must not be repeated in a header", () => {
  const input = z.object({ a: z.object({ b: z.string().meta({ "x-mcp-header": "B" }) }), c: z.string() });
  const reason = badDefinition(/^thing: tools\/x: the argument "a\.b" is `secret`, and `x-mcp-header` would repeat it in a header/);
  assert.throws(() => untyped({ tools: { x: { description: "", input, secret: ["a"], run() {} } } }), reason);
  untyped({ tools: { x: { description: "", input, secret: ["c"], run() {} } } });
});

test("a schema of an unknown dialect is refused; all drafts of JSON Schema are accepted", () => {
  const dialect = (name: string) => ({ $schema: name, type: "object", properties: {} });
  const reason = badDefinition(/^thing: tools\/x, input is of a dialect that is not read here, "https:\/\/a\.example\/own": write it in/);
  assert.throws(() => untyped({ tools: { x: { description: "", input: dialect("https://a.example/own"), run() {} } } }), reason);
  assert.throws(() => fromJsonSchema(dialect("https://a.example/own")), badDefinition(/^fromJsonSchema\(\) is of a dialect/));
  for (const known of ["draft-07/schema#", "draft/2019-09/schema", "draft/2020-12/schema#", "schema"])
    untyped({ tools: { x: { description: "", input: dialect(`https://json-schema.org/${known}`), run() {} } } });
});

test("a resource's URI template must have a scheme and only supported RFC 6570 forms", () => {
  const wrong: readonly (readonly [uri: string, reason: RegExp])[] = [
    ["x:a b", /x:a b has signs that no URI has/],
    ["x://straße/{a}", /signs that no URI has/],
    ["x:{?a}", /\{\?a\} is of RFC 6570 more than is read here: use \{name\}, or \{\+name\} for what may hold slashes/],
    ["x:{a,b}", /more than is read here/],
    ["x:{}", /more than is read here/],
    ["x:{+}", /more than is read here/],
    ["x:{+a}/{a}", /\{a\} is there twice/],
    ["x:{a", /a brace without its partner/],
    ["x:a}", /a brace without its partner/],
    ["no-scheme/{a}", /no URI: begin with a scheme, as in notes:\/\/no-scheme\/\{a\}/],
    ["", /there is no URI/],
  ];
  for (const [uri, reason] of wrong) assert.throws(() => untyped({ resources: { x: { uri, view() {} } } }), badDefinition(reason), uri);
});

test("a variable may occur once in a URI template; `{alias}` may repeat", () => {
  assert.throws(
    () => untyped({ resources: { x: { uri: "x://{a}/{a}", view() {} } } }),
    badDefinition(/^thing: resources\/x: \{a\} is there twice: give each variable a name/),
  );
  const kind = actor("thing", {
    description: "",
    initial: () => ({}),
    resources: { x: { uri: "x://{alias}/{alias}/{a.b}/{c-d}", view: ({ args }) => [args["a.b"], args["c-d"]] } },
  });
  assert.deepEqual(testActor(kind).view("resources/x", { "a.b": "1", "c-d": "2" }), { ok: ["1", "2"] });
});

test("secret arguments are redacted, others are not #chain.redact #spec.6.by-design", () => {
  const kind = actor("thing", {
    description: "",
    initial: () => ({}),
    tools: {
      login: { description: "", input: z.object({ user: z.string(), password: z.string().optional() }), secret: ["password"], run() {} },
      look: { description: "", view: () => "" },
    },
    messages: { token: { input: z.object({ token: z.string() }), secret: ["token"], run() {} } },
  });
  const redacted = (action: string, args: Message["args"]) => kind.redact?.({ ...first, action, args });
  assert.deepEqual(redacted("tools/login", { user: "ann", password: "p" }), { user: "ann", password: "[redacted]" });
  assert.deepEqual(redacted("tools/login", { user: "ann" }), { user: "ann" });
  assert.deepEqual(redacted("tools/login", ["p"]), ["p"]);
  assert.deepEqual(redacted("token", { token: "t" }), { token: "[redacted]" });
  assert.deepEqual(redacted("tools/look", { a: 1 }), { a: 1 });
  assert.deepEqual(redacted("nothing", 5), 5);
});

test("a typed plain JSON Schema is listed unchanged", () => {
  const input = {
    type: "object",
    properties: { way: { enum: ["north", "south"], "x-order": 1 }, steps: { type: "integer", default: 2 } },
    required: ["way"],
  };
  const kind = actor("thing", {
    description: "",
    initial: () => ({ at: "" }),
    tools: {
      move: {
        description: "",
        input: fromJsonSchema<{ way: "north" | "south"; steps: number }>(input),
        run({ state, args }) {
          state.at = args.way.repeat(args.steps);
          return state.at;
        },
      },
    },
  });
  assert.deepEqual(kind.catalogue.tools[0]?.definition["inputSchema"], input);
  const stage = testActor(kind);
  assert.deepEqual(stage.turn("tools/move", { way: "north" }).reply, { ok: "northnorth" });
  assert.deepEqual(stage.turn("tools/move", { way: "up" }).reply, {
    refused: {
      code: "INVALID",
      message: 'Invalid arguments: way: must be one of "north", "south".',
      data: { issues: [{ path: "way", message: 'must be one of "north", "south"' }] },
    },
  });
  assert.throws(() => fromJsonSchema({ type: "nonsense" }), badDefinition(/no JSON Schema that can be compiled/));
});

test("a TypeError in a handler reports how the state does not fit its schema", () => {
  const items = z.object({ items: z.array(z.string()).default([]) });
  const kind = actor("box", {
    description: "A box.",
    state: items,
    tools: {
      put: { description: "Put.", run: ({ state }) => state.items.push("x") },
      wait: { description: "Wait.", work: async ({ state }) => state.items.length },
      count: { description: "Count.", view: ({ state }) => state.items.length },
      take: { description: "Take.", enabled: ({ state }) => state.items.length > 0, run: () => "taken" },
      fail: {
        description: "Fail otherwise.",
        run() {
          throw new RangeError("of the author's own");
        },
      },
    },
  });
  // As an engine reads it from a store, unchecked.
  const old: { items: string[] } = Object.freeze(JSON.parse('{"things":3}'));
  const message = (action: string): Message => ({ id: "m", to: "box/a", action, args: {}, at: 0, seed: "00".repeat(16) });
  const misfit =
    /threw TypeError, and the state it was given does not fit its schema \(it lacks items\): what is new in a state needs `version` and `migrate`\./;
  const thrown = (act: () => unknown): unknown => {
    try {
      return act();
    } catch (error) {
      return error;
    }
  };
  const put = thrown(() => kind.receive(old, message("tools/put")));
  assert.ok(put instanceof TroupeError && put.code === "BAD_TURN" && put.cause instanceof TypeError);
  assert.match(put.message, misfit);
  assert.match(put.message, /^tools\/put /);
  assert.throws(() => kind.view?.(old, "tools/count", {}, { scopes: [] }), { code: "BAD_TURN", message: misfit });
  assert.throws(() => kind.receive(old, message("tools/take")), { code: "BAD_TURN", message: misfit });
  const errors: TroupeError[] = [];
  kind.surface(old, { scopes: [] }, (error) => errors.push(error));
  assert.match(
    errors[0]?.message ?? "",
    /its `enabled` threw TypeError, and the state it was given does not fit its schema \(it lacks items\)/,
  );
  const other: { items: string[] } = Object.freeze(JSON.parse('{"items":{"a":1}}'));
  assert.throws(() => kind.receive(other, message("tools/put")), { message: /does not fit its schema \(items: .*array/ });
  const nested = actor("box", {
    description: "",
    state: z.object({ rooms: z.array(z.object({ name: z.string(), doors: z.array(z.string()).default([]) })) }),
    initial: () => ({ rooms: [] }),
    tools: { count: { description: "", run: ({ state }) => state.rooms.map(({ doors }) => doors.length) } },
  });
  const rooms: { rooms: { name: string; doors: string[] }[] } = Object.freeze(JSON.parse('{"rooms":[{"name":"a"}]}'));
  assert.throws(() => nested.receive(rooms, message("tools/count")), { message: /\(it lacks rooms\.0\.doors\)/ });
  // If the state fits, or the error is another one, nothing is added.
  assert.throws(() => kind.receive(old, message("tools/fail")), { name: "RangeError", message: "of the author's own" });
  const broken = actor("box", { description: "", state: items, tools: { put: { description: "", run: () => Object(undefined).a.b } } });
  assert.throws(() => broken.receive(Object.freeze({ items: [] }), message("tools/put")), { name: "TypeError" });
});
