// Owns: roles in lists and in turns. Does not own: their types (actor.types.test.ts), that claims are not stored (test/claims.test.ts).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { reexecute } from "../chain/index.ts";
import type { ActorViewer, ChainEvent, Json, TroupeError, Viewer } from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { memoryStore } from "../store/index.ts";
import { testActor, until } from "../../testing/index.ts";
import { actor, hasClaim } from "./index.ts";

const state = z.object({ open: z.boolean().default(true), by: z.array(z.string()).default([]), secret: z.boolean().default(false) });
const room = actor("room", { description: "A room.", per: "link", autoStart: true, state, tools: {} });

const desk = actor("desk", {
  description: "A desk.",
  state,
  allow: {
    responder: { holds: ({ viewer }) => hasClaim(viewer, "roles", "responder"), reason: "Only responders may do this." },
    manager: ({ viewer }) => hasClaim(viewer, "roles", "manager"),
    auditor: { holds: ({ viewer }) => viewer.scopes.includes("audit"), reason: false },
  },
  tools: {
    acknowledge: {
      description: "Acknowledge.",
      allow: "responder",
      enabled: ({ state: now }) => (now.secret ? false : now.open || "It is closed."),
      run: ({ state: draft, viewer }) => void draft.by.push(viewer.roles?.join() ?? "none"),
    },
    close: { description: "Close.", allow: "manager", run: ({ state: draft }) => void (draft.open = false) },
    hide: { description: "Hide.", run: ({ state: draft }) => void (draft.secret = true) },
    read: { description: "Read.", allow: ["manager", "responder"], view: ({ state: now }) => now.by },
    audit: { description: "Audit.", allow: ["auditor"], view: () => "audited" },
    either: { description: "Either.", allow: ["manager", "auditor"], view: () => "either" },
    override: {
      description: "Roles and state decide together.",
      enabled: ({ state: now, viewer }) => now.open || viewer.roles?.includes("manager") === true || "It is closed.",
      view: () => "overridden",
    },
  },
  resources: { log: { uri: "desk://log", allow: "manager", view: ({ viewer }) => viewer.roles } },
  prompts: { brief: { description: "Brief.", allow: "manager", view: () => "Brief me." } },
  links: { room: { kind: room, allow: "responder", to: () => room.id("x") } },
});

const claiming = (...roles: readonly string[]): Viewer => ({ principal: "ann", scopes: [], claims: { roles } });
const MANAGERS = "Only those with the role manager may do this.";

test("the list shows an offer that the caller lacks the role for as unavailable, with the reason", () => {
  const stage = testActor(desk);
  const off = (viewer: Viewer) => stage.surface(viewer)?.off;
  const hidden = { "tools/audit": true };
  assert.deepEqual(off({ principal: "ann", scopes: [] }), {
    ...hidden,
    "tools/acknowledge": "Only responders may do this.",
    "tools/close": MANAGERS,
    "tools/read": "Only responders may do this.",
    "tools/either": "Only those with the role manager or auditor may do this.",
    "resources/log": MANAGERS,
    "prompts/brief": MANAGERS,
  });
  assert.deepEqual(off(claiming("responder", "manager")), hidden);
  assert.deepEqual(off({ ...claiming("manager"), scopes: ["audit"] }), { "tools/acknowledge": "Only responders may do this." });
  assert.deepEqual(stage.surface(claiming("manager"))?.linksOff, { room: "Only responders may do this." });
  assert.deepEqual(stage.surface(claiming("responder"))?.links, { room: "room/x" });
});

test("law 3: the turn decides by role again, and so do views", () => {
  const stage = testActor(desk, { viewer: claiming("responder") });
  const refusedWith = (message: string) => ({ refused: { code: "NOT_NOW", message } });
  assert.deepEqual(stage.turn("tools/close").reply, refusedWith(MANAGERS));
  assert.deepEqual(stage.view("resources/log"), refusedWith(MANAGERS));
  assert.deepEqual(stage.view("resources/log", {}, claiming("manager")), { ok: ["manager"] });
  assert.match(JSON.stringify(stage.view("tools/audit")), /"UNKNOWN"/);
  stage.turn("tools/acknowledge");
  assert.deepEqual(stage.state.by, ["responder"]);
  stage.turn("tools/close", {}, { viewer: claiming("manager") });
  assert.deepEqual(stage.turn("tools/acknowledge").reply, refusedWith("It is closed."));
  assert.deepEqual(stage.turn("tools/acknowledge", {}, { viewer: { scopes: [] } }).reply, refusedWith("Only responders may do this."));
  assert.deepEqual(stage.view("tools/override"), refusedWith("It is closed."));
  assert.deepEqual(stage.view("tools/override", {}, claiming("manager")), { ok: "overridden" });
  stage.turn("tools/hide");
  assert.match(JSON.stringify(stage.turn("tools/acknowledge", {}, { viewer: { scopes: [] } }).reply), /"UNKNOWN"/);
});

test("an event has the names of the roles, and its turn replays with them #chain.reexecute", async () => {
  await using engine = await LocalEngine.start({ kinds: [desk, room], store: memoryStore() });
  const call = (viewer: Viewer & ActorViewer) =>
    engine.call({ to: desk.id("main"), action: "tools/acknowledge", args: {}, viewer, start: null });
  assert.deepEqual(await call(claiming("responder", "other")), { ok: null });
  const stranger = { principal: "eve", scopes: [] };
  // Roles are for an engine to decide: those that a caller brings are dropped.
  assert.match(JSON.stringify(await call({ ...stranger, roles: ["responder"], rolesByKind: { desk: ["responder"] } })), /Only responders/);
  const events: ChainEvent[] = [];
  for await (const event of engine.history(desk.id("main"))) events.push(event);
  assert.equal(events.length, 1);
  const { message }: { readonly message: Json } = JSON.parse(events[0]?.body ?? "null");
  assert.match(JSON.stringify(message), /"viewer":\{"principal":"ann","scopes":\[\],"rolesByKind":\{"desk":\["responder"\]\}\}/);
  assert.deepEqual(reexecute(desk, events), {
    run: 1,
    taken: { work: 0, version: 0, redacted: 0, erased: 0, engine: 0 },
    mismatches: [],
  });
});

test("what an actor sends, forwards or calls for its caller has the roles of the receiving kind", async () => {
  const receiver = actor("receiver", {
    description: "Receives.",
    per: "link",
    autoStart: true,
    state,
    allow: { manager: ({ viewer }) => hasClaim(viewer, "roles", "manager") },
    tools: {
      note: {
        description: "Note.",
        allow: "manager",
        run({ state: draft, viewer }) {
          draft.by.push(viewer.roles?.join() ?? "none");
          return "noted";
        },
      },
    },
  });
  const note = (key: string) => ({ to: receiver.id(key), action: "tools/note", args: {} });
  const sender = actor("sender", {
    description: "Sends.",
    state,
    // Of the same name, and held by every caller: roles of another kind do not count.
    allow: { manager: () => true },
    tools: {
      send: { description: "Send.", run: ({ send, viewer }) => void send({ ...note("sent"), viewer }) },
      forward: { description: "Forward.", run: ({ forward }) => forward(note("forwarded")) },
      call: { description: "Call.", work: async ({ call, viewer }) => JSON.stringify(await call({ ...note("called"), viewer })) },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [sender, receiver], store: memoryStore() });
  const call = (tool: string, viewer: Viewer) => engine.call({ to: sender.id("main"), action: `tools/${tool}`, args: {}, viewer });
  const answers = async (viewer: Viewer) => [await call("forward", viewer), await call("call", viewer)];
  assert.match(JSON.stringify(await answers({ principal: "bob", scopes: [] })), /role manager.*role manager/);
  assert.deepEqual(await answers(claiming("manager")), [{ ok: "noted" }, { ok: '{"ok":"noted"}' }]);
  await call("send", claiming("manager"));
  await until("the receiver has the note", async () => (await engine.read(receiver.id("sent"))) !== undefined);
  assert.deepEqual(Object((await engine.read(receiver.id("sent")))?.state).by, ["manager"]);
});

test("a role whose function throws or returns no boolean is reported once, and no caller has it", () => {
  const broken = actor("broken", {
    description: "Broken roles.",
    state,
    allow: {
      thrower: () => {
        throw new Error("broken");
      },
      texts: () => Object("yes"),
      fine: () => true,
    },
    tools: {
      a: { description: "A.", allow: "thrower", view: () => 1 },
      b: { description: "B.", allow: "texts", view: () => 1 },
      c: { description: "C.", allow: "fine", view: () => 1 },
    },
  });
  const faults: TroupeError[] = [];
  const first = broken.initial("main", firstMessage());
  for (let n = 0; n < 2; n += 1) {
    const { off } = broken.surface(first, { principal: `p${n}`, scopes: [] }, (error) => faults.push(error));
    assert.deepEqual(Object.keys(off), ["tools/a", "tools/b"]);
  }
  assert.deepEqual(
    faults.map(({ message }) => message),
    [
      'The role "thrower" is out of order: its `holds` threw Error. Mend it; the rest works.',
      'The role "texts" is out of order: its `holds` gave an object: give true or false.',
    ],
  );
  assert.deepEqual(broken.roles?.({ scopes: [] }), ["fine"]);
});

const firstMessage = () => ({ id: "1", to: "broken/main", action: "start", args: null, at: 0, seed: "0".repeat(32), start: null }) as const;

test("a mistake in roles is found where the kind is defined, with what was meant", () => {
  const define = (more: object): unknown => actor("a", Object.assign({ description: "A.", state }, more));
  const tool = (allow: unknown): object => ({
    allow: { responder: () => true },
    tools: { x: { description: "X.", allow, view: () => 1 } },
  });
  for (const [given, sentence] of [
    [tool("respnder"), /^a: tools\/x: there is no role "respnder", do you mean "responder"\? There are responder\.$/],
    [tool([]), /`allow` is the name of a role, or a list of names/],
    [tool(["responder", 1]), /`allow` is the name of a role, or a list of names/],
    [tool(7), /`allow` must be text or a list/],
    [{ tools: { x: { description: "X.", allow: "manager", view: () => 1 } } }, /The kind has no `allow`: define its roles there\.$/],
    [{ allow: { manager: async () => true } }, /async function/],
    [{ allow: { manager: { reason: "No." } } }, /allow\/manager needs `holds`/],
    [{ allow: { manager: { holds: () => true, why: "No." } } }, /"why" means nothing here/],
    [{ allow: { manager: { holds: () => true, reason: true } } }, /`reason` is a sentence, or false/],
    [{ allow: { manager: "ann" } }, /allow\/manager must be a function or an object/],
    [{ allow: { manager: () => true }, links: { x: { kind: "room", allow: "managr", to: () => undefined } } }, /do you mean "manager"\?/],
  ] as const)
    assert.throws(() => define(given), { code: "BAD_DEFINITION", message: sentence });
});

test("hasClaim compares a claim's text, or the members of its list, with own claims only", () => {
  const claims = { roles: ["responder", 7], tenant: "acme", nested: { roles: ["manager"] } };
  assert.ok(hasClaim({ claims }, "roles", "responder") && hasClaim({ claims }, "tenant", "acme"));
  for (const [name, value] of [
    ["roles", "respond"],
    ["roles", "7"],
    ["tenant", "ac"],
    ["nested", "manager"],
    ["constructor", "x"],
  ] as const)
    assert.ok(!hasClaim({ claims }, name, value), name);
  assert.ok(!hasClaim({}, "roles", "responder"));
});
