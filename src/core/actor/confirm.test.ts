import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Json, Reply } from "../contract/index.ts";
import { rehearse } from "../../testing/index.ts";
import { actor, elicit, roots, sample } from "./index.ts";

const chest = actor("chest", {
  describe: "A chest.",
  initial: () => ({ gold: 5, colour: "none" }),
  tools: {
    burn: {
      describe: "Burn it.",
      input: z.object({ coins: z.number().default(1) }),
      confirm: (state, args) => (args.coins >= state.gold ? `Burn all ${state.gold} coins?` : undefined),
      run({ state, args }) {
        state.gold -= args.coins;
        return state.gold;
      },
    },
    sink: {
      describe: "Sink it.",
      confirm: "Sink it for good?",
      annotations: { destructiveHint: false },
      work: async ({ state }) => void (state.gold = 0),
    },
    paint: {
      describe: "Paint it.",
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
    think: { describe: "Ask the model.", run: ({ ask }) => ask({ said: sample({ messages: [], maxTokens: 5 }), where: roots() }) },
    clash: { describe: "Uses the reserved key.", confirm: "Sure?", run: ({ ask }) => ask({ confirm: elicit("Again?") }) },
  },
});

const can = { can: ["elicitation"] };
const accepted = (content: Json): Json => ({ action: "accept", content });

function refusal(given: Reply | "later" | undefined): { readonly code: string; readonly message: string; readonly data?: Json } {
  assert.ok(typeof given === "object" && "refused" in given, JSON.stringify(given));
  return given.refused;
}

test("a destructive tool asks a client that can be asked, and runs when it is confirmed", () => {
  const stage = rehearse(chest);
  const asked = stage.turn("tools/burn", { coins: 5 }, can);
  assert.deepEqual(asked, {
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

test("C3 what is declined, cancelled or not ticked is refused without a trace", () => {
  const stage = rehearse(chest);
  for (const confirm of [{ action: "decline" }, { action: "cancel" }, accepted({ confirm: false })]) {
    const turn = stage.turn("tools/burn", { coins: 5 }, { ...can, answers: { confirm } });
    assert.deepEqual(turn, { reply: { refused: { code: "NOT_CONFIRMED", message: "Not confirmed." } } });
  }
  for (const confirm of ["yes", accepted({ confirm: "yes" }), accepted(null), { action: "maybe" }, null]) {
    assert.equal(refusal(stage.turn("tools/burn", { coins: 5 }, { ...can, answers: { confirm } }).reply).code, "INVALID");
  }
  assert.equal(stage.state.gold, 5);
});

test("a client that cannot be asked, and an act that needs no confirmation, go on at once", () => {
  const stage = rehearse(chest);
  assert.deepEqual(stage.turn("tools/burn", { coins: 2 }, can).reply, { ok: 3 });
  assert.deepEqual(stage.turn("tools/burn", { coins: 3 }).reply, { ok: 0 });
});

test("work is confirmed before it starts", async () => {
  const stage = rehearse(chest);
  const asked = await stage.work("tools/sink", {}, can);
  assert.ok(typeof asked.reply === "object" && "needs" in asked.reply);
  await stage.work("tools/sink", {}, { ...can, answers: { confirm: accepted({ confirm: true }) } });
  assert.equal(stage.state.gold, 0);
});

test("a tool that is confirmed is shown as destructive, unless its author says otherwise", () => {
  const annotations = Object.fromEntries(chest.catalogue.tools.map((tool) => [tool.name, tool.definition["annotations"]]));
  assert.deepEqual(annotations, {
    burn: { destructiveHint: true },
    sink: { destructiveHint: false },
    paint: undefined,
    think: undefined,
    clash: { destructiveHint: true },
  });
});

test("C3 `ask` ends the turn with what it needs, and runs again from the top with the answers", () => {
  const stage = rehearse(chest);
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
  assert.deepEqual(Object.keys(half.needs), ["sure"], "only what is still missing is asked");
  const answers = { colour: accepted({ name: "red" }), sure: accepted({ yes: true }) };
  assert.deepEqual(stage.turn("tools/paint", {}, { ...can, answers }).reply, { ok: "accept red" });
  assert.deepEqual(stage.turn("tools/paint", {}, { ...can, answers: { ...answers, colour: { action: "decline" } } }).reply, {
    ok: "decline red",
  });
  const wrong = refusal(stage.turn("tools/paint", {}, { ...can, answers: { ...answers, colour: accepted({ name: "green" }) } }).reply);
  assert.equal(wrong.code, "INVALID");
  assert.match(wrong.message, /^The answer does not fit: name: /);
});

test("asking a client that cannot be asked is refused, and says what is missing", () => {
  const stage = rehearse(chest);
  const { code, message, data } = refusal(stage.turn("tools/think").reply);
  assert.deepEqual([code, data], ["CANNOT_ASK", { capability: "sampling", capabilities: ["sampling", "roots"] }]);
  assert.match(message, /\(sampling, roots\)/);
  assert.match(refusal(stage.turn("tools/think", {}, { can: ["sampling"] }).reply).message, /\(roots\)/);
  const { reply } = stage.turn("tools/think", {}, { can: ["sampling", "roots"] });
  assert.deepEqual(reply, {
    needs: {
      said: { method: "sampling/createMessage", params: { messages: [], maxTokens: 5 } },
      where: { method: "roots/list", params: {} },
    },
  });
  const said = { role: "assistant", model: "m", content: { type: "text", text: "Hm." } };
  assert.deepEqual(stage.turn("tools/think", {}, { answers: { said, where: { roots: [] } } }).reply, {
    ok: { said: { ...said, text: "Hm." }, where: { roots: [] } },
  });
});

test("what MCP has beside forms, and what an extension asks, takes its own capability", () => {
  const stage = rehearse(
    actor("asker", {
      describe: "Asks in MCP's own words.",
      initial: () => ({}),
      tools: {
        further: {
          describe: "Asks.",
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

test("the key of a tool's own confirmation is taken", () => {
  const answers = { confirm: accepted({ confirm: true }) };
  assert.throws(() => rehearse(chest).turn("tools/clash", {}, { ...can, answers }), /"confirm" is the key/);
});
