import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "troupe/testing";
import { as, errorOf, typeOf, world } from "./core.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { actor } from "../../core/actor/index.ts";

const messages = {
  end: { match: { do: "end" }, run: ({ stop }: { readonly stop: (reason: string) => void }) => stop("done") },
  wait: {
    match: { do: "wait" },
    work: ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<null>((_, no) => signal.addEventListener("abort", () => no(new Error("left")))),
  },
  any: { run: () => ({ ok: true }) },
};
const own = actorCapability("own", { intent: "One's own", initialState: {}, persistence: "disk", messages });
const other = actorCapability("other", { intent: "One's own too", initialState: {}, messages });
const everybodys = actorCapability("everybodys", { intent: "Everybody's", initialState: {}, shared: true, messages });
const LIMIT = { disk: true, actors: { maxPerUser: 3 } };

void test("of one user there are so many at a time, of all capabilities together; the refusal says limit and used #packet.config.max-actors #packet.isolation.limits #packet.implied.2-limit", async () => {
  await using on = await world([own, other], LIMIT);
  for (const [id, key] of [
    ["own", "a"],
    ["own", "b"],
    ["other", "a"],
  ] as const)
    assert.equal(typeOf(await on.say(id, key, {})), undefined);
  const error = errorOf(await on.say("other", "b", {}));
  assert.equal(error?.type, "actor_limit_exceeded");
  assert.deepEqual(error?.details, { limit: 3, used: 3 });
  assert.equal(await on.engine.read("other/b"), undefined);
  assert.equal(typeOf(await on.say("own", "a", {})), undefined, "what is there goes on");
  assert.equal(typeOf(await on.say("own", "z", {}, {}, "bob")), undefined, "another has room of his own");
});

void test("a race of fifty never goes beyond it, and what is begun by several at once counts once #packet.life.spawn #packet.registry.get-or-create", async () => {
  await using on = await world([own, other], LIMIT);
  const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => on.say(n % 2 === 0 ? "own" : "other", `k${n % 25}`, {})));
  const refused = replies.filter((reply) => typeOf(reply) === "actor_limit_exceeded");
  assert.equal(replies.length - refused.length, 3);
  assert.equal((await on.actors.listActors(as("ada"))).length, 3);
  await using one = await world([own], { ...LIMIT, actors: { maxPerUser: 1 } });
  const same = await Promise.all(Array.from({ length: 50 }, () => one.say("own", "a", {})));
  assert.deepEqual(
    same.map(({ metadata }) => metadata["message_count"]),
    Array.from({ length: 50 }, (_, n) => n + 1),
    "in the order they came",
  );
});

void test("what has ended makes room, on disk too, however many did #packet.implied.2-limit", async () => {
  await using on = await world([own, other], LIMIT);
  for (let n = 0; n < 120; n += 1) {
    assert.equal(typeOf(await on.say("own", `k${n}`, {})), undefined);
    await on.say("own", `k${n}`, { do: "end" });
  }
  for (const key of ["x", "y", "z"]) assert.equal(typeOf(await on.say("other", key, {})), undefined);
  await on.actors.terminateActor("other", "x", "enough", as("ada"));
  assert.equal(typeOf(await on.say("own", "k1", {})), undefined, "what ended counts again once it is restored");
  assert.equal(typeOf(await on.say("own", "k2", {})), "actor_limit_exceeded");
});

void test("what is shared is nobody's, and actors that are no capability's are not counted", async () => {
  const elsewhere = actor("elsewhere", {
    description: "x",
    per: "link",
    owner: "starter",
    initial: () => ({}),
    messages: { any: { run: () => null } },
  });
  await using on = await world([own, everybodys], { ...LIMIT, kinds: [elsewhere] });
  for (let n = 0; n < 5; n += 1) {
    assert.equal(typeOf(await on.say("everybodys", `k${n}`, {})), undefined);
    await on.engine.call({ to: `elsewhere/${n}`, action: "any", args: null, start: null, viewer: as("ada") });
  }
  for (const key of ["a", "b", "c"]) assert.equal(typeOf(await on.say("own", key, {})), undefined);
  assert.equal(typeOf(await on.say("own", "d", {})), "actor_limit_exceeded");
});

void test("one actor's work does not hold up another's beginning #packet.isolation.process", async () => {
  await using on = await world([other]);
  const waiting = on.say("other", "a", { do: "wait" });
  const queued = on.say("other", "a", {});
  await until("it is there", async () => (await on.engine.read("other/a")) !== undefined);
  assert.equal(typeOf(await on.say("other", "b", {})), undefined);
  await on.session(as("ada")).close();
  assert.deepEqual([typeOf(await waiting), typeOf(await queued)], ["cancelled", "cancelled"]);
});

void test("a list looks at so many actors and no more, however many have ended", async () => {
  await using on = await world([everybodys], LIMIT);
  let examined = 0;
  on.engine.list = async ({ limit }) =>
    Array.from({ length: limit }, () => {
      examined += 1;
      return { id: `everybodys/${String(examined).padStart(9, "0")}`, seq: 2, head: "", status: "stopped" };
    });
  assert.deepEqual(await on.actors.listActors(as("ada")), []);
  assert.ok(examined >= 2_000 && examined <= 2_256, `${examined} were looked at`);
});

void test("the quota counts actors of capabilities, not all of one owner", async () => {
  await using on = await world([own, other], LIMIT);
  const list = on.engine.list.bind(on.engine);
  const asked: unknown[] = [];
  on.engine.list = (query) => {
    asked.push([query.kind, query.limit]);
    return list(query);
  };
  await on.say("own", "a", {});
  await on.say("other", "a", {});
  assert.deepEqual(asked, [
    ["own", 3],
    ["other", 3],
    ["own", 3],
    ["other", 2],
  ]);
});
