// A thousand random calls by five clients, compared with lists before and after each.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../src/core/contract/index.ts";
import { memoryStore, sqliteStore } from "../../src/core/store/index.ts";
import { seededEntropy, startMud, type Visitor } from "../mud-server.ts";
import { folder } from "../quest-client.ts";
import { at, type JsonObject, isJsonObject } from "../wire.ts";

const ACTS = 1_000;
const LISTS = ["tools", "prompts", "resources"] as const;
// Tools that may change lists.
const MOVING = new Set(["move", "pick_up", "drop", "use", "give", "battle", "flee", "open_chest", "accept_quest"]);

type Lists = Readonly<Record<(typeof LISTS)[number], string>>;

const listsOf = async (visitor: Visitor): Promise<Lists> => {
  const [tools, prompts, resources] = await Promise.all(
    LISTS.map(async (list) => JSON.stringify(at(await visitor.request(`${list}/list`), "result", list))),
  );
  return { tools: String(tools), prompts: String(prompts), resources: String(resources) };
};

/** Random arguments that match the tool's schema. */
const argumentsFor = (entry: unknown, below: (bound: number) => number, names: readonly string[]): JsonObject => {
  const properties = at(entry, "inputSchema", "properties");
  const made: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const values = at(property, "enum");
    if (Array.isArray(values)) made[name] = values[below(values.length)];
    else if (name === "to") made[name] = names[below(names.length)];
    else if (name === "name") made[name] = `Name ${String.fromCodePoint(97 + below(26), 97 + below(26), 97 + below(26))}`;
    else made[name] = `word ${below(100)}`;
  }
  return made;
};

const play = async (seed: number, store: Store, acts: number): Promise<void> => {
  const entropy = seededEntropy(seed);
  await using mud = await startMud({ entropy, store });
  const who = ["ada", "bob", "cid", "dee", "eve"];
  const visitors = await Promise.all(who.map((name) => mud.enter(`test|${name}`)));
  for (const visitor of visitors) await visitor.call("say", { text: "hello" });
  await mud.quiet();
  let lists = await Promise.all(visitors.map(listsOf));
  let changes = 0;
  let refused = 0;
  const done = new Map<string, number>();
  for (let act = 0; act < acts; act += 1) {
    const index = entropy.below(visitors.length);
    const visitor = visitors[index];
    const mine = lists[index];
    assert.ok(visitor !== undefined && mine !== undefined);
    const tools: unknown = JSON.parse(mine.tools);
    assert.ok(Array.isArray(tools));
    // Now and then a tool that is not listed: refusals must change nothing either.
    const moving: readonly unknown[] = tools.filter((one) => MOVING.has(String(at(one, "name"))));
    const among = entropy.below(10) < 8 ? moving : tools;
    const entry: unknown = entropy.below(20) === 0 ? { name: "battle" } : among[entropy.below(among.length)];
    const tool = String(at(entry, "name"));
    const args = argumentsFor(entry, (bound) => entropy.below(bound), who);
    const marks = visitors.map(({ heard }) => heard.length);
    const reply = await visitor.request("tools/call", { name: tool, arguments: args });
    if (at(reply, "result", "isError") === true) refused += 1;
    else done.set(tool, (done.get(tool) ?? 0) + 1);
    await mud.quiet();
    const heard = visitors.map((one, of) => one.heard.slice(marks[of]));
    const after = await Promise.all(visitors.map(listsOf));
    for (const [of, name] of who.entries()) {
      const expected = LISTS.filter((list) => lists[of]?.[list] !== after[of]?.[list]).map((list) => `notifications/${list}/list_changed`);
      changes += expected.length;
      assert.deepEqual(
        heard[of]?.toSorted(),
        expected.toSorted(),
        `act ${act}: ${who[index]} did ${tool} ${JSON.stringify(args)}, and ${name} was notified`,
      );
    }
    lists = after;
  }
  assert.ok(changes > acts / 4, `${changes} lists changed`);
  assert.ok(refused < acts / 2, `${refused} acts were refused`);
  for (const tool of ["move", "pick_up", "drop", "battle", "say"])
    assert.ok(done.has(tool), `${tool} was among the acts: ${[...done.keys()].join(", ")}`);
};

test(`C8 ${ACTS} random calls by 5 clients cause exactly one list_changed per changed list #mud.players.many #mud.list-changed #spec.5.prompts.notify #spec.5.tools.notify #spec.8.notifications`, () =>
  play(20260728, memoryStore(), ACTS));

// On disk the turns of one call are far apart, and lists between them could cause further notifications.
test(`C8 ${ACTS / 2} random calls by 5 clients on disk: a call of many turns changes each list once`, async () => {
  using place = folder();
  await play(3, sqliteStore({ directory: place.path }), ACTS / 2);
});
