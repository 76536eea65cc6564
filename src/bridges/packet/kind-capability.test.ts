import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "troupe/testing";
import * as z from "zod";
import counter from "../../../examples/counter/index.ts";
import { actor, actorId } from "../../core/actor/index.ts";
import type { Caller, JsonObject } from "../../core/contract/index.ts";
import { cast } from "../../mcp/source/index.ts";
import { type World, as, errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { capabilityOf } from "./kind-capability.ts";

const byCast = async (on: World, kinds: Parameters<typeof cast>[0]["kinds"], name: string, args: object, who = "ada") => {
  const source = cast({ engine: on.engine, kinds, clock: on.clock });
  const { tools } = (await source.surface(as(who))).catalogue;
  const ref = tools.find(({ name: tool }) => tool === name);
  assert.ok(ref, `${name} of ${tools.map((tool) => tool.name).join(", ")}`);
  return source.act(as(who), `tools/${name}`, { ...args }, {});
};

void test("an actor defined with actor() is a capability: packets and MCP reach the same actor #packet.backward.api #packet.existing", async () => {
  await using on = await world([capabilityOf(counter)]);
  const ask = (payload: object, who = "ada") =>
    on.send({ type: "capability_request", capability_id: "counter", payload: { ...payload } }, as(who));
  assert.deepEqual((await ask({ tool: "add", by: 5 })).payload, { result: 5 });
  assert.deepEqual(await byCast(on, [counter], "add", { by: 2 }), { ok: 7 });
  const reply = await ask({ tool: "get" }, "bob");
  assert.deepEqual([reply.payload, reply.actor_id], [{ result: 7 }, "main"]);
  assert.equal((await on.engine.read("counter/main"))?.messageCount, 2, "what is read is no message, and nothing else was said");
  await assert.rejects(
    on.actors.getActorState("counter", "main", as("cy")),
    { type: "actor_not_found" },
    "its view is there, its state is not",
  );
});

void test("a kind without tools is a capability without an empty choice of tools", () => {
  const silent = actor("silent", { description: "Says nothing.", state: z.object({}), messages: { hear: { run: () => undefined } } });
  assert.deepEqual(capabilityOf(silent).parameters, { type: "object", properties: { tool: { type: "string" } }, required: ["tool"] });
});

void test("its arguments are checked, and its refusals reported", async () => {
  await using on = await world([capabilityOf(counter)]);
  assert.equal(typeOf(await on.say("counter", "main", { tool: "add", by: "much" })), "validation_failed");
  for (const tool of ["sub", "constructor", ["add"], { toString: 1 }, null, 1])
    assert.equal(typeOf(await on.say("counter", "main", { tool })), "no_handler", JSON.stringify(tool));
  assert.equal(typeOf(await on.say("counter", "main", {})), "no_handler");
});

void test("C4 keys of packets without a user are scoped to their peers", async () => {
  const bell = actorCapability("bell", {
    intent: "Rings",
    shared: true,
    initialState: { rung: 0 },
    messages: { ring: { run: ({ state }) => ({ result: (state.rung += 1) }) } },
  });
  await using on = await world([bell, capabilityOf(counter)]);
  const metadata = { "troupe/callId": "once" };
  for (const packet of [
    { capability_id: "bell", actor_id: "hall", metadata },
    { capability_id: "counter", payload: { tool: "add", by: 1 }, metadata },
  ]) {
    const ring = async (caller: Caller) => (await on.send({ type: "actor_message", ...packet }, caller)).payload["result"];
    const from = (peer: string): Caller => ({ scopes: [], peer });
    assert.equal(await ring(from("192.0.2.1")), 1, packet.capability_id);
    assert.equal(await ring(from("192.0.2.2")), 2, "another's call under a key that it guessed");
    assert.equal(await ring(from("192.0.2.1")), 1, "sent again");
    assert.deepEqual([await ring({ scopes: [] }), await ring({ scopes: [] })], [3, 4], "callers that cannot be distinguished");
    assert.deepEqual([await ring({ ...as("ada"), peer: "192.0.2.1" }), await ring({ ...as("ada"), peer: "192.0.2.2" })], [5, 5]);
  }
});

void test("a recursive schema in its tools is supported", async () => {
  const input = { type: "object", properties: { to: { $ref: "#/$defs/to" } }, $defs: { to: { type: "string" } } };
  const kind = actor("post", {
    description: "Sends.",
    initial: () => ({}),
    tools: { send: { description: "Sends.", input, run: ({ args }) => args } },
  });
  await using on = await world([capabilityOf(kind)], { disk: true });
  assert.deepEqual((await on.say("post", "main", { tool: "send", to: "bob" })).payload, { to: "bob" });
  assert.equal(typeOf(await on.say("post", "main", { tool: "send", to: 1 })), "validation_failed");
});

void test("its tools require their scopes, whether called, read or reached through a link", async () => {
  const keys = ["keys"];
  const safe = actor("safe", {
    description: "A safe.",
    per: "link",
    persistence: "memory",
    initial: () => ({ n: 0 }),
    tools: { open: { description: "Opens it.", scopes: keys, run: () => "gold" } },
  });
  const room = actor("room", {
    description: "A room with a safe.",
    per: "shared",
    persistence: "memory",
    initial: () => ({ n: 0 }),
    links: { safe: { kinds: ["safe"], to: () => actorId("safe", "main") } },
    tools: {
      count: { description: "Counts.", scopes: keys, run: ({ state }) => (state.n += 1) },
      look: { description: "Looks.", scopes: keys, view: ({ state: { n } }) => n },
      dig: { description: "Digs.", scopes: keys, enabled: () => false, run: () => "a map" },
    },
  });
  await using on = await world([capabilityOf(room), capabilityOf(safe)]);
  await on.engine.call({ to: "safe/main", action: "troupe/begin", args: null, start: null });
  const ask = (tool: string, scopes: readonly string[]) =>
    on.send({ type: "capability_request", capability_id: "room", payload: { tool } }, { ...as("ada"), scopes });
  for (const tool of ["count", "look", "safe.open"]) {
    const refused = await ask(tool, ["doors"]);
    assert.equal(typeOf(refused), "unauthorized", tool);
    assert.deepEqual(Object(errorOf(refused)?.details)["scopes"], ["keys"], tool);
    assert.equal((await ask(tool, ["keys"])).type, "capability_response", tool);
  }
  assert.equal((await on.engine.read("room/main"))?.messageCount, 1);
  await assert.rejects(on.actors.sendToActor("room", "main", { tool: "count" }, { viewer: as("ada") }), { type: "unauthorized" });
  // Law 3: a hidden tool reveals nothing, not even its parameters.
  for (const scopes of [[], ["keys"]]) {
    const refused = errorOf(await ask("dig", scopes));
    assert.deepEqual([refused?.type, refused?.details], ["no_handler", {}]);
  }
});

void test("its reads do not queue", async () => {
  const slow = actor("slow", {
    description: "Works",
    persistence: "memory",
    state: z.object({ n: z.number().default(0) }),
    tools: {
      work: {
        description: "Works",
        work: ({ signal }) => new Promise<null>((_, no) => signal.addEventListener("abort", () => no(new Error("left")))),
      },
      get: { description: "Reads", view: ({ state }) => state.n },
    },
  });
  await using on = await world([capabilityOf(slow)]);
  await on.say("slow", "main", { tool: "get" });
  const working = on.say("slow", "main", { tool: "work" });
  assert.deepEqual((await on.say("slow", "main", { tool: "get" })).payload, { result: 0 });
  await on.session(as("ada")).close();
  assert.equal(typeOf(await working), "cancelled");
});

void test("a user's own actor is not reachable by other users, though the kind has no owners", async () => {
  await using on = await world([capabilityOf(settings)]);
  assert.equal(typeOf(await on.say("settings", "ada", { tool: "set", colour: "red" })), undefined);
  assert.deepEqual(await byCast(on, [settings], "get", {}), { ok: "red" });
  for (const payload of [{ tool: "set", colour: "blue" }, { tool: "get" }])
    assert.equal(typeOf(await on.say("settings", "ada", payload, {}, "bob")), "actor_not_found");
  await assert.rejects(on.actors.getActorState("settings", "ada", as("bob")), { type: "actor_not_found" });
  await assert.rejects(on.actors.terminateActor("settings", "ada", "mine", as("bob")), { type: "actor_not_found" });
  assert.deepEqual(await on.actors.listActors(as("bob")), []);
  assert.deepEqual(await on.actors.listActors(as("ada")), []);
  assert.equal(typeOf(await on.say("settings", "made-up", { tool: "get" })), "actor_not_found");
});

void test("a kind with one actor has only that one: other keys start no other", async () => {
  await using on = await world([capabilityOf(counter)]);
  assert.equal(typeOf(await on.say("counter", "another", { tool: "add" })), "actor_not_found");
  assert.equal(await on.engine.read("counter/another"), undefined);
});

void test("create_if_missing is respected, and a stopped actor starts anew", async () => {
  await using on = await world([capabilityOf(counter)]);
  const only = { actor_options: { create_if_missing: false } };
  assert.equal(errorOf(await on.say("counter", "main", { tool: "add" }, only))?.type, "actor_not_found");
  await on.say("counter", "main", { tool: "add" });
  await on.actors.terminateActor("counter", "main", "enough", as("ada"));
  await until("it has ended", async () => (await on.engine.read("counter/main")) === undefined);
  assert.deepEqual((await on.say("counter", "main", { tool: "add" })).payload, { result: 1 });
});

void test("tools of linked actors are called like its own, and reach the actors that it links to now #whole.links", async () => {
  await using on = await world([capabilityOf(walker), capabilityOf(place)]);
  const say = (payload: object, who = "ada") =>
    on.send({ type: "capability_request", capability_id: "walker", payload: { ...payload } }, as(who));
  assert.deepEqual((await say({ tool: "ring" })).payload, { result: "hall rings for walker/ada" });
  await say({ tool: "go", to: "yard" });
  const rung = await say({ tool: "ring" });
  assert.deepEqual([rung.payload, rung.actor_id], [{ result: "yard rings for walker/ada" }, "ada"]);
  assert.deepEqual((await say({ tool: "rung" })).payload, { result: 1 });
  assert.equal(errorOf(await say({ tool: "rest" }))?.message, "There is no bench here.");
  const keyed = { metadata: { "troupe/callId": "once" } };
  const once = async () =>
    (await on.send({ type: "capability_request", capability_id: "walker", payload: { tool: "ring" }, ...keyed }, as("ada"))).payload;
  const first = await once();
  await say({ tool: "go", to: "hall" });
  assert.deepEqual(await once(), first, "sent again, it goes where it was applied");
  assert.deepEqual((await say({ tool: "rung" })).payload, { result: 1 });
  assert.equal(typeOf(await say({ tool: "fly" }, "bob")), "no_handler");
  assert.equal(await on.engine.read("walker/bob"), undefined, "what nobody ever offers begins nobody");
});

const place = actor("place", {
  description: "A place",
  persistence: "memory",
  per: "link",
  autoStart: true,
  state: z.object({ rung: z.number().default(0) }),
  tools: {
    ring: {
      description: "Rings",
      run({ state, key, viewer }) {
        state.rung += 1;
        return `${key} rings for ${viewer.self ?? "nobody"}`;
      },
    },
    rung: { description: "How often", view: ({ state: { rung } }) => rung },
    rest: { description: "Rests", enabled: () => "There is no bench here.", run: () => "Ah." },
  },
});

const walker = actor("walker", {
  description: "Walks",
  persistence: "memory",
  per: "user",
  state: z.object({ at: z.string().default("hall") }),
  links: { "": { kinds: ["place"], to: ({ state: { at } }) => actorId("place", at) } },
  tools: {
    go: {
      description: "Goes",
      input: z.object({ to: z.string() }),
      run({ state, args }) {
        state.at = args.to;
      },
    },
  },
});

const BY_LINK = actor("vault", {
  description: "A vault",
  per: "link",
  persistence: "memory",
  initial: () => ({ gold: 7 }),
  tools: {
    take: { description: "Takes", run: ({ state }) => (state.gold -= 1) },
    look: { description: "Looks", view: ({ state: { gold } }) => gold },
  },
});

const OWNER = actor("keeper", {
  description: "Keeps a vault",
  per: "user",
  persistence: "memory",
  initial: () => ({ shut: false }),
  links: {
    vault: { kinds: ["vault"], to: ({ state: { shut }, viewer }) => (shut ? undefined : BY_LINK.id(viewer.principal ?? "nobody")) },
  },
  tools: { shut: { description: "Shuts", run: ({ state }) => void (state.shut = true) } },
});

const BY_HANDLE = actor("order", {
  description: "An order",
  per: "handle",
  persistence: "memory",
  initial: () => ({ n: 0 }),
  tools: {
    add: { description: "Adds", run: ({ state }) => (state.n += 1) },
    count: { description: "Counts", view: ({ state: { n } }) => n },
  },
});

void test("an actor of a link kind is reached through links only, never by its key", async () => {
  await using on = await world([capabilityOf(OWNER), capabilityOf(BY_LINK)]);
  const take = { tool: "vault.take" };
  await on.engine.call({ to: "vault/ada", action: "troupe/begin", args: null, start: null });
  assert.deepEqual((await on.say("keeper", "ada", take)).payload, { result: 6 });
  for (const who of ["ada", "bob"])
    for (const key of ["ada", "nobody-yet"])
      for (const tool of ["take", "look", "nothing"])
        assert.equal(typeOf(await on.say("vault", key, { tool }, {}, who)), "actor_not_found", `${who} ${key} ${tool}`);
  assert.equal(await on.engine.read("vault/nobody-yet"), undefined);
  await on.say("keeper", "ada", { tool: "shut" });
  assert.equal(typeOf(await on.say("keeper", "ada", take)), "no_handler");
  await assert.rejects(on.actors.getActorState("vault", "ada", as("ada")), { type: "actor_not_found" });
  await assert.rejects(on.actors.terminateActor("vault", "ada", "mine", as("ada")), { type: "actor_not_found" });
});

void test("an argument among the packet's fields names the key of a link", async () => {
  const vault = actor("vault", {
    description: "A vault.",
    per: "link",
    persistence: "memory",
    initial: ({ key }) => ({ key, coins: 1 }),
    tools: {
      put: {
        description: "Puts coins in.",
        input: z.object({ coins: z.number() }),
        run: ({ state, args }) => `${state.key}: ${(state.coins += args.coins)}`,
      },
    },
  });
  const keeper = actor("keeper", {
    description: "Keeps many vaults.",
    per: "user",
    persistence: "memory",
    state: z.object({}),
    links: { vault: { kind: vault, choices: () => ["red", "blue", "none"] } },
  });
  await using on = await world([capabilityOf(keeper), capabilityOf(vault)]);
  for (const key of ["red", "blue", "other"]) await on.engine.call({ to: vault.id(key), action: "troupe/begin", args: null, start: null });
  const put = (key: string) => on.say("keeper", "ada", { tool: "vault.put", vault: key, coins: 2 });
  assert.deepEqual((await put("blue")).payload, { result: "blue: 3" });
  assert.deepEqual((await put("red")).payload, { result: "red: 3" });
  assert.equal(typeOf(await put("other")), "validation_failed");
  assert.match(JSON.stringify(errorOf(await put("none"))), /There is no vault of this key/);
  assert.equal(await on.engine.read(vault.id("none")), undefined);
});

void test("an actor with a handle is reached by its handle, never by its key", async () => {
  await using on = await world([capabilityOf(BY_HANDLE)]);
  const ask = async (payload: JsonObject, actor_id?: string, who?: string) =>
    on.send(
      { type: "capability_request", capability_id: "order", payload, ...(actor_id !== undefined && { actor_id }) },
      who === undefined ? { scopes: [] } : as(who),
    );
  for (const who of ["ada", undefined]) {
    const reply = await ask({ tool: "start_order" }, undefined, who);
    const { handle } = reply.payload;
    assert.ok(typeof handle === "string", JSON.stringify(reply));
    assert.deepEqual((await ask({ tool: "count" }, handle, who)).payload, { result: 0 });
    assert.deepEqual(await on.engine.list({ kind: "order", limit: 9 }), [], "a read begins nothing");
    assert.deepEqual((await ask({ tool: "add" }, handle, who)).payload, { result: 1 });
    const added = await ask({ tool: "add", handle }, undefined, who);
    assert.deepEqual([added.payload, added.metadata["message_count"]], [{ result: 2 }, 2]);
    assert.equal(typeOf(await ask({ tool: "add", handle: "h_none" }, undefined, who)), "actor_not_found");
    const [{ id } = { id: "" }] = await on.engine.list({ kind: "order", limit: 9 });
    const key = id.slice("order/".length);
    for (const other of ["ada", "bob", undefined]) {
      assert.equal(typeOf(await ask({ tool: "add" }, key, other)), "actor_not_found", `${other} ${key}`);
      const held = who === undefined || who === other;
      assert.equal(typeOf(await ask({ tool: "count" }, handle, other)), held ? undefined : "actor_not_found", `${who} ${other}`);
    }
    assert.equal(typeOf(await ask({ tool: "add" }, undefined, who)), "validation_failed");
    assert.equal(typeOf(await ask({ tool: "end_order" }, handle, who)), undefined);
    assert.equal(typeOf(await ask({ tool: "add" }, handle, who)), "actor_not_found");
    await until("it has ended", async () => (await on.engine.list({ kind: "order", live: true, limit: 9 })).length === 0);
  }
});

void test("a hidden and an unknown tool answer alike, whether an actor is named or not", async () => {
  const box = actor("box", {
    description: "x",
    per: "shared",
    persistence: "memory",
    initial: () => ({}),
    tools: {
      ghost: { description: "x", enabled: () => false, run: () => 1 },
      secret: { description: "x", enabled: () => false, view: () => 1 },
      guarded: { description: "x", scopes: ["admin"], enabled: () => false, run: () => 1 },
    },
  });
  await using on = await world([capabilityOf(box)]);
  for (const named of [{ actor_id: "main" }, {}]) {
    const ask = async (tool: string) =>
      errorOf(await on.send({ type: "capability_request", capability_id: "box", payload: { tool }, ...named }, as("ada")));
    const unknown = await ask("unknown");
    assert.equal(unknown?.type, "no_handler");
    for (const tool of ["ghost", "secret", "guarded"]) assert.deepEqual(await ask(tool), unknown, tool);
  }
  assert.equal(await on.engine.read("box/main"), undefined);
});

void test("a message named `begin` is not run to start an actor", async () => {
  const begun: string[] = [];
  const begin = { input: z.object({ by: z.string() }), run: () => void begun.push("begin") };
  const tools = { any: { description: "x", run: () => 1 } };
  const shared = actor("ours", { description: "x", per: "shared", persistence: "memory", initial: () => ({}), messages: { begin }, tools });
  const mine = actor("mine", {
    description: "x",
    per: "user",
    persistence: "memory",
    initial: () => ({}),
    messages: { begin },
    tools,
    links: { other: { kinds: ["ours"], to: () => shared.id("main") } },
  });
  await using on = await world([capabilityOf(mine), capabilityOf(shared)]);
  assert.deepEqual((await on.say("mine", "ada", { tool: "other.any" })).payload, { result: 1 });
  assert.deepEqual((await on.say("ours", "main", { tool: "any" })).payload, { result: 1 });
  await on.actors.getOrCreateActor("mine", "bob", { viewer: as("bob") });
  assert.deepEqual(begun, []);
});

void test("resources list and show only actors of declared capabilities", async () => {
  await using on = await world([capabilityOf(counter), capabilityOf(settings)]);
  await on.say("counter", "main", { tool: "add" });
  await on.say("settings", "ada", { tool: "set", colour: "red" });
  using source = on.packets.source();
  let notifications = 0;
  const undo = [
    source.watch(as("ada"), () => (notifications += 1), { ref: "resources/capability_actors", args: {} }),
    source.watch(as("ada"), () => (notifications += 1), { ref: "resources/capability_actor", args: { capability: "counter", id: "main" } }),
  ];
  assert.deepEqual(await source.act(as("ada"), "resources/capability_actors", {}, {}), { ok: { actors: [] } });
  const answers = [
    ["counter", "main"],
    ["settings", "ada"],
    ["counter", "nothing"],
    ["nothing", "main"],
  ].map(([capability = "", id = ""]) => source.act(as("ada"), "resources/capability_actor", { capability, id }, {}));
  const [first, ...others] = await Promise.all(answers);
  assert.equal(first !== undefined && "refused" in first && first.refused.code, "UNKNOWN");
  for (const one of others) assert.deepEqual(one, first);
  await on.say("counter", "main", { tool: "add" });
  await on.say("settings", "bob", { tool: "set", colour: "red" });
  assert.equal(notifications, 0);
  for (const end of undo) end();
});

void test("the list of capabilities has it, without tools", async () => {
  await using on = await world([capabilityOf(counter)]);
  using source = on.packets.source();
  const reply = await source.act(as("ada"), "resources/capabilities", null, {});
  const listed = "ok" in reply && typeof reply.ok === "object" ? Object(reply.ok).capabilities : [];
  assert.partialDeepStrictEqual(listed, [{ id: "counter", actor_enabled: true, mcp_enabled: false, tools: [] }]);
  assert.deepEqual((await source.surface(as("ada"))).catalogue.tools, []);
});

/** One actor for each user, identified by its key. */
export const settings = actor("settings", {
  description: "What a user likes.",
  per: "user",
  persistence: "memory",
  state: z.object({ colour: z.string().default("grey") }),
  tools: {
    set: {
      description: "Set the colour.",
      input: z.object({ colour: z.string() }),
      run({ state, args }) {
        state.colour = args.colour;
      },
    },
    get: { description: "The colour.", view: ({ state }) => state.colour },
  },
});

void test("a kind without words in its description is a capability all the same", () => {
  for (const description of ["", " "]) {
    const blank = actor("blank", { description, per: "user", initial: () => ({}), tools: {} });
    assert.equal(capabilityOf(blank).intent, "Actors of the kind blank.");
  }
});
