import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Json, Reply } from "../contract/index.ts";
import { testActor } from "../../testing/index.ts";
import { actor, elicit, roots, sample } from "./index.ts";

const chest = actor("chest", {
  description: "A chest.",
  initial: () => ({ gold: 5, colour: "none" }),
  tools: {
    burn: {
      description: "Burn it.",
      input: z.object({ coins: z.number().default(1) }),
      confirm: ({ state, args }) => (args.coins >= state.gold ? `Burn all ${state.gold} coins?` : undefined),
      run({ state, args }) {
        state.gold -= args.coins;
        return state.gold;
      },
    },
    sink: {
      description: "Sink it.",
      confirm: "Sink it for good?",
      annotations: { destructiveHint: false },
      work: async ({ state }) => void (state.gold = 0),
    },
    paint: {
      description: "Paint it.",
      run({ state, ask, can }) {
        if (!can("elicitation")) return "grey";
        const { colour, sure } = ask({
          colour: elicit("Which colour?", z.object({ name: z.enum(["red", "blue"]) })),
          sure: elicit("Sure?"),
        });
        if (colour.action === "accept" && sure.action === "accept" && sure.content.yes) state.colour = colour.content.name;
        return `${colour.action} ${state.colour}`;
      },
    },
    think: { description: "Ask the model.", run: ({ ask }) => ask({ thought: sample({ messages: [], maxTokens: 5 }), where: roots() }) },
    clash: { description: "Uses the reserved key.", confirm: "Sure?", run: ({ ask }) => ask({ confirm: elicit("Again?") }) },
  },
});

const can = { can: ["elicitation"] };
const accepted = (content: Json): Json => ({ action: "accept", content });

function refusal(given: Reply | "later" | undefined): { readonly code: string; readonly message: string; readonly data?: Json } {
  assert.ok(typeof given === "object" && "refused" in given, JSON.stringify(given));
  return given.refused;
}

test("a tool with `confirm` asks the client, and runs once it is confirmed #spec.6.tools.consent", () => {
  const stage = testActor(chest);
  const turn = stage.turn("tools/burn", { coins: 5 }, can);
  assert.deepEqual(turn, {
    reply: {
      needs: {
        confirm: {
          method: "elicitation/create",
          params: {
            message: "Burn all 5 coins?",
            requestedSchema: { type: "object", properties: { confirm: { type: "boolean", title: "Confirm" } }, required: ["confirm"] },
          },
        },
      },
    },
  });
  assert.deepEqual(stage.turn("tools/burn", { coins: 5 }, { ...can, answers: { confirm: accepted({ confirm: true }) } }).reply, { ok: 0 });
});

test("C3 a declined, cancelled or unticked confirmation is a refusal without a trace", () => {
  const stage = testActor(chest);
  for (const confirm of [{ action: "decline" }, { action: "cancel" }, accepted({ confirm: false })]) {
    const turn = stage.turn("tools/burn", { coins: 5 }, { ...can, answers: { confirm } });
    assert.deepEqual(turn, { reply: { refused: { code: "NOT_CONFIRMED", message: "Not confirmed." } } });
  }
  for (const confirm of ["yes", accepted({ confirm: "yes" }), accepted(null), { action: "maybe" }, null]) {
    assert.equal(refusal(stage.turn("tools/burn", { coins: 5 }, { ...can, answers: { confirm } }).reply).code, "INVALID");
  }
  assert.equal(stage.state.gold, 5);
});

test("a tool runs at once if it has no question or its client cannot answer one", () => {
  const stage = testActor(chest);
  assert.deepEqual(stage.turn("tools/burn", { coins: 2 }, can).reply, { ok: 3 });
  assert.deepEqual(stage.turn("tools/burn", { coins: 3 }).reply, { ok: 0 });
});

test("work is confirmed before it starts", async () => {
  const stage = testActor(chest);
  const turn = await stage.work("tools/sink", {}, can);
  assert.ok(typeof turn.reply === "object" && "needs" in turn.reply);
  await stage.work("tools/sink", {}, { ...can, answers: { confirm: accepted({ confirm: true }) } });
  assert.equal(stage.state.gold, 0);
});

test("an answer that was given before the question confirms a forwarded call, unless it was to another question", () => {
  const from = "desk/main";
  const confirm = accepted({ confirm: true });
  const stage = testActor(chest);
  const other = stage.turn("tools/burn", { coins: 5 }, { ...can, from, answers: { confirm: null } }).reply;
  assert.deepEqual(typeof other === "object" && "needs" in other && Object.keys(other.needs), ["forwarded confirm"]);
  assert.deepEqual(stage.turn("tools/burn", { coins: 5 }, { ...can, from, answers: { confirm } }).reply, { ok: 0 });
});

test("an answer is for one question, also if its actor asks once it has forwarded the call", () => {
  const desk = actor("desk", {
    description: "Passes on.",
    state: z.object({}),
    tools: {
      pass: {
        description: "Pass on.",
        run({ ask, forward }) {
          const forwarded = forward(chest.at("main").tools.paint());
          ask({ colour: elicit("Which desk?") });
          return forwarded;
        },
      },
    },
  });
  const stage = testActor(desk);
  const sure = accepted({ yes: true });
  stage.turn("tools/pass", {}, { ...can, answers: { colour: accepted({ yes: true }), sure } });
  assert.deepEqual(stage.sent[0]?.answers, { colour: null, sure });
});

test("a tool with `confirm` is listed as destructive unless its annotations say otherwise", () => {
  const annotations = Object.fromEntries(chest.catalogue.tools.map((tool) => [tool.name, tool.definition["annotations"]]));
  assert.deepEqual(annotations, {
    burn: { destructiveHint: true },
    sink: { destructiveHint: false },
    paint: undefined,
    think: undefined,
    clash: { destructiveHint: true },
  });
});

test("C3 `ask` ends the turn with `needs`; with the answers it runs again from the top", () => {
  const stage = testActor(chest);
  assert.deepEqual(stage.turn("tools/paint").reply, { ok: "grey" });
  const { reply } = stage.turn("tools/paint", {}, can);
  assert.deepEqual(reply, {
    needs: {
      colour: {
        method: "elicitation/create",
        params: {
          message: "Which colour?",
          requestedSchema: { type: "object", properties: { name: { type: "string", enum: ["red", "blue"] } }, required: ["name"] },
        },
      },
      sure: {
        method: "elicitation/create",
        params: {
          message: "Sure?",
          requestedSchema: { type: "object", properties: { yes: { type: "boolean", title: "Yes", default: false } }, required: ["yes"] },
        },
      },
    },
  });
  const half = stage.turn("tools/paint", {}, { ...can, answers: { colour: accepted({ name: "red" }) } }).reply;
  assert.ok(typeof half === "object" && "needs" in half);
  assert.deepEqual(Object.keys(half.needs), ["sure"], "only the missing answers are requested");
  const answers = { colour: accepted({ name: "red" }), sure: accepted({ yes: true }) };
  assert.deepEqual(stage.turn("tools/paint", {}, { ...can, answers }).reply, { ok: "accept red" });
  assert.deepEqual(stage.turn("tools/paint", {}, { ...can, answers: { ...answers, colour: { action: "decline" } } }).reply, {
    ok: "decline red",
  });
  const wrong = refusal(stage.turn("tools/paint", {}, { ...can, answers: { ...answers, colour: accepted({ name: "green" }) } }).reply);
  assert.equal(wrong.code, "INVALID");
  assert.match(wrong.message, /^The answer does not fit: name: /);
});

test("`ask` is refused if the client lacks a capability, which is named", () => {
  const stage = testActor(chest);
  const { code, message, data } = refusal(stage.turn("tools/think").reply);
  assert.deepEqual([code, data], ["CANNOT_ASK", { capability: "sampling", capabilities: ["sampling", "roots"] }]);
  assert.match(message, /\(sampling, roots\)/);
  assert.match(refusal(stage.turn("tools/think", {}, { can: ["sampling"] }).reply).message, /\(roots\)/);
  const { reply } = stage.turn("tools/think", {}, { can: ["sampling", "roots"] });
  assert.deepEqual(reply, {
    needs: {
      thought: { method: "sampling/createMessage", params: { messages: [], maxTokens: 5 } },
      where: { method: "roots/list", params: {} },
    },
  });
  const thought = { role: "assistant", model: "m", content: { type: "text", text: "Hm." } };
  assert.deepEqual(stage.turn("tools/think", {}, { answers: { thought, where: { roots: [] } } }).reply, {
    ok: { thought: { ...thought, text: "Hm." }, where: { roots: [] } },
  });
});

test("questions other than forms, and those of extensions, need their own capability", () => {
  const stage = testActor(
    actor("asker", {
      description: "Asks in MCP's own words.",
      initial: () => ({}),
      tools: {
        further: {
          description: "Asks.",
          run: ({ ask }) =>
            ask({
              page: { method: "elicitation/create", params: { mode: "url", message: "Look.", url: "https://a.example" } },
              used: { method: "sampling/createMessage", params: { messages: [], maxTokens: 5, tools: [] } },
              seen: { method: "com.example/review/approve", params: {} },
            }),
        },
      },
    }),
  );
  const all = ["elicitation.url", "sampling.tools", "extension:com.example/review"];
  assert.deepEqual(Object.keys(Object(stage.turn("tools/further", {}, { can: all }).reply)["needs"]), ["page", "used", "seen"]);
  const short = refusal(stage.turn("tools/further", {}, { can: ["elicitation", "sampling"] }).reply);
  assert.deepEqual(short.data, { capability: "elicitation.url", capabilities: all });
});

test("the key of a tool's own confirmation is reserved", () => {
  const answers = { confirm: accepted({ confirm: true }) };
  assert.throws(() => testActor(chest).turn("tools/clash", {}, { ...can, answers }), /"confirm" is the key/);
});

// ── forms ───────────────────────────────────────────────────────────────────

const titled = [{ const: "r", title: "Red" }];

test("a form whose schema has an id is a form like any other", () => {
  const form = z.object({ name: z.string() }).meta({ id: "Form" });
  assert.deepEqual(
    elicit("?", form).request.params["requestedSchema"],
    elicit("?", z.object({ name: z.string() })).request.params["requestedSchema"],
  );
});

test("a form may have every field that MCP allows", () => {
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

const unfit: readonly (readonly [what: string, schema: object, reason: RegExp])[] = [
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
  ["an unknown format", z.object({ at: z.uuid() }), /, at: its format is none of email, uri, date, date-time\./],
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

for (const [what, schema, reason] of unfit)
  test(`a form that MCP does not allow is refused when it is created: ${what}`, () => {
    assert.throws(() => elicit("?", schema), { code: "BAD_DEFINITION", message: reason });
  });

// ── the client's model and folders ───────────────────────────────────────────

const question = sample({ messages: [{ role: "user", content: { type: "text", text: "Well?" } }], maxTokens: 9, temperature: 0 });
const textBlock = (text: string): Json => ({ type: "text", text });

test("the model's answer is returned unchanged and typed, with its text added", () => {
  assert.equal(question.request.params["temperature"], 0);
  const one = question.read({ role: "assistant", model: "m", content: textBlock("Yes."), stopReason: "endTurn", _meta: { n: 1 } });
  const typed: { readonly text: string; readonly model: string; readonly stopReason?: string } = one;
  assert.deepEqual(typed, {
    role: "assistant",
    model: "m",
    content: textBlock("Yes."),
    stopReason: "endTurn",
    _meta: { n: 1 },
    text: "Yes.",
  });
  const image = { type: "image", data: "", mimeType: "image/png" };
  assert.equal(question.read({ role: "assistant", model: "m", content: [textBlock("a"), image, textBlock("b")], text: "no" }).text, "a\nb");
  assert.equal(question.read({ role: "assistant", model: "m", content: image }).text, "");
});

test("the client's folders are returned unchanged and typed", () => {
  const given = roots().read({ roots: [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }] });
  const typed: readonly { readonly uri: string; readonly name?: string }[] = given.roots;
  assert.deepEqual(typed, [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }]);
});

test("an answer of another form is refused", () => {
  const answer = { role: "assistant", model: "m", content: textBlock("Yes.") };
  for (const wrong of [
    null,
    [],
    {},
    { ...answer, role: "system" },
    { ...answer, model: 5 },
    { ...answer, content: "Yes." },
    { ...answer, content: ["Yes."] },
    { ...answer, stopReason: 1 },
  ])
    assert.throws(() => question.read(wrong), { code: "INVALID", message: /no sampling result/ });
  for (const wrong of [null, {}, { roots: {} }, { roots: [{}] }, { roots: [{ uri: 1 }] }, { roots: [{ uri: "file:///a", name: 1 }] }])
    assert.throws(() => roots().read(wrong), { code: "INVALID", message: /no list of roots/ });
});
