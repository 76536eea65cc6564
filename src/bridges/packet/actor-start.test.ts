import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "troupe/testing";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { type ActorId, EngineError } from "../../core/contract/index.ts";
import { type World, as, errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";

const DAY = 86_400_000;

const kid = actorCapability("kid", {
  intent: "Begun by others",
  initialState: { secret: "" },
  messages: {
    tell: {
      match: z.object({ tell: z.literal(true), secret: z.string() }),
      run({ state, payload }) {
        state.secret = payload.secret;
      },
    },
    read: { match: { read: true }, view: ({ state }) => ({ secret: state.secret }) },
    write: {
      run({ state }) {
        state.secret += "!";
        return { secret: state.secret };
      },
    },
  },
});
const args = { tell: true, secret: "gold" };

const by = <const B extends string>(how: B) => z.object({ by: z.literal(how), key: z.string() });

const parent = (shared: boolean) =>
  actorCapability(shared ? "hall" : "parent", {
    intent: "Begins others",
    shared,
    initialState: {},
    timeout: { ends: "never" },
    messages: {
      call: {
        match: by("call"),
        work: async ({ create, send, payload }) => void send(create(kid.kind.id(payload.key)), "tell", args),
      },
      send: {
        match: by("send"),
        run: ({ create, send, payload }) => void send(create(kid.kind.at(payload.key)), "tell", args),
      },
      wake: {
        match: by("wake"),
        run: ({ wake, self, payload }) =>
          wake("later", { afterMs: 10, message: { to: self, action: "send", args: { by: "send", key: payload.key } } }),
      },
    },
  });

const strangers = async (on: World, key: string): Promise<void> => {
  assert.deepEqual((await on.say("kid", key, { read: true }, {}, "ada")).payload, { secret: "gold" });
  for (const payload of [{ read: true }, { write: true }])
    assert.equal(typeOf(await on.say("kid", key, payload, {}, "bob")), "actor_not_found");
  await assert.rejects(on.actors.getActorState("kid", key, as("bob")), { type: "actor_not_found" });
};

void test("actors that an actor starts belong to its owner, however they are started", async () => {
  await using on = await world([parent(false), kid]);
  for (const how of ["call", "send", "wake"]) {
    await on.say("parent", "p", { by: how, key: how });
    await on.clock.advance(20);
    await strangers(on, how);
  }
  assert.equal((await on.actors.listActors(as("ada"))).length, 4);
});

void test("actors that a shared actor starts belong to the caller", async () => {
  await using on = await world([parent(true), kid]);
  await on.say("hall", "h", { by: "call", key: "a" });
  await strangers(on, "a");
});

void test("an actor that is not shared starts only with an owner", async () => {
  await using on = await world([kid]);
  const begin = (key: string, viewer?: ReturnType<typeof as>) =>
    on.engine.call({ to: kid.kind.id(key), action: "tell", args: args, start: null, ...(viewer && { viewer }) });
  const refused = (error: unknown): boolean => error instanceof EngineError && error.code === "NO_ACTOR";
  await assert.rejects(begin("a"), refused);
  assert.equal(await on.engine.read("kid/a"), undefined);
  await assert.rejects(begin("kid:bob", as("ada")), refused, "not under the name of another's own");
  await begin("kid:ada", as("ada"));
});

void test("an actor started by an actor counts against its user's quota, and ends when idle", async () => {
  await using on = await world([parent(false), kid], { actors: { maxPerUser: 2 } });
  await on.say("parent", "p", { by: "call", key: "a" });
  assert.equal(errorOf(await on.say("kid", "b", {}))?.type, "actor_limit_exceeded");
  await on.clock.advance(DAY);
  assert.deepEqual(
    (await on.actors.listActors(as("ada"))).map(({ id }) => id),
    ["parent/p"],
  );
});

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

void test("one user has a limited number of actors of all capabilities; the refusal has limit and used #packet.config.max-actors #packet.isolation.limits #packet.implied.2-limit", async () => {
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

void test("fifty concurrent starts never exceed the quota, and concurrent starts of one actor count once #packet.life.spawn #packet.registry.get-or-create", async () => {
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

void test("stopped actors do not count against the quota, on disk too #packet.implied.2-limit", async () => {
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

void test("shared actors, and actors of other kinds, do not count against the quota", async () => {
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

void test("the work of one actor does not delay the start of another #packet.isolation.process", async () => {
  await using on = await world([other]);
  const waiting = on.say("other", "a", { do: "wait" });
  const queued = on.say("other", "a", {});
  await until("it is there", async () => (await on.engine.read("other/a")) !== undefined);
  assert.equal(typeOf(await on.say("other", "b", {})), undefined);
  await on.session(as("ada")).close();
  assert.deepEqual([typeOf(await waiting), typeOf(await queued)], ["cancelled", "cancelled"]);
});

void test("a list examines a bounded number of actors, however many have stopped", async () => {
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

void test("a list has the user's actors, however many of them have stopped, and before shared ones", async () => {
  await using on = await world([everybodys, own, other], { ...LIMIT, disk: true });
  for (let n = 0; n < 3; n += 1) await on.say("everybodys", `k${n}`, {});
  await on.say("other", "live", {});
  const list = on.engine.list.bind(on.engine);
  on.engine.list = async (query) => {
    if (query.kind !== "own") return list(query);
    const stopped = Array.from({ length: query.limit }, (_, n) => {
      const id: ActorId = `own/${String(n).padStart(9, "0")}`;
      return { id, seq: 2, head: "", status: "stopped" } as const;
    });
    return query.live === true ? [] : stopped;
  };
  const found = await on.actors.listActors(as("ada"), 2);
  assert.deepEqual(
    found.map(({ id }) => id),
    ["other/live", "everybodys/k0"],
  );
});

void test("the quota counts actors of capabilities, not all actors of the owner", async () => {
  await using on = await world([own, other], LIMIT);
  const list = on.engine.list.bind(on.engine);
  const listed: unknown[] = [];
  on.engine.list = (query) => {
    listed.push([query.kind, query.limit]);
    return list(query);
  };
  await on.say("own", "a", {});
  await on.say("other", "a", {});
  assert.deepEqual(listed, [
    ["own", 3],
    ["other", 3],
    ["own", 3],
    ["other", 2],
  ]);
});
