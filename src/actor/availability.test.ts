import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Json, Reply } from "../contract/index.ts";
import { rehearse } from "../testing/index.ts";
import { actor, refuse } from "./index.ts";

const shop = actor("shop", {
  describe: "A shop.",
  initial: () => ({ open: true, goods: ["bread", "salt"], sold: [""] }),
  tools: {
    buy: {
      describe: "Buy.",
      input: z.object({ item: z.string(), also: z.array(z.string()).optional() }),
      when: (state) => state.open || "The shop is closed.",
      choices: { item: (state) => state.goods, also: (state, viewer) => (viewer.principal === "ann" ? state.goods : []) },
      run({ state, args }) {
        state.goods.splice(state.goods.indexOf(args.item), 1);
        state.sold.push(args.item);
        return args.item;
      },
    },
    audit: { describe: "Audit.", when: (_state, viewer) => viewer.scopes.includes("audit"), run: () => "audited" },
    close: { describe: "Close.", run: ({ state }) => void (state.open = false) },
    list: { describe: "List.", when: (state) => state.open || "The shop is closed.", view: (state) => state.goods },
    vault: { describe: "Vault.", when: () => false, view: () => "gold" },
  },
  resources: {
    shelf: { uri: "shop://{alias}/shelf/{item}", choices: { item: (state) => state.goods }, view: (_state, { args }) => args.item },
    office: { uri: "shop://{alias}/office", when: (state) => !state.open || "Not while the shop is open.", view: () => "papers" },
  },
  prompts: {
    ad: {
      describe: "Advertise.",
      input: z.object({ item: z.string(), loud: z.boolean().default(false), times: z.number().optional() }),
      choices: { item: (state) => state.goods },
      view: (_state, { args }) => `${args.item}${args.loud ? "!" : ""} ${args.times ?? 1}`,
    },
    plain: {
      describe: "Plain.",
      arguments: [{ name: "who", required: true }, { name: "how" }],
      view: (_state, { args }) => `${args["who"]} ${args["how"] ?? "-"}`,
    },
  },
});

function refusal(reply: Reply | "later" | undefined): { readonly code: string; readonly message: string; readonly data?: Json } {
  assert.ok(typeof reply === "object" && "refused" in reply, JSON.stringify(reply));
  return reply.refused;
}

test("law 3: an offer that is off with a reason is refused NOT_NOW with that reason, in turns and in views", () => {
  const stage = rehearse(shop);
  assert.deepEqual(stage.surface()?.off, { "tools/audit": true, "tools/vault": true, "resources/office": "Not while the shop is open." });
  assert.deepEqual(refusal(stage.view("resources/office")), { code: "NOT_NOW", message: "Not while the shop is open." });
  stage.turn("tools/close");
  assert.deepEqual(refusal(stage.turn("tools/buy", { item: "bread" }).reply), { code: "NOT_NOW", message: "The shop is closed." });
  assert.deepEqual(refusal(stage.turn("tools/list").reply), { code: "NOT_NOW", message: "The shop is closed." });
  assert.deepEqual(refusal(stage.view("tools/list")), { code: "NOT_NOW", message: "The shop is closed." });
  assert.deepEqual(stage.view("resources/office"), { ok: "papers" });
});

test("law 3: an offer that is off without a reason answers exactly as one that does not exist", () => {
  const stage = rehearse(shop);
  const hidden = refusal(stage.turn("tools/audit", { wrong: 1 }).reply);
  const unknown = refusal(stage.turn("tools/nothing", { wrong: 1 }).reply);
  assert.deepEqual(hidden, { code: "UNKNOWN", message: "There is no tools/audit here." });
  assert.deepEqual(unknown, { ...hidden, message: hidden.message.replace("audit", "nothing") });
  assert.deepEqual(refusal(stage.view("tools/vault")), { code: "UNKNOWN", message: "There is no tools/vault here." });
  assert.deepEqual(refusal(stage.view("tools/nothing")), { code: "UNKNOWN", message: "There is no tools/nothing here." });
  assert.equal(refusal(stage.view("tools/close")).code, "UNKNOWN", "what acts cannot be viewed");
  assert.deepEqual(stage.turn("tools/audit", {}, { viewer: { scopes: ["audit"] } }).reply, { ok: "audited" });
});

test("law 3: an argument outside its choices is refused in the turn, and the choices are named", () => {
  const stage = rehearse(shop, { viewer: { principal: "ann", scopes: [] } });
  assert.deepEqual(stage.surface()?.choices?.["tools/buy"], { item: ["bread", "salt"], also: ["bread", "salt"] });
  const told = refusal(stage.turn("tools/buy", { item: "gold" }).reply);
  assert.deepEqual([told.code, told.message], ["INVALID", 'Invalid arguments: item: must be one of "bread", "salt".']);
  assert.deepEqual(told.data, { issues: [{ path: "item", message: 'must be one of "bread", "salt"' }] });
  assert.equal(refusal(stage.turn("tools/buy", { item: "salt", also: ["bread", "gold"] }).reply).code, "INVALID");
  assert.deepEqual(stage.turn("tools/buy", { item: "salt", also: ["bread"] }).reply, { ok: "salt" });
  assert.equal(refusal(stage.turn("tools/buy", { item: "salt" }).reply).message, 'Invalid arguments: item: must be one of "bread".');
  assert.match(
    refusal(stage.turn("tools/buy", { item: "bread", also: ["x"] }, { viewer: { scopes: [] } }).reply).message,
    /nothing to choose from/,
  );
});

test("law 3: choices bind the variables of resources and the arguments of prompts alike", () => {
  const stage = rehearse(shop);
  assert.deepEqual(stage.view("resources/shelf", { item: "salt" }), { ok: "salt" });
  assert.equal(refusal(stage.view("resources/shelf", { item: "gold" })).code, "INVALID");
  assert.deepEqual(refusal(stage.view("resources/shelf", {})).data, { issues: [{ path: "item", message: "is required" }] });
  assert.equal(refusal(stage.view("prompts/ad", { item: "gold" })).code, "INVALID");
});

test("a prompt's arguments come as text and are read as what the schema says", () => {
  const stage = rehearse(shop);
  assert.deepEqual(stage.view("prompts/ad", { item: "salt", loud: "true", times: "3" }), { ok: "salt! 3" });
  assert.deepEqual(stage.view("prompts/ad", { item: "salt", loud: true }), { ok: "salt! 1" });
  assert.equal(refusal(stage.view("prompts/ad", { item: "salt", loud: "very" })).code, "INVALID");
  assert.equal(refusal(stage.view("prompts/ad", { item: "salt", times: "" })).code, "INVALID");
  assert.deepEqual(stage.view("prompts/plain", { who: "ann", stray: "x" }), { ok: "ann -" });
  assert.deepEqual(refusal(stage.view("prompts/plain", { how: "x" })).data, { issues: [{ path: "who", message: "is required" }] });
  assert.deepEqual(refusal(stage.view("prompts/plain", { who: 1 })).data, { issues: [{ path: "who", message: "must be text" }] });
  assert.equal(refusal(stage.view("prompts/plain", null)).code, "INVALID");
});

test("what cannot vary is one frozen surface, shared; what varies is computed anew", () => {
  const still = actor("still", {
    describe: "",
    initial: () => ({ n: 0 }),
    tools: { go: { describe: "", run: ({ state }) => void (state.n += 1) } },
  });
  const one = still.surface({ n: 0 }, { scopes: [] });
  assert.equal(one, still.surface({ n: 1 }, { principal: "x", scopes: [] }));
  assert.ok(Object.isFrozen(one));
  assert.equal(one.catalogue, still.catalogue);
  assert.equal(one.off, rehearse(actor("s", { describe: "", initial: () => ({}) })).surface()?.off);
});

test("links are part of the surface while they lead somewhere, their kinds part of the catalogue", () => {
  const player = actor("player", {
    describe: "",
    initial: () => ({ room: "" }),
    links: { "": { kinds: ["room"], to: (state) => (state.room === "" ? undefined : `room/${state.room}`) } },
    messages: { moved: { input: z.object({ to: z.string() }), run: ({ state, args }) => void (state.room = args.to) } },
  });
  const stage = rehearse(player);
  assert.deepEqual(player.catalogue.links, { "": ["room"] });
  assert.equal(stage.surface()?.links, undefined);
  stage.turn("moved", { to: "hall" });
  assert.deepEqual(stage.surface()?.links, { "": "room/hall" });
});

test("a refusal in `when` is a refusal of the turn", () => {
  const shy = actor("shy", {
    describe: "",
    initial: () => ({}),
    tools: { go: { describe: "", when: () => refuse("Ask nobody.", { code: "SHY" }), run() {} } },
  });
  assert.deepEqual(refusal(rehearse(shy).turn("tools/go").reply), { code: "SHY", message: "Ask nobody." });
});
