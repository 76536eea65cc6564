import assert from "node:assert/strict";
import { test } from "node:test";
import { Capabilities } from "./capabilities.ts";
import { as, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { capability, mcpCapability } from "./define-capability.ts";
import { PacketFlow } from "./packet-flow.ts";

const plain = (id: string, intent = "Does a thing", requires: readonly string[] = [], provides: readonly string[] = []) =>
  capability(id, { intent, requires, provides, execute: () => ({}) });
const acting = (id: string) =>
  actorCapability(id, {
    intent: "Acts",
    initialState: { n: 0 },
    messages: {
      add: {
        run({ state }) {
          state.n += 1;
          return state.n;
        },
      },
    },
  });

const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id);

void test("capabilities are listed in order of registration, and found by id", () => {
  const all = new Capabilities([plain("b"), plain("a")]);
  all.register(plain("c"));
  assert.deepEqual(idsOf(all.list()), ["b", "a", "c"]);
  assert.equal(all.get("a")?.id, "a");
  for (const id of ["A", "constructor", "__proto__", ""]) assert.equal(all.get(id), undefined);
});

void test("a duplicate id or kind of actor is refused, with its whole registration", () => {
  const all = new Capabilities([plain("there"), acting("a_b")]);
  let notifications = 0;
  all.onChange(() => (notifications += 1));
  for (const twice of [plain("there"), acting("a-b"), acting("A_B")])
    assert.throws(() => all.register(plain("new"), twice, plain("newer")), { code: "NAME_COLLISION" });
  assert.throws(() => all.register(acting("x_y"), acting("x-y")), { code: "NAME_COLLISION" });
  assert.deepEqual([idsOf(all.list()), notifications], [["there", "a_b"], 0]);
  all.unregister("a_b");
  all.register(acting("a-b"), acting("x-y"));
  assert.deepEqual([idsOf(all.list()), notifications], [["there", "a-b", "x-y"], 2]);
});

void test("an undo removes what it registered, not a later capability of the same id", () => {
  const all = new Capabilities();
  let notifications = 0;
  const hush = all.onChange(() => (notifications += 1));
  const undo = all.register(plain("a", "First"));
  assert.equal(all.unregister("a"), true);
  assert.equal(all.unregister("a"), false);
  all.register(plain("a", "Second"));
  undo();
  assert.equal(all.get("a")?.intent, "Second");
  assert.equal(notifications, 3);
  hush();
  all.unregister("a");
  assert.equal(notifications, 3);
});

void test("discovery by words finds any of them in the intent, ignoring case #packet.implied.7-discovery", () => {
  const all = new Capabilities([plain("a", "Keep research notes"), plain("b", "Transform user data"), plain("c", "Note a user")]);
  assert.deepEqual(idsOf(all.discover("USER")), ["b", "c"]);
  assert.deepEqual(idsOf(all.discover("  notes   nothing ")), ["a"]);
  assert.deepEqual(idsOf(all.discover("note data")), ["a", "b", "c"]);
  assert.deepEqual(idsOf(all.discover("(")), []);
  assert.deepEqual(idsOf(all.discover("")), ["a", "b", "c"]);
});

void test("discovery by contract finds by required and provided fields, and all criteria must hold #packet.implied.7-discovery", () => {
  const all = new Capabilities([
    plain("user", "Find a user", ["user_id"], ["user"]),
    plain("score", "Score a user", ["user", "events"], ["score"]),
    plain("mail", "Mail a user", ["user"], []),
  ]);
  assert.deepEqual(idsOf(all.discover({ provides: ["user"] })), ["user"]);
  assert.deepEqual(idsOf(all.discover({ requires: ["user"] })), ["score", "mail"]);
  assert.deepEqual(idsOf(all.discover({ requires: ["user", "events"] })), ["score"]);
  assert.deepEqual(idsOf(all.discover({ requires: ["user"], intent: "mail" })), ["mail"]);
  assert.deepEqual(idsOf(all.discover({ provides: ["nothing"] })), []);
  assert.deepEqual(idsOf(all.discover({})), ["user", "score", "mail"]);
});

void test("an unregistered capability is not found; its actors stay as they were until it returns", async () => {
  const one = acting("one");
  await using on = await world([one]);
  await on.say("one", "a", {});
  on.capabilities.unregister("one");
  assert.equal(typeOf(await on.say("one", "a", {})), "capability_not_found");
  assert.deepEqual(await on.actors.listActors(as("ada")), []);
  on.capabilities.register(one);
  assert.equal((await on.say("one", "a", {})).payload["result"], 2);
});

void test("actors of a kind that the engine does not know are not registered; other capabilities are", async () => {
  await using on = await world([acting("one")], { kinds: new Capabilities([acting("two")]).kinds });
  let notifications = 0;
  on.capabilities.onChange(() => (notifications += 1));
  assert.throws(() => on.capabilities.register(plain("early"), acting("three")), {
    code: "BAD_DEFINITION",
    message: /three.*start the engine/,
  });
  assert.deepEqual([idsOf(on.capabilities.list()), notifications], [["one"], 0]);
  on.capabilities.register(plain("late"), acting("two"));
  assert.equal((await on.say("two", "a", {})).payload["result"], 1);
  const { engine } = on;
  assert.throws(() => new PacketFlow({ capabilities: new Capabilities([acting("three")]), engine }), { code: "BAD_DEFINITION" });
});

void test("a definition that cannot work is refused where it is written", () => {
  const bad = { code: "BAD_DEFINITION" };
  assert.throws(() => plain("a", " "), bad);
  assert.throws(() => mcpCapability("a", { intent: "x", tools: {}, handleToolCall: () => null }), bad);
  for (const id of ["", "1a", "a b", "a.b", "x".repeat(65), "é"]) assert.throws(() => plain(id), { code: "BAD_NAME" });
  const about = { intent: "x", initialState: {} };
  assert.throws(() => actorCapability("a", { ...about, messages: {} }), bad);
  for (const name of ["troupe_begin", "troupe_x", "then"])
    assert.throws(() => actorCapability("a", { ...about, messages: { [name]: { run: () => null } } }), { code: "BAD_NAME" });
});
