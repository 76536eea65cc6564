// Owns: what `create` promises an author, on LocalEngine. Does not own: starting by messages (testing/conformance).
import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalEngine } from "../engine/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, until } from "../../testing/simulated-clock.ts";
import { isJsonObject } from "../contract/index.ts";
import * as z from "zod";
import { actor, type RunContext, refuse } from "./index.ts";

const room = actor("room", {
  description: "A room with a size.",
  per: "link",
  initial: ({ args, viewer }) => ({ size: isJsonObject(args) ? Number(args["size"]) : 0, by: viewer?.principal ?? "", begun: 0 }),
  messages: { grow: { run: ({ state }) => void (state.size += 1) }, begin: { run: ({ state }) => void (state.begun += 1) } },
});

const building = actor("building", {
  description: "Creates rooms.",
  initial: (): { ids: string[] } => ({ ids: [] }),
  messages: {
    build: {
      run({ state, create, send, viewer }) {
        const id: `room/${string}` = create(room.at("kitchen"), { size: 3 }, { viewer });
        state.ids.push(id, create("room/empty"));
        send(room.at("kitchen").grow());
      },
    },
    hut: { run: ({ create }) => void create(room.at("hut"), null, { policy: { persistence: "memory" } }) },
    work: { work: async ({ create }) => void create(room.at("attic"), { size: 1 }) },
    fail: {
      run({ create }) {
        create(room.at("never"));
        refuse("Not now.");
      },
    },
    misuse: {
      input: z.object({ what: z.enum(["option", "id", "address"]) }),
      run({ args, create, send }) {
        // As a module without types has it.
        if (args.what === "option") Reflect.apply(send, undefined, [room.id("x"), "grow", null, { start: null }]);
        else Reflect.apply(create, undefined, [args.what === "id" ? "no id" : {}]);
      },
    },
  },
});

const stage = async (): Promise<{ readonly engine: LocalEngine; readonly started: (id: `room/${string}`) => Promise<void> }> => {
  const engine = await LocalEngine.start({ kinds: [room, building], store: memoryStore(), clock: new SimulatedClock() });
  return { engine, started: (id) => until(`${id} has started`, async () => (await engine.read(id)) !== undefined) };
};

test("create() starts an actor with its arguments, as a child of the actor that creates it, and returns its id #actors.create", async () => {
  const { engine, started } = await stage();
  await using _ = engine;
  await engine.call({ ...building.at("main").build(), viewer: { principal: "ada", scopes: [] } });
  await started("room/kitchen");
  await started("room/empty");
  await until("it has grown", async () => (await engine.read("room/kitchen"))?.messageCount === 2);
  assert.deepEqual((await engine.read("room/kitchen"))?.state, { size: 4, by: "ada", begun: 0 });
  assert.deepEqual((await engine.read("room/empty"))?.state, { size: 0, by: "", begun: 0 });
  assert.deepEqual((await engine.read("building/main"))?.state, { ids: ["room/kitchen", "room/empty"] });
  await engine.stop("building/main", "torn down");
  assert.equal((await engine.read("room/kitchen"))?.status, "stopped");
});

test("creating an actor that lives changes nothing #actors.create", async () => {
  const { engine, started } = await stage();
  await using _ = engine;
  await engine.call(building.at("main").build());
  await started("room/kitchen");
  await until("it has grown", async () => (await engine.read("room/kitchen"))?.messageCount === 2);
  await engine.call(building.at("other").build());
  await until("it has grown again", async () => (await engine.read("room/kitchen"))?.messageCount === 3);
  assert.deepEqual((await engine.read("room/kitchen"))?.state, { size: 5, by: "", begun: 0 });
  await engine.stop("building/other", "torn down");
  assert.equal((await engine.read("room/kitchen"))?.status, "live", "its parent is the first building");
});

test("create() takes a policy, works in `work`, and is dropped with a refused turn #actors.create", async () => {
  const { engine, started } = await stage();
  await using _ = engine;
  await engine.call(building.at("main").hut());
  await started("room/hut");
  assert.equal((await engine.read("room/hut"))?.persistence, "memory");
  await engine.call(building.at("main").work());
  await started("room/attic");
  await engine.call(building.at("main").fail());
  await engine.call(building.at("main").hut());
  assert.equal(await engine.read("room/never"), undefined);
});

test("a message called `begin` is an author's like any other #actors.create", async () => {
  const { engine, started } = await stage();
  await using _ = engine;
  await engine.call(building.at("main").build());
  await started("room/empty");
  assert.equal(Object(await engine.read("room/empty")).state.begun, 0);
  await engine.call({ ...room.at("empty").begin(), start: null });
  assert.equal(Object(await engine.read("room/empty")).state.begun, 1);
});

test("`start` as an option of a message, and what is no address, are refused with the way to do it #actors.create", async () => {
  const faults: unknown[] = [];
  await using engine = await LocalEngine.start({
    kinds: [room, building],
    store: memoryStore(),
    onFault: (error) => void faults.push(error),
  });
  for (const what of ["option", "id", "address"] as const)
    await assert.rejects(engine.call(building.at("main").misuse({ what })), { code: "CRASHED" });
  assert.match(String(faults[0]), /create the actor first, with `create\(kind\.at\(key\), args\)`/);
  assert.match(String(faults[1]), /BAD_ID|no id/);
  assert.match(String(faults[2]), /pass an address, as in `create\(room\.at\(key\)\)`, or an id/);
});

test("a parent and its children that expire together leave no dead letters #actors.children", async () => {
  const expireMs = 60_000;
  const cabin = actor("cabin", { description: "A cabin.", per: "link", expireMs, initial: () => ({}) });
  const ship = actor("ship", {
    description: "A ship.",
    expireMs,
    initial: (): { ended: number } => ({ ended: 0 }),
    messages: {
      build: {
        run({ create }) {
          for (const key of ["a", "b", "c"]) create(cabin.at(key));
        },
      },
      ended: { run: ({ state }) => void (state.ended += 1) },
    },
  });
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: [cabin, ship], store: memoryStore({ clock }), clock });
  await engine.call(ship.at("main").build());
  await clock.advance(10 * expireMs);
  const ids = [ship.id("main"), cabin.id("a"), cabin.id("b"), cabin.id("c")] as const;
  assert.deepEqual(
    await Promise.all(ids.map(async (id) => (await engine.read(id))?.status)),
    ids.map(() => "stopped"),
  );
  assert.deepEqual(await engine.letters(), []);
});

export const mustNotCompile = {
  message: ({ create }: RunContext<object, unknown>) => {
    // @ts-expect-error a message is no address
    create(room.at("a").grow());
    // @ts-expect-error text is no id
    create("kitchen");
    // @ts-expect-error `viewer` and `policy` are all its options
    create(room.at("a"), null, { start: null });
  },
  option: ({ send }: RunContext<object, unknown>) => {
    // @ts-expect-error creating is not sending
    send(room.at("a").grow(), { start: null });
    // @ts-expect-error nor does it take a policy
    send(room.id("a"), "grow", null, { policy: { persistence: "memory" } });
  },
  kind: ({ create }: RunContext<object, unknown>) => {
    // @ts-expect-error the id is of the kind of the address
    const id: `building/${string}` = create(room.at("a"));
    return id;
  },
};

test("an actor whose creation failed can be created again, with other arguments", async () => {
  const clock = new SimulatedClock();
  const box = actor("box", {
    description: "A box with a size.",
    per: "link",
    state: z.object({ size: z.int() }),
    initial: ({ args }) => z.object({ size: z.int() }).parse(args),
  });
  const store = actor("store", {
    description: "Creates boxes.",
    state: z.object({}),
    messages: { pack: { input: z.json(), run: ({ args, create }) => void create(box.at("a"), args) } },
  });
  await using engine = await LocalEngine.start({ kinds: [box, store], store: memoryStore({ clock }), clock });
  await engine.call(store.at("main").pack({ width: 3 }));
  await clock.advance(10_000);
  assert.equal((await engine.letters(10)).length, 1);
  await engine.call(store.at("main").pack({ size: 3 }));
  await until("the box is there", async () => (await engine.read("box/a")) !== undefined);
});
