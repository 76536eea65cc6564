// Owns: the tool `undo`. Does not own: reverting by an operator (test/cli/chain.test.ts).
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { reexecute } from "../chain/index.ts";
import type { ActorId, ChainEvent, Json, Reply, Viewer } from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { World } from "../../hosts/restate/world.fixture.ts";
import { actor, refuse } from "./index.ts";

const item = z.object({ item: z.string() });
const box = actor("box", {
  description: "A box.",
  undo: { withinMs: 60_000 },
  state: z.object({
    items: z.array(z.string()).default(["rope"]),
    taken: z.array(z.string()).default([]),
    open: z.boolean().default(true),
  }),
  tools: {
    put: { description: "Put.", input: item, run: ({ state, args }) => void state.items.push(args.item) },
    take: {
      description: "Take.",
      input: item,
      undo: "put_back",
      run({ state, args }) {
        state.items.splice(state.items.indexOf(args.item), 1);
        state.taken.push(args.item);
      },
    },
    put_back: {
      description: "Put back.",
      input: item,
      undo: false,
      enabled: ({ state }) => state.open || "The box is closed.",
      run({ state, args, record }) {
        state.taken.splice(state.taken.indexOf(args.item), 1);
        state.items.push(args.item);
        record("back");
        return `${args.item} is back.`;
      },
    },
    close: { description: "Close.", undo: false, run: ({ state }) => void (state.open = false) },
    whisper: {
      description: "Keep a secret.",
      input: item,
      secret: ["item"],
      undo: "put_back",
      run: ({ state }) => void state.items.push("?"),
    },
    tell: {
      description: "Send.",
      run({ state, send, self }) {
        state.items.push("sent");
        send(self, "note");
      },
    },
    remind: {
      description: "Set a timer.",
      run({ state, wake, messages }) {
        state.items.push("timer");
        wake("later", { afterMs: 1_000_000, message: messages.note() });
      },
    },
    look: { description: "Look.", view: ({ state }) => state.items },
  },
  messages: { note: { run: () => undefined } },
});

const ann: Viewer = { principal: "ann", scopes: [] };
const bob: Viewer = { principal: "bob", scopes: [] };
const BOX = box.id("main");

async function opened() {
  const clock = new SimulatedClock();
  const engine = await LocalEngine.start({ kinds: [box], store: memoryStore({ clock }), clock });
  const call = (viewer: Viewer, tool: string, name?: string): Promise<Reply> =>
    engine.call({ to: BOX, action: `tools/${tool}`, args: name === undefined ? {} : { item: name }, viewer });
  const items = async (): Promise<Json> => Object((await engine.read(BOX))?.state).items;
  return { engine, clock, call, items, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

const refusal = (reply: Reply): string =>
  "refused" in reply && reply.refused.code === "NOT_NOW" ? reply.refused.message : JSON.stringify(reply);
const ok = (text: string): Reply => ({ ok: text });

test("undo restores the state before the caller's last turn, one turn at each call, also the first", async () => {
  await using at = await opened();
  for (const name of ["lamp", "map"]) await at.call(ann, "put", name);
  assert.deepEqual(await at.items(), ["rope", "lamp", "map"]);
  assert.deepEqual(await at.call(ann, "undo"), ok("Undone: put."));
  assert.deepEqual(await at.items(), ["rope", "lamp"]);
  assert.deepEqual(await at.call(ann, "undo"), ok("Undone: put."));
  assert.deepEqual(await at.items(), ["rope"]);
  assert.equal(refusal(await at.call(ann, "undo")), "There is nothing of yours to undo.");
  await at.call(ann, "put", "axe");
  await at.call(ann, "undo");
  assert.deepEqual(await at.items(), ["rope"]);
});

test("undo refuses if something else has changed, too much time has passed, or the turn had other effects", async () => {
  await using at = await opened();
  await at.call(ann, "put", "lamp");
  assert.equal(refusal(await at.call(bob, "undo")), "There is nothing of yours to undo.");
  await at.call(bob, "put", "map");
  assert.equal(refusal(await at.call(ann, "undo")), "put cannot be undone: something else has changed since.");
  await at.call(bob, "undo");
  assert.deepEqual(await at.call(ann, "undo"), ok("Undone: put."));
  await at.call(ann, "put", "lamp");
  await at.clock.advance(60_001);
  assert.equal(refusal(await at.call(ann, "undo")), "put was too long ago to be undone.");
  await at.call(ann, "remind");
  assert.equal(refusal(await at.call(ann, "undo")), "remind cannot be undone: it set a timer.");
  await at.call(ann, "tell");
  assert.equal(refusal(await at.call(ann, "undo")), "tell cannot be undone: it sent messages, or waits for an answer.");
});

test("undo runs the action that a tool names, with its arguments, also after others' turns, if that is possible now", async () => {
  await using at = await opened();
  await at.call(ann, "take", "rope");
  await at.call(bob, "put", "map");
  assert.deepEqual(await at.items(), ["map"]);
  assert.deepEqual(await at.call(ann, "undo"), ok("rope is back."));
  assert.deepEqual(await at.items(), ["map", "rope"]);
  await at.call(ann, "take", "map");
  await at.call(bob, "close");
  assert.equal(refusal(await at.call(ann, "undo")), "The box is closed.");
  await at.call(ann, "whisper", "secret");
  assert.equal(refusal(await at.call(ann, "undo")), "whisper cannot be undone: its arguments are secret, and were not stored.");
});

test("undo restores no state in which others have something that they took back since", async () => {
  await using at = await opened();
  await at.call(bob, "take", "rope");
  await at.call(ann, "put", "lamp");
  await at.call(bob, "undo");
  assert.equal(refusal(await at.call(ann, "undo")), "put cannot be undone: something else has changed since.");
  assert.deepEqual(await at.items(), ["lamp", "rope"]);
});

test("to undo, another's call that an action took back is a change, the caller's own is none", async () => {
  await using at = await opened();
  await at.call(ann, "put", "lamp");
  await at.call(bob, "take", "rope");
  await at.call(bob, "undo");
  assert.equal(refusal(await at.call(ann, "undo")), "put cannot be undone: something else has changed since.");
  assert.deepEqual(await at.items(), ["lamp", "rope"]);
  await at.call(ann, "put", "map");
  await at.call(ann, "take", "rope");
  for (const done of ["rope is back.", "Undone: put."]) assert.deepEqual(await at.call(ann, "undo"), ok(done));
  assert.deepEqual(await at.items(), ["lamp", "rope"]);
});

test("the tool that undoes may have another name", async () => {
  const note = actor("note", {
    description: "A note.",
    state: z.object({ n: z.number().default(0) }),
    undo: { withinMs: 1_000, tool: "take_back" },
    tools: { add: { description: "Add.", run: ({ state }) => void (state.n += 1) } },
  });
  await using engine = await LocalEngine.start({ kinds: [note], store: memoryStore() });
  const call = (tool: string) => engine.call({ to: note.id("main"), action: `tools/${tool}`, args: {}, viewer: ann });
  await call("add");
  await call("add");
  for (const n of [1, 0]) {
    assert.deepEqual(await call("take_back"), { ok: "Undone: add." });
    assert.deepEqual((await engine.read(note.id("main")))?.state, { n });
  }
});

test("callers without a principal undo nothing of a shared actor", async () => {
  await using at = await opened();
  await at.call({ scopes: [] }, "put", "lamp");
  assert.equal(refusal(await at.call({ scopes: [] }, "undo")), "There is nothing of yours to undo.");
});

test("undo needs the scopes and roles of the tool that is taken back, and of the one that does it", async () => {
  const safe = actor("safe", {
    description: "A safe.",
    state: z.object({ n: z.number().default(0) }),
    undo: { withinMs: 1_000 },
    allow: { keeper: ({ viewer }) => viewer.claims?.["keeper"] === true },
    tools: {
      edit: { description: "Edit.", scopes: ["edit"], undo: "unedit", run: ({ state }) => void (state.n += 1) },
      unedit: { description: "Take back.", scopes: ["admin"], undo: false, run: ({ state }) => void (state.n -= 1) },
      lock: { description: "Lock.", allow: "keeper", run: ({ state }) => void (state.n += 10) },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [safe], store: memoryStore() });
  const call = (tool: string, viewer: Viewer) => engine.call({ to: safe.id("main"), action: `tools/${tool}`, args: {}, viewer });
  const keeper: Viewer = { principal: "ann", scopes: [], claims: { keeper: true } };
  await call("edit", ann);
  const refusedFor = async (viewer: Viewer) => JSON.stringify(await call("undo", viewer));
  assert.match(await refusedFor(ann), /"SCOPE".*\["edit","admin"\]/);
  assert.match(await refusedFor({ ...ann, scopes: ["edit"] }), /"SCOPE".*\["admin"\]/);
  assert.deepEqual(await call("undo", { ...ann, scopes: ["edit", "admin"] }), { ok: "Undone: edit." });
  await call("lock", keeper);
  assert.match(await refusedFor(ann), /Only those with the role keeper may do this\./);
  assert.deepEqual(await call("undo", keeper), { ok: "Undone: lock." });
  assert.deepEqual((await engine.read(safe.id("main")))?.state, { n: 0 });
});

test("an undo is an event of its own, taken from the record on replay, with what the named action records", async () => {
  await using at = await opened();
  await at.call(ann, "put", "lamp");
  await at.call(ann, "undo");
  await at.call(ann, "take", "rope");
  await at.call(ann, "undo");
  const events: ChainEvent[] = [];
  for await (const event of at.engine.history(BOX)) events.push(event);
  const bodies = events.map(({ body }) => JSON.parse(body ?? "null"));
  assert.deepEqual(
    bodies.map(({ message, record }) => [message.action, record]),
    [
      ["tools/put", undefined],
      ["tools/undo", { undone: 1 }],
      ["tools/take", undefined],
      ["tools/undo", { undone: 3, record: ["back"] }],
    ],
  );
  const { taken, mismatches } = reexecute(box, events);
  assert.deepEqual([taken.work, mismatches], [2, []]);
});

test("undo works on a cluster's engine", async () => {
  const world = new World({ kinds: [box] });
  const call = (tool: string, args: Json) => world.call({ to: BOX, action: `tools/${tool}`, args, viewer: ann, start: null });
  for (const name of ["lamp", "map"]) await call("put", { item: name });
  await call("undo", {});
  assert.deepEqual(Object(world.state(BOX)).items, ["rope", "lamp"]);
  await call("take", { item: "rope" });
  await call("undo", {});
  assert.deepEqual(Object(world.state(BOX)).items, ["lamp", "rope"]);
});

// ── calls that another turn answers ─────────────────────────────────────────

const cupboard = actor("cupboard", {
  description: "A cupboard.",
  state: z.object({ items: z.array(z.string()).default(["map"]), open: z.boolean().default(true) }),
  messages: {
    take: {
      input: item,
      run({ state, args }) {
        if (!state.items.includes(args.item)) refuse(`There is no ${args.item}.`);
        state.items = state.items.filter((one) => one !== args.item);
      },
    },
    put: {
      input: item,
      run({ state, args }) {
        if (!state.open) refuse("The cupboard is closed.");
        state.items.push(args.item);
      },
    },
    turn: { run: ({ state }) => void (state.open = !state.open) },
  },
});
const CUPBOARD = cupboard.at("main");

const hero = actor("hero", {
  description: "A hero.",
  undo: { withinMs: 60_000 },
  state: z.object({ bag: z.array(z.string()).default([]), waves: z.number().default(0), asker: z.string().default("") }),
  tools: {
    wave: { description: "Wave.", run: ({ state }) => (state.waves += 1) },
    take: {
      description: "Take from the cupboard.",
      input: item,
      undo: "put_back",
      run: ({ args, request }) => request(CUPBOARD.take(args), "taken", args),
    },
    fetch: {
      description: "Take, or make.",
      input: item,
      undo: "drop",
      run: ({ args, request }) => request(CUPBOARD.take(args), "fetched", args),
    },
    move: { description: "Move, forwarded.", input: item, undo: "drop", run: ({ args, forward }) => forward(CUPBOARD.take(args)) },
    put_back: {
      description: "Put back on the cupboard.",
      input: item,
      undo: false,
      run: ({ args, request }) => request(CUPBOARD.put(args), "put", args),
    },
    wish: {
      description: "Wish for it; somebody decides.",
      input: item,
      undo: "drop",
      run({ state, args, message, later }) {
        state.asker = message.id;
        state.bag.push(args.item);
        return later();
      },
    },
    try_it: {
      description: "Work that is refused, and records what it tried.",
      input: item,
      undo: "drop",
      async work({ record }) {
        record("tried");
        refuse("It did not work.");
      },
    },
  },
  messages: {
    drop: { input: item, run: ({ state, args }) => `${args.item} is dropped, ${state.bag.push(`no ${args.item}`)}.` },
    deny: { run: ({ state, answer }) => answer(state.asker, { refused: { code: "DENIED", message: "No." } }) },
    grant: { run: ({ state, answer }) => answer(state.asker, "Yes.") },
  },
  replies: {
    taken: {
      of: cupboard.message("take"),
      input: item,
      run({ state, args }) {
        if (state.bag.includes("stone")) refuse("The bag is too heavy.");
        state.bag.push(args.item);
        return "Taken.";
      },
    },
    fetched: {
      of: cupboard.message("take"),
      input: item,
      run: ({ state, args }) => `Fetched, ${state.bag.push(args.item)}.`,
      refused: ({ state, args }) => `Made, ${state.bag.push(args.item)}.`,
    },
    put: {
      of: cupboard.message("put"),
      input: item,
      run: ({ state, args }) => void (state.bag = state.bag.filter((one) => one !== args.item)),
    },
  },
});
const HERO = hero.id("main");

interface Played extends AsyncDisposable {
  /** The call as Ann's, and all that it sets off: its reply, if its own turn gives it. */
  readonly play: (action: string, name?: string) => Promise<Reply | undefined>;
  readonly bag: () => Promise<Json>;
  readonly cupboard: () => Promise<Json>;
}

const outgoing = (action: string, name?: string) => ({
  to: action.startsWith("cupboard/") ? cupboard.id("main") : HERO,
  action: action.replace("cupboard/", ""),
  args: name === undefined ? {} : { item: name },
  viewer: ann,
  start: null,
});

async function playedLocally(store = memoryStore(), end = (): void => undefined): Promise<Played> {
  const engine = await LocalEngine.start({ kinds: [cupboard, hero], store });
  const stateOf = async (id: ActorId): Promise<Json> => (await engine.read(id))?.state ?? {};
  return {
    play: (action, name) => engine.call(outgoing(action, name)),
    bag: async () => Object(await stateOf(HERO)).bag,
    cupboard: async () => Object(await stateOf(cupboard.id("main"))).items,
    async [Symbol.asyncDispose]() {
      await engine.close();
      end();
    },
  };
}

const places: Readonly<Record<string, () => Promise<Played>>> = {
  "in memory": () => playedLocally(),
  "in SQLite": () => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-undo-"));
    return playedLocally(sqliteStore({ directory }), () => rmSync(directory, { recursive: true, force: true }));
  },
  "on a cluster's engine": async () => {
    const world = new World({ kinds: [cupboard, hero] });
    return {
      async play(action, name) {
        const outcome = await world.call(outgoing(action, name));
        return "fault" in outcome ? undefined : outcome.reply;
      },
      bag: async () => Object(world.state(HERO)).bag,
      cupboard: async () => Object(world.state(cupboard.id("main"))).items,
      async [Symbol.asyncDispose]() {},
    };
  },
};

for (const [where, opens] of Object.entries(places)) {
  test(`undo skips calls that were refused, by whatever turn, ${where}`, async () => {
    await using at = await opens();
    await at.play("tools/wave");
    await at.play("tools/take", "map");
    await at.play("tools/take", "sword");
    await at.play("tools/move", "sword");
    await at.play("tools/try_it", "sword");
    await at.play("tools/undo");
    assert.deepEqual([await at.bag(), await at.cupboard()], [[], ["map"]]);
    await at.play("tools/fetch", "stone");
    await at.play("tools/take", "map");
    assert.deepEqual([await at.bag(), await at.cupboard()], [["stone"], []], "the handler of the reply refused");
    assert.deepEqual(await at.play("tools/undo"), { ok: "stone is dropped, 2." });
    assert.deepEqual(await at.bag(), ["stone", "no stone"], "the handler of a refusal gave a reply, so the call was not refused");
    assert.match(JSON.stringify(await at.play("tools/undo")), /wave cannot be undone: something else has changed since/);
  });

  test(`an undo that is refused is none, so the next one tries again, ${where}`, async () => {
    await using at = await opens();
    await at.play("tools/fetch", "rope");
    await at.play("tools/take", "map");
    await at.play("cupboard/turn");
    for (let n = 0; n < 2; n += 1) await at.play("tools/undo");
    assert.deepEqual([await at.bag(), await at.cupboard()], [["rope", "map"], []]);
    await at.play("cupboard/turn");
    await at.play("tools/undo");
    assert.deepEqual([await at.bag(), await at.cupboard()], [["rope"], ["map"]]);
    assert.deepEqual(await at.play("tools/undo"), { ok: "rope is dropped, 2." });
  });
}

test("undo does not count calls that changed nothing, such as those that another actor refused", async () => {
  await using at = await playedLocally();
  await at.play("tools/wave");
  await at.play("tools/take", "sword");
  assert.deepEqual(await at.play("tools/undo"), { ok: "Undone: wave." });
});

test("undo waits for the reply of a call that another actor may refuse, and knows what a later turn answered", async () => {
  const world = new World({ kinds: [cupboard, hero] });
  const play = async (action: string, name?: string, settle = true): Promise<string> =>
    JSON.stringify(await world.call(outgoing(action, name), { settle }));
  await play("tools/take", "map", false);
  assert.match(await play("tools/undo", undefined, false), /take cannot be undone yet: it sent messages, and waits for its reply/);
  await world.settle();
  await play("tools/undo");
  assert.deepEqual(Object(world.state(HERO)).bag, []);
  await play("tools/wish", "lamp");
  await play("deny");
  assert.match(await play("tools/undo"), /nothing of yours/);
  await play("tools/wish", "axe");
  await play("grant");
  assert.match(await play("tools/undo"), /axe is dropped/);
  await play("tools/wish", "bow");
  assert.match(await play("tools/undo"), /bow is dropped/, "no other actor decides, so it can be taken back at once");
});

test("a kind lists the tool `undo` if it has something to undo; mistakes are found where it is defined", () => {
  assert.ok(box.catalogue.tools.some(({ name }) => name === "undo"));
  const define = (more: object, tool: object = { run: () => 1 }, name = "x"): unknown =>
    actor(
      "a",
      Object.assign({ description: "A.", state: z.object({}) }, more, Object({ tools: { [name]: { description: "X.", ...tool } } })),
    );
  const undo = { withinMs: 1_000 };
  for (const [given, sentence] of [
    [() => define({ undo: { withinMs: 0 } }), /undo\.withinMs must be a number above 0/],
    [() => define({ undo: {} }), /undo needs `withinMs`/],
    [() => define({ undo: { ...undo, steps: 2 } }), /"steps" means nothing here/],
    [() => define({ undo, persistence: "memory" }), /is in memory, so it has no history to undo/],
    [() => define({ undo }, { view: () => 1 }), /no tool with `run` that it could take back/],
    [() => define({ undo }, { run: () => 1 }, "undo"), /has a tool "undo" of its own/],
    [() => define({}, { undo: "x", view: () => 1 }), /only reads: there is nothing to undo/],
    [() => define({}, { undo: "xx", run: () => 1 }), /`undo` names "xx", which is no tool or message of this kind .*do you mean "x"\?/],
  ] as const)
    assert.throws(given, { code: "BAD_DEFINITION", message: sentence });
  assert.throws(() => define({ undo: { ...undo, tool: "take back" } }), { code: "BAD_NAME", message: /a: undo: "take back" is no name/ });
});

test("a call that changed nothing is not taken back, with a key or without", async () => {
  const lamp = actor("lamp", {
    description: "A lamp.",
    state: z.object({ lit: z.int().default(0) }),
    tools: {
      light: { description: "Light it.", undo: "dim", run: ({ state }) => (state.lit > 0 ? "It is lit." : void (state.lit += 1)) },
      dim: { description: "Dim it.", undo: false, run: ({ state }) => void (state.lit -= 1) },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [lamp], store: memoryStore() });
  const call = (tool: string, options = {}) =>
    engine.call({ to: lamp.id("main"), action: `tools/${tool}`, args: {}, viewer: { principal: "ann", scopes: [] } }, options);
  await call("light", { key: "first" });
  assert.deepEqual(await call("light", { key: "again" }), { ok: "It is lit." });
  await call("light");
  await call("undo");
  assert.deepEqual((await engine.read(lamp.id("main")))?.state, { lit: 0 });
  assert.ok("refused" in (await call("undo")));
});

test("undo restores no state before a turn that replied to another's call, which has read the reply", async () => {
  const desk = actor("desk", {
    description: "A desk.",
    undo: { withinMs: 60_000 },
    state: z.object({ waiting: z.array(z.string()).default([]) }),
    tools: {
      request: {
        description: "Request.",
        undo: false,
        run({ state, message, later }) {
          state.waiting.push(message.id);
          return later();
        },
      },
      decide: {
        description: "Decide.",
        run({ state, answer }) {
          for (const id of state.waiting) answer(id, "yes");
          state.waiting = [];
        },
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [desk], store: memoryStore() });
  const call = (tool: string, viewer: Viewer) => engine.call({ to: desk.id("main"), action: `tools/${tool}`, args: {}, viewer });
  const requested = call("request", ann);
  await call("decide", bob);
  assert.deepEqual(await requested, ok("yes"));
  assert.equal(refusal(await call("undo", bob)), "decide cannot be undone: it replied to a call that waited.");
  assert.deepEqual((await engine.read(desk.id("main")))?.state, { waiting: [] });
});

test("a call that only cancelled a timer, or set one that has fired, is taken back, not the call before", async () => {
  const oven = actor("oven", {
    description: "An oven.",
    undo: { withinMs: 60_000 },
    state: z.object({ dishes: z.array(z.string()).default([]) }),
    tools: {
      add: { description: "Add.", input: item, run: ({ state, args }) => void state.dishes.push(args.item) },
      set: { description: "Set.", undo: "unset", run: ({ wake, messages }) => wake("done", { afterMs: 1_000, message: messages.ring() }) },
      unset: { description: "Unset.", undo: "set", run: ({ cancel }) => cancel("done") },
      test: { description: "Test.", run: ({ wake, messages }) => wake("test", { afterMs: 1_000, message: messages.ring() }) },
      silence: { description: "Silence.", run: ({ cancel }) => cancel("done") },
    },
    messages: { ring: { run: () => undefined } },
  });
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  await using engine = await LocalEngine.start({ kinds: [oven], store, clock });
  const call = (tool: string, args: Json = {}) => engine.call({ to: oven.id("main"), action: `tools/${tool}`, args, viewer: ann });
  const timers = async () => Object.keys((await store.load(oven.id("main")))?.row.wakes ?? {});
  await call("add", { item: "pie" });
  await call("set");
  await call("unset");
  assert.deepEqual([await call("undo"), await timers()], [ok("Undone: unset."), ["done"]]);
  assert.deepEqual([await call("undo"), await timers()], [ok("Undone: set."), []]);
  await call("set");
  await call("silence");
  assert.equal(refusal(await call("undo")), "silence cannot be undone: it changed something else than the state.");
  await call("test");
  await clock.advance(2_000);
  assert.equal(refusal(await call("undo")), "test cannot be undone: it set a timer.");
  assert.deepEqual((await engine.read(oven.id("main")))?.state, { dishes: ["pie"] });
});

test("undo looks at the last 64 events, and says so where there are more", async () => {
  await using at = await opened();
  for (let n = 0; n < 40; n += 1) await at.call(ann, "put", `${n}`);
  for (let n = 0; n < 32; n += 1) assert.deepEqual(await at.call(ann, "undo"), ok("Undone: put."));
  assert.match(refusal(await at.call(ann, "undo")), /^There is nothing of yours to undo among the last 64 changes here/);
});

test("a call with a secret that another actor refused is skipped, and the other's turns run again #chain.reexecute", async () => {
  const login = z.object({ user: z.string(), password: z.string() });
  const users = actor("users", {
    description: "Users.",
    per: "link",
    autoStart: true,
    state: z.object({ users: z.array(z.string()).default([]) }),
    messages: {
      find: {
        input: z.object({ user: z.string() }),
        run({ state, args }) {
          if (args.user === "eve") return refuse("No eve.");
          state.users.push(args.user);
          return args.user;
        },
      },
    },
  });
  const account = actor("account", {
    description: "An account.",
    undo: { withinMs: 60_000 },
    state: z.object({ notes: z.array(z.string()).default([]) }),
    tools: {
      note: { description: "Note.", run: ({ state }) => void state.notes.push("noted") },
      sign_in: {
        description: "Sign in.",
        input: login,
        secret: ["password"],
        run: ({ args, request }) => request(users.at("main").find({ user: args.user }), "found", args),
      },
    },
    replies: { found: { of: users.message("find"), input: login, run: ({ state, args }) => void state.notes.push(args.user) } },
  });
  await using engine = await LocalEngine.start({ kinds: [users, account], store: memoryStore() });
  const call = (tool: string, args: Json = {}) => engine.call({ to: account.id("main"), action: `tools/${tool}`, args, viewer: ann });
  await call("note");
  assert.ok("refused" in (await call("sign_in", { user: "eve", password: "hunter22" })));
  assert.deepEqual(await call("undo"), ok("Undone: note."));
  assert.deepEqual(await call("sign_in", { user: "bob", password: "hunter22" }), { ok: null });
  // Whether it was refused depends on the secret, so it counts as done.
  assert.match(refusal(await call("undo")), /^sign_in cannot be undone/);
  const events: ChainEvent[] = [];
  for await (const event of engine.history(users.id("main"))) events.push(event);
  const { run, taken, mismatches } = reexecute(users, events);
  assert.deepEqual([run, taken.redacted, mismatches], [1, 0, []]);
});
