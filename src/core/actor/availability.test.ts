import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Json, JsonObject, Reply } from "../contract/index.ts";
import { testActor } from "../../testing/index.ts";
import { actor, elicit, refuse } from "./index.ts";

const shop = actor("shop", {
  description: "A shop.",
  initial: () => ({ open: true, goods: ["bread", "salt"], sold: [""] }),
  tools: {
    buy: {
      description: "Buy.",
      input: z.object({ item: z.string(), also: z.array(z.string()).optional() }),
      enabled: ({ state }) => state.open || "The shop is closed.",
      choices: { item: ({ state }) => state.goods, also: ({ state, viewer }) => (viewer.principal === "ann" ? state.goods : []) },
      run({ state, args }) {
        state.goods.splice(state.goods.indexOf(args.item), 1);
        state.sold.push(args.item);
        return args.item;
      },
    },
    audit: { description: "Audit.", enabled: ({ viewer }) => viewer.scopes.includes("audit"), run: () => "audited" },
    close: { description: "Close.", run: ({ state }) => void (state.open = false) },
    list: { description: "List.", enabled: ({ state }) => state.open || "The shop is closed.", view: ({ state }) => state.goods },
    vault: { description: "Vault.", enabled: () => false, view: () => "gold" },
  },
  resources: {
    aisle: { uri: "shop://{alias}/aisle/{item}", choices: { item: ({ state }) => state.goods }, view: ({ args }) => args.item },
    office: { uri: "shop://{alias}/office", enabled: ({ state }) => !state.open || "Not while the shop is open.", view: () => "papers" },
  },
  prompts: {
    ad: {
      description: "Advertise.",
      input: z.object({ item: z.string(), loud: z.boolean().default(false), times: z.number().optional() }),
      choices: { item: ({ state }) => state.goods },
      view: ({ args }) => `${args.item}${args.loud ? "!" : ""} ${args.times ?? 1}`,
    },
    plain: {
      description: "Plain.",
      arguments: [{ name: "who", required: true }, { name: "how" }],
      view: ({ args }) => `${args["who"]} ${args["how"] ?? "-"}`,
    },
  },
});

function refusal(reply: Reply | "later" | undefined): { readonly code: string; readonly message: string; readonly data?: Json } {
  assert.ok(typeof reply === "object" && "refused" in reply, JSON.stringify(reply));
  return reply.refused;
}

test("law 3: a call of an offer that is off for a reason is refused NOT_NOW with it #actors.when #spec.6.clear-ui", () => {
  const stage = testActor(shop);
  assert.deepEqual(stage.surface()?.off, { "tools/audit": true, "tools/vault": true, "resources/office": "Not while the shop is open." });
  assert.deepEqual(refusal(stage.view("resources/office")), { code: "NOT_NOW", message: "Not while the shop is open." });
  stage.turn("tools/close");
  assert.deepEqual(refusal(stage.turn("tools/buy", { item: "bread" }).reply), { code: "NOT_NOW", message: "The shop is closed." });
  assert.deepEqual(refusal(stage.turn("tools/list").reply), { code: "NOT_NOW", message: "The shop is closed." });
  assert.deepEqual(refusal(stage.view("tools/list")), { code: "NOT_NOW", message: "The shop is closed." });
  assert.deepEqual(stage.view("resources/office"), { ok: "papers" });
});

test("law 3: a call of a hidden offer gets the same reply as one that does not exist #actors.when", () => {
  const stage = testActor(shop);
  const hidden = refusal(stage.turn("tools/audit", { wrong: 1 }).reply);
  const unknown = refusal(stage.turn("tools/nothing", { wrong: 1 }).reply);
  assert.deepEqual(hidden, { code: "UNKNOWN", message: "There is no tools/audit here." });
  assert.deepEqual(unknown, { ...hidden, message: hidden.message.replace("audit", "nothing") });
  assert.deepEqual(refusal(stage.view("tools/vault")), { code: "UNKNOWN", message: "There is no tools/vault here." });
  assert.deepEqual(refusal(stage.view("tools/nothing")), { code: "UNKNOWN", message: "There is no tools/nothing here." });
  assert.equal(refusal(stage.view("tools/close")).code, "UNKNOWN", "what acts cannot be viewed");
  assert.deepEqual(stage.turn("tools/audit", {}, { viewer: { scopes: ["audit"] } }).reply, { ok: "audited" });
});

test("law 3: an argument that is not among its choices is refused; they are listed #actors.choices", () => {
  const stage = testActor(shop, { viewer: { principal: "ann", scopes: [] } });
  assert.deepEqual(stage.surface()?.choices?.["tools/buy"], { item: ["bread", "salt"], also: ["bread", "salt"] });
  const refused = refusal(stage.turn("tools/buy", { item: "gold" }).reply);
  assert.deepEqual([refused.code, refused.message], ["INVALID", 'Invalid arguments: item: must be one of "bread", "salt".']);
  assert.deepEqual(refused.data, { issues: [{ path: "item", message: 'must be one of "bread", "salt"' }] });
  assert.equal(refusal(stage.turn("tools/buy", { item: "salt", also: ["bread", "gold"] }).reply).code, "INVALID");
  assert.deepEqual(stage.turn("tools/buy", { item: "salt", also: ["bread"] }).reply, { ok: "salt" });
  assert.equal(refusal(stage.turn("tools/buy", { item: "salt" }).reply).message, 'Invalid arguments: item: must be one of "bread".');
  assert.match(
    refusal(stage.turn("tools/buy", { item: "bread", also: ["x"] }, { viewer: { scopes: [] } }).reply).message,
    /nothing to choose from/,
  );
});

test("law 3: choices apply to variables of resources and arguments of prompts too #actors.choices #spec.7.validation.uris", () => {
  const stage = testActor(shop);
  assert.deepEqual(stage.view("resources/aisle", { item: "salt" }), { ok: "salt" });
  assert.equal(refusal(stage.view("resources/aisle", { item: "gold" })).code, "INVALID");
  assert.deepEqual(refusal(stage.view("resources/aisle", {})).data, { issues: [{ path: "item", message: "is required" }] });
  assert.equal(refusal(stage.view("prompts/ad", { item: "gold" })).code, "INVALID");
});

test("a prompt's arguments arrive as text and are parsed as the schema says #spec.3.validation", () => {
  const stage = testActor(shop);
  assert.deepEqual(stage.view("prompts/ad", { item: "salt", loud: "true", times: "3" }), { ok: "salt! 3" });
  assert.deepEqual(stage.view("prompts/ad", { item: "salt", loud: true }), { ok: "salt! 1" });
  assert.equal(refusal(stage.view("prompts/ad", { item: "salt", loud: "very" })).code, "INVALID");
  assert.equal(refusal(stage.view("prompts/ad", { item: "salt", times: "" })).code, "INVALID");
  assert.deepEqual(stage.view("prompts/plain", { who: "ann", extra: "x" }), { ok: "ann -" });
  assert.deepEqual(refusal(stage.view("prompts/plain", { how: "x" })).data, { issues: [{ path: "who", message: "is required" }] });
  assert.deepEqual(refusal(stage.view("prompts/plain", { who: 1 })).data, { issues: [{ path: "who", message: "must be text" }] });
  assert.equal(refusal(stage.view("prompts/plain", null)).code, "INVALID");
});

test("the choices of an offer with scopes are listed only for viewers that have them", () => {
  const choices = { item: ({ state }: { readonly state: { readonly goods: readonly string[] } }) => state.goods };
  const input = z.object({ item: z.string() });
  const guarded = actor("guarded", {
    description: "",
    initial: () => ({ goods: ["bread"] }),
    tools: {
      take: { description: "", input, scopes: ["staff"], choices, run() {} },
      ask: { description: "", input, choices, run() {} },
    },
    resources: { aisle: { uri: "shop://{item}", scopes: ["staff"], choices, view: () => "" } },
    prompts: { ad: { description: "", input, scopes: ["staff"], choices, view: () => "" } },
  });
  const given = { item: ["bread"] };
  const choicesFor = (scopes: readonly string[]) => guarded.surface({ goods: ["bread"] }, { scopes }).choices;
  assert.deepEqual(choicesFor([]), { "tools/ask": given });
  assert.deepEqual(choicesFor(["staff"]), { "tools/take": given, "tools/ask": given, "resources/aisle": given, "prompts/ad": given });
});

test("a constant surface is one frozen, shared object; a varying one is computed", () => {
  const still = actor("still", {
    description: "",
    initial: () => ({ n: 0 }),
    tools: { go: { description: "", run: ({ state }) => void (state.n += 1) } },
  });
  const one = still.surface({ n: 0 }, { scopes: [] });
  assert.equal(one, still.surface({ n: 1 }, { principal: "x", scopes: [] }));
  assert.ok(Object.isFrozen(one));
  assert.equal(one.catalogue, still.catalogue);
  assert.equal(one.off, testActor(actor("s", { description: "", initial: () => ({}) })).surface()?.off);
});

test("active links are in the surface, and the kinds of all links in the catalogue", () => {
  const player = actor("player", {
    description: "",
    initial: () => ({ room: "" }),
    links: { "": { kinds: ["room"], to: ({ state }) => (state.room === "" ? undefined : `room/${state.room}`) } },
    messages: { moved: { input: z.object({ to: z.string() }), run: ({ state, args }) => void (state.room = args.to) } },
  });
  const stage = testActor(player);
  assert.deepEqual(player.catalogue.links, { "": ["room"] });
  assert.equal(stage.surface()?.links, undefined);
  stage.turn("moved", { to: "hall" });
  assert.deepEqual(stage.surface()?.links, { "": "room/hall" });
});

test("a link may give a reason why it is off, and must point to a kind it declares", () => {
  const clerk = actor("clerk", {
    description: "",
    initial: () => ({ at: "" }),
    links: {
      desk: {
        kind: "desk",
        enabled: ({ state: { at } }) => (at === "hidden" ? false : at !== "" || "Submit it first."),
        to: ({ state: { at } }) => (at === "missing" ? undefined : `${at === "safe" ? "safe" : "desk"}/main`),
      },
    },
    messages: { moved: { input: z.object({ to: z.string() }), run: ({ state, args }) => void (state.at = args.to) } },
  });
  const stage = testActor(clerk);
  assert.deepEqual([stage.surface()?.links, stage.surface()?.linksOff], [undefined, { desk: "Submit it first." }]);
  stage.turn("moved", { to: "here" });
  assert.deepEqual([stage.surface()?.links, stage.surface()?.linksOff], [{ desk: "desk/main" }, undefined]);
  stage.turn("moved", { to: "missing" });
  assert.deepEqual([stage.surface()?.links, stage.surface()?.linksOff], [undefined, undefined]);
  stage.turn("moved", { to: "hidden" });
  assert.deepEqual([stage.surface()?.links, stage.surface()?.linksOff], [undefined, undefined]);
  const heard: string[] = [];
  for (let time = 0; time < 2; time += 1)
    assert.equal(clerk.surface({ at: "safe" }, { scopes: [] }, ({ code, message }) => heard.push(`${code} ${message}`)).links, undefined);
  assert.deepEqual(heard, [
    'OUT_OF_ORDER The link "desk" is out of order: its `to` gave an actor of the kind "safe", which its `kinds` do not have: add it there.',
  ]);
});

test("law 3: a throwing `enabled` of a link hides it and is reported; a refusal is its reason", () => {
  const till = actor("till", {
    description: "",
    initial: () => ({}),
    links: {
      odd: {
        kind: "desk",
        enabled: () => {
          throw new RangeError("no");
        },
        to: () => "desk/main",
      },
      shy: { kind: "desk", enabled: () => refuse("Not you."), to: () => "desk/main" },
      plain: { kind: "desk", to: () => Object({ off: "Closed." }) },
    },
  });
  const heard: string[] = [];
  const surface = till.surface({}, { scopes: [] }, ({ message }) => heard.push(message));
  assert.deepEqual([surface.links, surface.linksOff], [undefined, { shy: "Not you." }]);
  assert.match(heard[0] ?? "", /^The link "odd" is out of order: its `enabled` threw RangeError/);
  assert.match(heard[1] ?? "", /^The link "plain" is out of order: its `to` gave an object: .*`enabled`/);
  assert.equal(heard.length, 2);
});

test("a link by argument has its keys in the surface while it is on", () => {
  const clerk = actor("clerk", {
    description: "",
    initial: () => ({ known: ["a"], off: "" }),
    links: {
      desk: { kind: "desk", enabled: ({ state }) => state.off === "" || state.off, choices: ({ state }) => state.known },
      any: { kind: "desk", by: "key" },
      odd: { kind: "desk", choices: () => JSON.parse("[1]") },
    },
  });
  assert.deepEqual(clerk.catalogue.linkArguments, { desk: "desk", any: "key", odd: "odd" });
  const heard: string[] = [];
  const look = (state: { readonly known: string[]; readonly off: string }) =>
    clerk.surface(state, { scopes: [] }, ({ message }) => heard.push(message));
  assert.deepEqual(look({ known: ["a"], off: "" }).linkKeys, { desk: ["a"], any: true });
  const shut = look({ known: ["a"], off: "Closed." });
  assert.deepEqual([shut.linkKeys, shut.linksOff], [{ any: true }, { desk: "Closed." }]);
  assert.deepEqual(heard, ['The link "odd" is out of order: its `choices` gave a list that holds a number: give a list of texts.']);
});

test("a link takes kinds as objects or by name", () => {
  const desk = actor("desk", { description: "", initial: () => ({}) });
  const clerk = actor("clerk", {
    description: "",
    initial: () => ({}),
    links: { one: { kind: desk, to: () => desk.id("main") }, two: { kinds: [desk, "clerk"], to: () => undefined } },
  });
  assert.deepEqual(clerk.catalogue.links, { one: ["desk"], two: ["desk", "clerk"] });
});

test("a refusal thrown by `enabled` refuses the turn", () => {
  const shy = actor("shy", {
    description: "",
    initial: () => ({}),
    tools: { go: { description: "", enabled: () => refuse("Do not ask.", { code: "SHY" }), run() {} } },
  });
  assert.deepEqual(refusal(testActor(shy).turn("tools/go").reply), { code: "SHY", message: "Do not ask." });
});

const half = actor("half", {
  description: "Half of it is broken.",
  initial: () => ({ open: true, goods: ["bread"] }),
  links: {
    "": {
      kinds: ["room"],
      to: () => {
        throw new Error("no way");
      },
    },
    side: { kinds: ["room"], to: () => "room/side" as const },
  },
  tools: {
    good: {
      description: "Works.",
      choices: { item: ({ state }) => state.goods },
      input: z.object({ item: z.string() }),
      run: () => "done",
    },
    throws: {
      description: "Throws.",
      enabled: () => {
        throw new RangeError("the author's own words");
      },
      run: () => "never",
    },
    refuses: { description: "Refuses.", enabled: () => refuse("The author says no."), run: () => "never" },
  },
  resources: {
    picky: {
      uri: "half://{alias}/picky/{item}",
      choices: {
        item: () => {
          throw new RangeError("no choices");
        },
      },
      view: () => "never",
    },
  },
  prompts: { fine: { description: "Works.", view: () => "fine" } },
});

test("law 3: a throwing `enabled`, `choices` or link disables its own offer; reported once", () => {
  const heard: Error[] = [];
  const listen = (error: Error): void => void heard.push(error);
  const stage = testActor(half);
  const [state, viewer] = [stage.state, { scopes: [] }];
  const surface = half.surface(state, viewer, listen);
  const reasons = { "tools/throws": "This tool is out of order.", "tools/refuses": "The author says no." };
  assert.deepEqual(surface.off, { ...reasons, "resources/picky": "This resource is out of order." });
  assert.deepEqual(surface.choices, { "tools/good": { item: ["bread"] } });
  assert.deepEqual(surface.links, { side: "room/side" });
  assert.deepEqual(stage.turn("tools/good", { item: "bread" }).reply, { ok: "done" });
  assert.deepEqual(stage.view("prompts/fine"), { ok: "fine" });

  half.surface({ ...state, open: false }, { principal: "ann", scopes: [] }, listen);
  assert.deepEqual(
    heard.map((error) => [error.message, "code" in error && error.code, error.cause instanceof Error && error.cause.message]),
    [
      ["tools/throws is out of order: its `enabled` threw RangeError. Mend it; the rest works.", "OUT_OF_ORDER", "the author's own words"],
      ["resources/picky is out of order: its `choices.item` threw RangeError. Mend it; the rest works.", "OUT_OF_ORDER", "no choices"],
      ['The link "" is out of order: its `to` threw Error. Mend it; the rest works.', "OUT_OF_ORDER", "no way"],
    ],
  );
  // The frames are those of the author's code.
  for (const error of heard) assert.match(String(error.stack).split("\n")[1] ?? "", /availability\.test\.ts/);
});

test("law 3: an `enabled`, `choices` or link with a wrong result is out of order, with advice", () => {
  const wrong = (value: unknown) => () => JSON.parse(JSON.stringify(value));
  const odd = actor("odd", {
    description: "Written without types.",
    initial: () => ({}),
    links: { "": { kinds: ["room"], to: wrong("hall") } },
    tools: {
      count: { description: "A number.", enabled: wrong(3), run: () => "never" },
      wait: { description: "A promise.", enabled: Object(() => Promise.resolve(true)), run: () => "never" },
      pick: { description: "No list.", input: z.object({ a: z.string() }), choices: { a: wrong("abc") }, run: () => "never" },
      mixed: { description: "No texts.", input: z.object({ a: z.string() }), choices: { a: wrong([1]) }, run: () => "never" },
      free: { description: "Fine.", enabled: () => true, run: () => "done" },
    },
  });
  const heard: Error[] = [];
  const surface = odd.surface({}, { scopes: [] }, (error) => heard.push(error));
  assert.deepEqual(Object.keys(surface.off), ["tools/count", "tools/wait", "tools/pick", "tools/mixed"]);
  assert.deepEqual([new Set(Object.values(surface.off)), surface.links], [new Set(["This tool is out of order."]), undefined]);
  const messages = heard.map((error) => error.message).join("\n");
  assert.match(messages, /tools\/count.+its `enabled` gave a number: give true, false, or the reason it is off as text/);
  assert.match(messages, /tools\/wait.+its `enabled` gave a promise: give true/);
  assert.match(messages, /tools\/pick.+its `choices\.a` gave text: give a list of texts/);
  assert.match(messages, /tools\/mixed.+its `choices\.a` gave a list that holds a number: give a list of texts/);
  assert.match(messages, /The link "".+its `to` gave text: give an id, as `kind\.id\(key\)` makes it, or undefined/);

  const stage = testActor(odd);
  assert.throws(() => stage.turn("tools/count"), { code: "OUT_OF_ORDER", message: /`enabled` gave a number/ });
  assert.throws(() => stage.turn("tools/pick", { a: "a" }), { code: "OUT_OF_ORDER", message: /`choices\.a` gave text/ });
  assert.deepEqual(stage.turn("tools/free").reply, { ok: "done" });
});

test("a long list of values is compared with the choices in linear time", () => {
  let looks = 0;
  const names = ["bread", "salt"];
  const counted = Object.assign([...names], {
    includes(name: string): boolean {
      looks += 1;
      return names.includes(name);
    },
  });
  const market = actor("market", {
    description: "A market.",
    state: z.object({}),
    tools: {
      buy: {
        description: "Buy.",
        input: z.object({ all: z.array(z.string()) }),
        choices: { all: () => counted },
        run: ({ args }) => args.all.length,
      },
    },
  });
  const stage = testActor(market);
  assert.deepEqual(stage.turn("tools/buy", { all: Array.from({ length: 1_000 }, () => "salt") }).reply, { ok: 1_000 });
  assert.equal(refusal(stage.turn("tools/buy", { all: ["salt", "gold"] }).reply).code, "INVALID");
  assert.equal(looks, 0);
});

test("links, choices and answers may have the names of members that every object has", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    const named = <T>(value: T): Record<string, T> => Object.fromEntries([[name, value]]);
    const kind = (link: object) =>
      actor("main", {
        description: "Links.",
        initial: () => ({}),
        links: Object(named({ kind: "kid", ...link })),
        tools: {
          pick: {
            description: "Pick.",
            input: { type: "object", properties: named({ type: "string" }) },
            choices: Object(named(() => ["a"])),
            run: ({ ask }) => ask(Object(named(elicit("Sure?", z.object({ yes: z.boolean() }))))),
          },
        },
      });
    const surfaceOf = (link: object): JsonObject => Object(testActor(kind(link)).surface());
    assert.deepEqual(surfaceOf({ to: () => "kid/a" })["links"], named("kid/a"), name);
    assert.deepEqual(surfaceOf({ to: () => "kid/a", enabled: () => "No." })["linksOff"], named("No."), name);
    assert.deepEqual(surfaceOf({ by: "key", choices: () => ["a"] })["linkKeys"], named(["a"]), name);
    assert.deepEqual(surfaceOf({ to: () => "kid/a" })["choices"], { "tools/pick": named(["a"]) }, name);
    const answers = named({ action: "accept", content: { yes: true } });
    const { reply } = testActor(kind({ to: () => "kid/a" })).turn("tools/pick", named("a"), { answers, can: ["elicitation"] });
    assert.deepEqual(reply, { ok: named({ action: "accept", content: { yes: true } }) }, name);
  }
});
