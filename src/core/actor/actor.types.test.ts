import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { ActorId, Reply } from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { memoryStore } from "../store/index.ts";
import { actor, content, elicit, type Forwarded, hasClaim, type MessageRef, refuse, type StateOf } from "./index.ts";

// What must not compile stands under `@ts-expect-error`: the type checker fails when one of these begins to compile.
// The definitions are in functions that are never called, since some are refused at run time too.

const state = z.object({ open: z.boolean().default(false), items: z.array(z.string()).default([]) });

const room = actor("room", {
  description: "A room.",
  per: "link",
  state,
  tools: {
    take: {
      description: "Take.",
      input: z.object({ item: z.string(), count: z.number().default(1) }),
      output: z.object({ taken: z.number() }),
      enabled: ({ state: now }) => now.items.length > 0 || "It is empty.",
      choices: { item: ({ state: now }) => now.items },
      confirm: ({ state: now, args }) => (now.open && args.count > 3 ? "So many?" : undefined),
      run({ state: draft, args, random, ask }) {
        const many: number = args.count;
        draft.items.push(args.item);
        const { sure } = ask({ sure: elicit("Really?", z.object({ yes: z.boolean() })) });
        if (sure.action === "accept" && !sure.content.yes) refuse("Then not.");
        return { taken: many + random() };
      },
    },
    list: {
      description: "A part of the state is a result as it is.",
      output: z.object({ items: z.array(z.string()), pair: z.tuple([z.string(), z.number()]).optional() }),
      view: ({ state: now }) => ({ items: now.items, pair: ["a", now.items.length] as const }),
    },
    look: { description: "Look.", view: ({ state: now, viewer }) => ({ now, who: viewer.principal }) },
    weigh: {
      description: "Weigh.",
      input: z.object({ item: z.string() }),
      output: z.object({ grams: z.number() }),
      async work({ args, signal, call, progress, state: draft }) {
        progress(1, 2);
        const reply = await call("scale/main", "weigh", { item: args.item });
        draft.open = !signal.aborted && "ok" in reply;
        return { grams: 3 };
      },
    },
    plain: { description: "Plain JSON Schema.", input: { type: "object", properties: { a: {} } }, run: ({ args }) => Object.keys(args) },
    rich: { description: "Content.", output: z.object({ a: z.string() }), run: () => content(["hi"], { a: "b" }) },
    held: { description: "Held.", run: ({ later }) => later() },
  },
  resources: { log: { uri: "room://{alias}/log/{day}", view: ({ state: now, args }) => ({ day: args.day, items: now.items }) } },
  prompts: {
    start: { description: "Start.", input: z.object({ tone: z.string() }), view: ({ args }) => `Speak ${args.tone}.` },
    help: { description: "Help.", arguments: [{ name: "topic" }], view: ({ args }) => args["topic"] ?? "all" },
  },
  messages: {
    arrive: {
      input: z.object({ player: z.string(), loud: z.boolean().default(false) }),
      run({ state: draft, args }) {
        const loud: boolean = args.loud;
        draft.items.push(loud ? args.player.toUpperCase() : args.player);
      },
    },
    gained: {
      replies: true,
      run({ args, state: draft }) {
        const to: ActorId = args.to;
        if ("refused" in args.reply) draft.items.push(to, args.reply.refused.message, args.of);
      },
    },
    ended: { run: ({ args }) => args.reason.length },
    failed: { run: ({ args, restart }) => void (args.why.length > 0 && restart(args.child)) },
    tick: {
      run({ state: draft }) {
        draft.open = true;
      },
    },
  },
});

test("types: state, arguments with their defaults, replies and messages are inferred #actors.inference #actors.must-not-compile #actors.messages", () => {
  const now: StateOf<typeof room> = { open: true, items: ["torch"] };
  assert.deepEqual(room.at("a b").arrive({ player: "ann" }), { to: "room/a%20b", action: "arrive", args: { player: "ann" } });
  assert.deepEqual(room.at("a").tick(), { to: "room/a", action: "tick", args: null });
  const id: `room/${string}` = room.id("x");
  assert.equal(id, "room/x");
  const born = actor("born", {
    description: "With `initial`.",
    initial: ({ key }) => ({ name: key, n: 1 }),
    tools: {
      up: {
        description: "Up.",
        run({ state: draft }) {
          draft.n += draft.name.length;
        },
      },
    },
  });
  const other: StateOf<typeof born> = { name: "x", n: 2 };
  assert.deepEqual([now.open, other.n], [true, 2]);
});

const guest = actor("guest", {
  description: "Links to kinds, and by name to its own.",
  per: "user",
  state: z.object({ at: z.string().default(""), friend: z.string().optional() }),
  links: {
    room: { kind: room, enabled: ({ state: now }) => now.at !== "" || "Go somewhere first.", to: ({ state: now }) => room.id(now.at) },
    friend: { kind: "guest", to: ({ state: now }) => (now.friend === undefined ? undefined : `guest/${now.friend}`) },
    visited: { kind: room, by: "place", enabled: ({ state: now }) => now.at !== "", choices: ({ state: now }) => [now.at] },
    every: { kind: room },
    any: { kinds: [room, "guest"], to: ({ viewer }) => (viewer.principal === undefined ? undefined : room.id(viewer.principal)) },
  },
});

test("types: links take kinds, and functions of the state", () => {
  assert.deepEqual(guest.catalogue.links, {
    room: ["room"],
    friend: ["guest"],
    visited: ["room"],
    every: ["room"],
    any: ["room", "guest"],
  });
  assert.deepEqual(guest.catalogue.linkArguments, { visited: "place", every: "every" });
});

const counting = z.object({ n: z.number().default(0) });
const chime = actor("chime", {
  description: "No message of it has an `input`.",
  state: counting,
  messages: {
    nudge: {
      run({ state: draft, args }) {
        draft.n += args === null ? 1 : 0;
      },
    },
    wait: {
      async work({ state: draft }) {
        draft.n += 1;
      },
    },
    rung: {
      replies: true,
      run({ state: draft, args }) {
        draft.n += args.of.length;
      },
    },
    ended: { run: ({ args }) => args.reason.length },
  },
});
const gong = actor("gong", {
  description: "Nor of this, whose tool has one.",
  state: counting,
  tools: { ring: { description: "Ring.", input: z.object({ times: z.number() }), run: ({ args }) => args.times } },
  messages: {
    nudge: {
      run({ state: draft }) {
        draft.n += 1;
      },
    },
  },
});
const mute = actor("mute", { description: "No messages.", state: counting });
const deaf = actor("deaf", { description: "An empty list of them.", state: counting, messages: {} });

test("types: messages are sent by name also where none has an input", () => {
  const at = chime.at("a");
  assert.deepEqual(
    [at.nudge(), at.wait({ a: 1 }), at.rung(null, { deadline: 1 })],
    [
      { to: "chime/a", action: "nudge", args: null },
      { to: "chime/a", action: "wait", args: { a: 1 } },
      { to: "chime/a", action: "rung", args: null, deadline: 1 },
    ],
  );
  assert.deepEqual(gong.at("a").nudge(), { to: "gong/a", action: "nudge", args: null });
  assert.deepEqual([mute.id("a"), deaf.id("a")], ["mute/a", "deaf/a"]);
});

const scale = actor("scale", {
  description: "Some of its messages say what they answer.",
  state: counting,
  messages: {
    weigh: {
      input: z.object({ item: z.string() }),
      output: z.object({ grams: z.number(), of: z.string().optional() }),
      run({ state: draft, args, send }) {
        draft.n += 1;
        send(scale.at("other").nudge());
        return { grams: args.item.length };
      },
    },
    nudge: { run: ({ state: draft }) => void (draft.n += 1) },
  },
});
const tally = actor("tally", {
  description: "None of its messages has an input.",
  state: counting,
  messages: {
    count: { output: z.object({ n: z.number() }), run: ({ state: draft }) => draft },
    heaviest: {
      output: z.number(),
      async work({ call, state: draft }) {
        const reply = await call(scale.at("x").weigh({ item: "sword" }));
        return "ok" in reply ? reply.ok.grams + (reply.ok.of?.length ?? 0) : draft.n;
      },
    },
    nudge: { run: ({ state: draft }) => void (draft.n += 1) },
  },
});

test("types: the reply to a message with an `output` is typed, in engines and in work", async () => {
  await using engine = await LocalEngine.start({ kinds: [scale, tally], store: memoryStore() });
  await engine.call(scale.at("x").nudge());
  const weighed = await engine.call(scale.at("x").weigh({ item: "axe" }));
  const grams: number = "ok" in weighed ? weighed.ok.grams : 0;
  const heaviest = await engine.call(tally.at("x").heaviest());
  const most: number = "ok" in heaviest ? heaviest.ok : 0;
  const counted = await engine.call(tally.at("x").count());
  const bare: Reply = await engine.call(tally.at("x").nudge());
  assert.deepEqual([grams, most, counted, bare], [3, 5, { ok: { n: 0 } }, { ok: null }]);
});

test("a message's reply is parsed by its `output` schema; one that does not fit is a crash", async () => {
  let value: unknown = 1;
  const kind = actor("odd", {
    description: "Odd.",
    state: counting,
    messages: { ask: { output: z.object({ n: z.number() }), run: () => Object(value) } },
  });
  await using engine = await LocalEngine.start({ kinds: [kind], store: memoryStore() });
  const ask = () => engine.call(kind.at("a").ask());
  await assert.rejects(ask(), { code: "CRASHED", applied: false });
  value = { n: 1, extra: 2 };
  assert.deepEqual(await ask(), { ok: { n: 1 } });
});

const porter = actor("porter", {
  description: "Forwards.",
  state: counting,
  tools: {
    weigh: {
      description: "The reply is that of the other message.",
      input: z.object({ item: z.string() }),
      output: z.object({ grams: z.number() }),
      run: ({ forward, args }) => forward(scale.at("x").weigh(args)),
    },
    nudge: { description: "Without an output, any reply will do.", run: ({ forward }) => forward(scale.at("x").nudge()) },
    work: {
      description: "Work may forward what it ends in.",
      output: z.object({ grams: z.number() }),
      work: async ({ forward }) => forward(scale.at("x").weigh({ item: "a" })),
    },
  },
  messages: {
    weigh: {
      input: z.object({ item: z.string() }),
      output: z.object({ grams: z.number() }),
      run: ({ forward, args }) => forward(scale.at("x").weigh(args)),
    },
  },
});

test("types: what is forwarded has the type of the other message's `output`", () => {
  assert.equal(porter.at("x").weigh({ item: "a" }).action, "weigh");
});

const desk = actor("desk", {
  description: "A desk with roles.",
  state,
  allow: {
    responder: ({ viewer }) => hasClaim(viewer, "roles", "responder"),
    manager: { holds: ({ viewer }) => viewer.claims?.["manager"] === true, reason: "Only managers may do this." },
  },
  tools: {
    close: {
      description: "Close.",
      input: z.object({ why: z.string() }),
      allow: "responder",
      run({ state: draft, args, viewer }) {
        const roles: readonly string[] = viewer.roles ?? [];
        draft.items.push(args.why.trim(), ...roles);
      },
    },
    look: { description: "Look.", allow: ["responder", "manager"], view: ({ state: now }) => now.items.length },
  },
  resources: { log: { uri: "desk://log/{day}", allow: ["manager"], view: ({ args }) => args.day.trim() } },
  prompts: {
    brief: { description: "Brief.", input: z.object({ tone: z.string() }), allow: "manager", view: ({ args }) => args.tone.trim() },
  },
  links: { room: { kind: room, allow: "manager", to: ({ state: now }) => (now.open ? room.id("x") : undefined) } },
  messages: { note: { input: z.object({ text: z.string() }), run: ({ args }) => args.text.trim() } },
});

test("types: roles are inferred from `allow`, and the rest as without it", () => {
  const now: StateOf<typeof desk> = { open: true, items: [] };
  assert.deepEqual(desk.at("a").note({ text: now.items.join() }), { to: "desk/a", action: "note", args: { text: "" } });
});

const buyer = actor("buyer", {
  description: "Requests.",
  state: counting,
  tools: {
    buy: {
      description: "Tools and handlers may come in any order.",
      input: z.object({ item: z.string() }),
      output: z.object({ grams: z.number() }),
      run: ({ request, args }) => request(scale.at("x").weigh(args), "weighed", { factor: 2 }),
    },
    nudge: { description: "Nudge.", run: ({ request }) => request(scale.at("x").nudge(), "nudged") },
  },
  replies: {
    weighed: {
      of: scale.message("weigh"),
      input: z.object({ factor: z.number() }),
      run({ state: draft, reply, args, request }) {
        const grams: number = reply.grams * args.factor;
        draft.n += grams;
        return grams > 100 ? request(scale.at("x").nudge(), "nudged") : { grams };
      },
      refused({ refused, args }) {
        const code: string = refused.code;
        return { grams: code.length * args.factor };
      },
    },
    nudged: { of: scale.message("nudge"), run: ({ reply, args }) => [JSON.stringify(reply), args === undefined] },
  },
});

test("types: the handler of a reply gets what the message replies, and what `request` passed on", () => {
  assert.deepEqual([buyer.id("x"), scale.message("weigh")], ["buyer/x", { kind: "scale", action: "weigh" }]);
});

const steward = actor("steward", {
  description: "Forwards to tools.",
  state,
  tools: {
    buy: {
      description: "Has it bought.",
      output: z.object({ grams: z.number() }),
      run: ({ forward }) => forward(buyer.at("x").tools.buy({ item: "a" })),
    },
    nudge: { description: "Has it nudged.", run: ({ request }) => request(buyer.at("x").tools.buy({ item: "a" }), "bought") },
  },
  replies: { bought: { of: buyer.tool("buy"), run: ({ reply }) => reply.grams.toFixed(1) } },
});

test("types: what is forwarded to a tool has the type of the tool's `output`", () => {
  assert.deepEqual(steward.at("y").tools.nudge(), { to: "steward/y", action: "tools/nudge", args: {} });
  assert.deepEqual(buyer.tool("buy"), { kind: "buyer", action: "tools/buy" });
});

const deposit: MessageRef<number> = { kind: "account", action: "deposit" };

const account = actor("account", {
  description: "An account.",
  per: "user",
  state: z.object({ balance: z.int().default(10) }),
  tools: {
    give: {
      description: "Give somebody one.",
      input: z.object({ to: z.string() }),
      run({ state: draft, args, request }): Forwarded<never> {
        draft.balance -= 1;
        return request(account.at(args.to).deposit({ amount: 1 }), "given");
      },
    },
  },
  messages: {
    deposit: { input: z.object({ amount: z.int() }), output: z.int(), run: ({ state: draft, args }) => (draft.balance += args.amount) },
  },
  replies: { given: { of: deposit, run: ({ state: draft, reply }) => `You have ${draft.balance}, they have ${reply.toFixed(0)}.` } },
});

test("types: an actor may request from another one of its own kind #actors.request", async () => {
  await using engine = await LocalEngine.start({ kinds: [account], store: memoryStore() });
  const given = await engine.call({ ...account.at("ann").tools.give({ to: "bob" }), viewer: { principal: "ann", scopes: [] } });
  assert.deepEqual(given, { ok: "You have 9, they have 11." });
});

test("a message that is called `tools` hides the calls of tools", () => {
  const kind = actor("shadow", {
    description: "",
    state,
    tools: { x: { description: "", run: () => 1 } },
    messages: { tools: { input: z.object({ n: z.number() }), run: () => 1 } },
  });
  assert.deepEqual(kind.at("a").tools({ n: 1 }), { to: "shadow/a", action: "tools", args: { n: 1 } });
});

const weighed = { of: scale.message("weigh"), input: z.object({ factor: z.number() }), run: () => 1 };

export const mustNotCompile = {
  // @ts-expect-error -- a scale has no such message
  unknownMessageRef: () => scale.message("weight"),
  // @ts-expect-error -- a buyer has no such tool
  unknownToolRef: () => buyer.tool("sell"),
  // @ts-expect-error -- nor this one
  unknownTool: () => buyer.at("x").tools.sell({}),
  // @ts-expect-error -- the tool needs an item
  toolArguments: () => buyer.at("x").tools.buy({}),
  forwardedToolType: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the tool replies with an object
      tools: { x: { description: "", output: z.string(), run: ({ forward }) => forward(buyer.at("x").tools.buy({ item: "a" })) } },
    }),
  requestName: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- there is no such handler
      tools: { x: { description: "", run: ({ request }) => request(scale.at("x").weigh({ item: "a" }), "weigh", { factor: 1 }) } },
      replies: { weighed },
    }),
  requestOther: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the handler is for a message with another reply
      tools: { x: { description: "", run: ({ request }) => request(tally.at("x").count(), "weighed", { factor: 1 }) } },
      replies: { weighed },
    }),
  requestWithoutArguments: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the handler needs a factor
      tools: { x: { description: "", run: ({ request }) => request(scale.at("x").weigh({ item: "a" }), "weighed") } },
      replies: { weighed },
    }),
  requestArguments: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- which is a number
      tools: { x: { description: "", run: ({ request }) => request(scale.at("x").weigh({ item: "a" }), "weighed", { factor: "1" }) } },
      replies: { weighed },
    }),
  requestWithoutReplies: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a kind without `replies` has no handler to name
      tools: { x: { description: "", run: ({ request }) => request(scale.at("x").nudge(), "nudged") } },
    }),
  replyType: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- `grams` is a number
      replies: { x: { of: scale.message("weigh"), run: ({ reply }) => reply.grams.trim() } },
    }),
  replyLater: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- an async handler would lose what it awaits
      replies: { x: { of: scale.message("weigh"), run: async () => 1 } },
    }),
  replyWithoutOf: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- whose reply is it?
      replies: { x: { run: () => 1 } },
    }),
  settledType: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the settled reply must be what `output` says
      tools: { x: { description: "", output: z.string(), run: ({ settled }) => settled(1) } },
    }),
  forwardedType: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the other message replies with an object
      tools: { x: { description: "", output: z.string(), run: ({ forward }) => forward(scale.at("x").weigh({ item: "a" })) } },
    }),
  forwardedBare: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the other message has no `output`, so its reply may be any JSON
      tools: { x: { description: "", output: z.string(), run: ({ forward }) => forward(scale.at("x").nudge()) } },
    }),
  forwardedMessage: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- nor may a message forward what does not fit its `output`
      messages: { x: { output: z.string(), run: ({ forward }) => forward(scale.at("x").weigh({ item: "a" })) } },
    }),
  forwardedArguments: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- its arguments are checked
      tools: { x: { description: "", run: ({ forward }) => forward(scale.at("x").weigh({ weight: 1 })) } },
    }),
  forwardInView: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a view only reads
      tools: { x: { description: "", view: ({ forward }) => forward(scale.at("x").nudge()) } },
    }),
  unknownRole: () =>
    actor("a", {
      description: "",
      state,
      allow: { responder: () => true },
      tools: {
        x: {
          description: "",
          input: z.object({ by: z.number() }),
          // @ts-expect-error -- `allow` defines no such role
          allow: "respnder",
          // The arguments are inferred all the same.
          run: ({ args }) => args.by.toFixed(),
        },
      },
    }),
  unknownRoleOfList: () =>
    actor("a", {
      description: "",
      state,
      allow: { responder: () => true },
      // @ts-expect-error -- nor this one
      resources: { x: { uri: "a://x", allow: ["responder", "manager"], view: () => "" } },
    }),
  roleWithoutAllow: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- without `allow` there are no roles
      prompts: { x: { description: "", allow: "responder", view: () => "" } },
    }),
  roleOfLink: () =>
    actor("a", {
      description: "",
      state,
      allow: { responder: () => true },
      // @ts-expect-error -- `allow` defines no such role
      links: { room: { kind: room, allow: "manager", to: () => room.id("x") } },
    }),
  roleResult: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- true or false
      allow: { responder: ({ viewer }) => viewer.claims?.["roles"] },
    }),
  roleWord: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a role has `holds` and `reason`
      allow: { responder: { holds: () => true, why: "Only responders." } },
    }),
  claimsInTurn: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          description: "",
          // @ts-expect-error -- claims are for `allow`: lists and turns see roles
          enabled: ({ viewer }) => viewer.claims !== undefined,
          // @ts-expect-error -- turns too, since no event has claims
          run: ({ viewer }) => viewer.claims,
        },
      },
    }),
  answerType: async (engine: LocalEngine) => {
    const reply = await engine.call(scale.at("a").weigh({ item: "a" }));
    // @ts-expect-error -- `grams` is a number
    return "ok" in reply ? reply.ok.grams.trim() : "";
  },
  answerName: async (engine: LocalEngine) => {
    const reply = await engine.call(scale.at("a").weigh({ item: "a" }));
    // @ts-expect-error -- there is no such member in its `output`
    return "ok" in reply ? reply.ok.kilos : 0;
  },
  bareAnswer: async (engine: LocalEngine) => {
    const reply = await engine.call(scale.at("a").nudge());
    // @ts-expect-error -- without an `output` it may be any JSON
    return "ok" in reply ? reply.ok.grams : 0;
  },
  messageOutput: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the answer must be what `output` says
      messages: { x: { output: z.object({ n: z.number() }), run: () => ({ n: "one" }) } },
    }),
  messageLater: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- what comes later is held against nothing
      messages: { x: { output: z.object({ n: z.number() }), run: ({ later }) => later() } },
    }),
  messageWord: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- messages know no such member, with an `output` or without it
      messages: { x: { output: z.number(), secrets: ["a"], run: () => 1 } },
    }),
  unknownPropertyOfTool: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          description: "",
          // @ts-expect-error -- misspelled; the parameters of `run` are inferred all the same
          enabeld: () => true,
          input: z.object({ by: z.number() }),
          run: ({ state: now, args }) => now.items.push(args.by.toFixed()),
        },
      },
    }),
  unknownPropertyOfKind: () =>
    actor("a", {
      description: "",
      // @ts-expect-error -- misspelled
      stat: state,
      state,
      tools: { x: { description: "", run: ({ state: now }) => now.items.length } },
    }),
  misspelledDescription: () =>
    actor("a", {
      // @ts-expect-error -- misspelled, and required; the functions are inferred all the same
      descripton: "",
      state,
      tools: {
        x: { description: "", input: z.object({ by: z.number() }), run: ({ state: now, args }) => now.items.push(args.by.toFixed()) },
      },
      resources: { x: { uri: "a://{day}", view: ({ state: now, args }) => now.items.filter((item) => item === args.day) } },
      messages: { x: { input: z.object({ by: z.number() }), run: ({ state: now, args }) => now.items.push(args.by.toFixed()) } },
    }),
  noDescription: () =>
    // @ts-expect-error -- required
    actor("a", {
      state,
      tools: {
        x: { description: "", input: z.object({ by: z.number() }), run: ({ state: now, args }) => now.items.push(args.by.toFixed()) },
      },
    }),
  // @ts-expect-error -- required also where nothing else is inferred
  noDescriptionOfState: () => actor("a", { state }),
  noDescriptionOfBareMessages: () =>
    // @ts-expect-error -- and where no message has an `input`
    actor("a", { state, messages: { tick: { run: ({ state: now }) => now.items.length } } }),
  misspelledDescriptionOfTool: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          // @ts-expect-error -- misspelled, and required
          descripton: "",
          input: z.object({ by: z.number() }),
          output: z.object({ items: z.number() }),
          run: ({ state: now, args }) => ({ items: now.items.push(args.by.toFixed()) }),
        },
      },
    }),
  misspelledWithBareMessages: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          // @ts-expect-error -- misspelled; messages without an `input` are inferred all the same
          descripton: "",
          run: ({ state: now }) => now.items.length,
        },
      },
      messages: {
        tick: { run: ({ state: now }) => now.items.length },
        gained: { replies: true, run: ({ state: now, args }) => now.items.push(args.of) },
      },
    }),
  noDescriptionOfTool: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        // @ts-expect-error -- required
        x: { input: z.object({ by: z.number() }), run: ({ state: now, args }) => now.items.push(args.by.toFixed()) },
      },
    }),
  misspelledDescriptionOfPrompt: () =>
    actor("a", {
      description: "",
      state,
      prompts: {
        x: {
          // @ts-expect-error -- misspelled, and required
          descripton: "",
          input: z.object({ tone: z.string() }),
          view: ({ state: now, args }) => args.tone.concat(now.items.join()),
        },
      },
    }),
  unknownPropertyOfResource: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- misspelled
      resources: { x: { uri: "a://b", redas: ["items"], view: ({ state: now }) => now.items.length } },
    }),
  unknownPropertyOfPrompt: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- misspelled
      prompts: { x: { description: "", argumnts: [], view: ({ state: now }) => `${now.items.length}` } },
    }),
  unknownPropertyOfMessage: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- misspelled
      messages: { x: { inptu: z.object({}), run: ({ state: now }) => now.items.length } },
    }),
  asyncRun: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a turn is synchronous: what waits is `work`
      tools: { x: { description: "", async run() {} } },
    }),
  asyncRunWithValue: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          description: "",
          // @ts-expect-error -- nor may it return a promise of a value
          run: async ({ state: draft }) => {
            draft.open = true;
            return 1;
          },
        },
      },
    }),
  asyncMessage: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- nor may a message's
      messages: { x: { async run() {} } },
    }),
  asyncView: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- nor may a view
      tools: { x: { description: "", view: async () => "later" } },
    }),
  argumentType: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          description: "",
          input: z.object({ by: z.number() }),
          run({ args }) {
            // @ts-expect-error -- `by` is a number
            const by: string = args.by;
            return by;
          },
        },
      },
    }),
  noSuchArgument: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- without `input` there are no arguments
      tools: { x: { description: "", run: ({ args }) => args.by } },
    }),
  readsNoMember: () =>
    actor("a", {
      description: "",
      state: counting,
      // @ts-expect-error -- the state has no `m`
      resources: { r: { uri: "a://r", reads: ["m"], view: () => "" } },
    }),
  notRead: () =>
    actor("a", {
      description: "",
      state: z.object({ n: z.number(), m: z.string() }),
      resources: {
        both: { uri: "a://both/{x}", reads: ["n", "m"], view: ({ state: { n, m }, args }) => n.toFixed() + m.trim() + args.x },
        all: { uri: "a://all", view: ({ state: { n, m } }) => n.toFixed() + m.trim() },
        // @ts-expect-error -- `m` is not among what it reads
        one: { uri: "a://one", reads: ["n"], view: ({ state: given }) => given.m },
      },
    }),
  // @ts-expect-error -- a room knows no `leave`
  unknownMessage: () => room.at("a").leave({}),
  // @ts-expect-error -- a player is text
  wrongMessageArgument: () => room.at("a").arrive({ player: 1 }),
  // @ts-expect-error -- a player must be named
  missingMessageArgument: () => room.at("a").arrive({}),
  // @ts-expect-error -- nor does a kind whose messages have no input know others
  unknownBareMessage: () => chime.at("a").nudged(),
  // @ts-expect-error -- its tools are no messages
  toolAsMessage: () => gong.at("a").ring({ times: 1 }),
  // @ts-expect-error -- without messages there is nothing to send
  noMessages: () => mute.at("a").nudge(),
  // @ts-expect-error -- an empty list of them is none
  emptyMessages: () => deaf.at("a").nudge(),
  bareMessageState: () =>
    actor("a", {
      description: "",
      state,
      messages: {
        x: {
          run({ state: draft }) {
            // @ts-expect-error -- the state is typed also there
            draft.opened = true;
          },
        },
      },
    }),
  bareMessageWord: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a message is written with `run` or `work`
      messages: { x: { rum() {} } },
    }),
  output: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the reply must be what `output` says
      tools: { x: { description: "", output: z.object({ taken: z.number() }), run: () => ({ taken: "one" }) } },
    }),
  noOutput: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- with an `output` there must be a reply
      tools: { x: { description: "", output: z.object({ taken: z.number() }), run() {} } },
    }),
  workOutput: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- that of work too
      tools: { x: { description: "", output: z.object({ taken: z.number() }), work: async () => ({ taken: "one" }) } },
    }),
  writingInView: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          description: "",
          view({ state: now }) {
            // @ts-expect-error -- a view only reads
            now.open = true;
            // @ts-expect-error -- deep down too
            now.items.push("x");
            return "";
          },
        },
      },
    }),
  writingInWhen: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- so does `enabled`
      tools: { x: { description: "", enabled: ({ state: now }) => (now.open = true), run() {} } },
    }),
  stateType: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          description: "",
          run({ state: draft }) {
            // @ts-expect-error -- `open` is a boolean
            draft.open = "yes";
          },
        },
      },
    }),
  twoAtOnce: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- either a turn or a read
      tools: { x: { description: "", run() {}, view: () => "x" } },
    }),
  runAndWork: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- either a turn or work
      tools: { x: { description: "", run() {}, work: async () => "x" } },
    }),
  none: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- one of the three it must be
      tools: { x: { description: "" } },
    }),
  linkReason: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the reason is for `enabled`
      links: { room: { kind: room, to: ({ state: now }) => (now.open ? room.id("x") : { off: "Closed." }) } },
    }),
  linkEnabled: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- true, false or a reason
      links: { room: { kind: room, enabled: ({ state: now }) => now.items.length, to: () => room.id("x") } },
    }),
  linkState: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the state has no such member
      links: { room: { kind: room, enabled: ({ state: now }) => now.missing, to: () => room.id("x") } },
    }),
  linkToOneWithChoices: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- `to` leads to one actor, `choices` are for many
      links: { room: { kind: room, to: () => room.id("x"), choices: ({ state: now }) => now.items } },
    }),
  linkByArgumentToKinds: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a key names an actor of one kind
      links: { room: { kinds: [room, "a"], by: "room" } },
    }),
  linkChoices: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a list of texts
      links: { room: { kind: room, choices: ({ state: now }) => now.open } },
    }),
  linkToNoKind: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- it managers to a kind
      links: { room: { kind: 7, to: () => room.id("x") } },
    }),
  linkOfBoth: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- `kind` or `kinds`
      links: { room: { kind: room, kinds: [room], to: () => room.id("x") } },
    }),
  linkProperty: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- a link has no such property
      links: { room: { kind: room, when: () => true, to: ({ state: now }) => room.id(now.items[0] ?? "x") } },
    }),
  resourceVariable: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the template has no such variable
      resources: { x: { uri: "a://{alias}/{day}", view: ({ args }) => args.night } },
    }),
  aliasIsNoArgument: () =>
    actor("a", {
      description: "",
      state,
      // @ts-expect-error -- the cast fills the alias: views never see it
      resources: { x: { uri: "a://{alias}/{day}", view: ({ args }) => args.alias } },
    }),
  sendOfPromise: () =>
    actor("a", {
      description: "",
      state,
      tools: {
        x: {
          description: "",
          run({ send }) {
            // @ts-expect-error -- a message needs its action
            send("room/a");
          },
        },
      },
    }),
};
