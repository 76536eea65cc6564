import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { ActorId, Behaviour, Message, OfferRef, Source, Surface, Viewer } from "../../core/contract/index.ts";
import { FakeEngine, QuickEngine } from "../../../test/source/fake-engine.ts";
import { listen, quiet } from "../../../test/source/world.ts";
import { until } from "../../testing/index.ts";
import { isStatic, markStatic } from "../../core/contract/internal.ts";
import { cast, listed, merge, meta, prefix, registry } from "./index.ts";
import * as z from "zod";

const viewers = (count: number): readonly Viewer[] => Array.from({ length: count }, (_, i) => ({ principal: `v${i}`, scopes: [] }));

/** The kind, and for whom its surface was computed. */
function counted<S>(kind: Behaviour<S>): { readonly kind: Behaviour<S>; readonly computed: number[] } {
  const computed = [0];
  const surface = (state: S, viewer: Viewer): Surface => {
    computed[0] = (computed[0] ?? 0) + 1;
    return kind.surface?.(state, viewer) ?? { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };
  };
  return { kind: { ...kind, surface: isStatic(kind) ? markStatic(surface) : surface }, computed };
}

const names = async (source: Source, viewer: Viewer): Promise<readonly string[]> =>
  listed(await source.surface(viewer), "dynamic").tools.map(({ name }) => name);

/** Its `lock` and `mine` follow the state; who may `mine` the principal tells, but only where it is not open. */
const gate = actor("gate", {
  description: "A gate.",
  state: z.object({ open: z.boolean().default(true), owner: z.string().default("") }),
  tools: {
    lock: {
      description: "Locks.",
      enabled: ({ state: { open } }) => open,
      run({ state }) {
        state.open = false;
        return null;
      },
    },
    mine: { description: "For one.", enabled: ({ state: { open, owner }, viewer }) => open || viewer.principal === owner, run: () => null },
    rule: {
      description: "For admins.",
      enabled: ({ state: { open }, viewer }) => !open && viewer.scopes.includes("admin"),
      run: () => null,
    },
  },
  resources: { state: { uri: "gate://state", view: ({ state }) => state } },
});

const main: ActorId = "gate/main";

describe("C8 viewers who agree share surfaces and looks", () => {
  it("C8 viewers who agree share one surface and one look per change, and each is notified", async () => {
    const { kind, computed } = counted(gate);
    const engine = new FakeEngine([kind]);
    engine.put(main, { open: true, owner: "" });
    const source = cast({ engine, kinds: [kind] });
    const watchers = viewers(36).map((viewer) => listen(source, viewer));
    await quiet();
    const [before, reads] = [computed[0] ?? 0, engine.reads];
    assert.ok(before <= 2, `${before} surfaces for 36 viewers`);
    assert.equal(engine.listeners, 1);
    engine.put(main, { open: true, owner: "anyone" });
    await quiet();
    assert.equal(computed[0], before + 1);
    assert.equal(engine.reads, reads + 1);
    for (const { flags } of watchers) assert.deepEqual(flags, ["resources/state"]);
    const [one, other] = await Promise.all(viewers(2).map(async (viewer) => source.surface(viewer)));
    assert.equal(one, other);
    for (const { undo } of watchers) undo();
    assert.equal(engine.listeners, 0);
  });

  for (const [how, around] of Object.entries({
    "a cast": (source: Source) => source,
    "sources joined, under a prefix and behind meta tools": (source: Source) => meta(merge(prefix("a", source), registry({}))),
  }))
    it(`C8 of ${how}, a subscriber to lists alone is not notified of contents`, async () => {
      const engine = new FakeEngine([gate]);
      engine.put(main, { open: true, owner: "" });
      const source = around(cast({ engine, kinds: [gate] }));
      const lists = viewers(4).map((viewer) => listen(source, viewer, false));
      await quiet();
      engine.put(main, { open: true, owner: "anyone" });
      await quiet();
      const all = listen(source, { principal: "v1", scopes: [] });
      await quiet();
      engine.put(main, { open: true, owner: "somebody" });
      await quiet();
      assert.deepEqual(
        lists.map(({ flags }) => flags),
        lists.map(() => []),
      );
      assert.equal(all.flags.length, 1);
      engine.put(main, { open: false, owner: "somebody" });
      await quiet();
      for (const { flags } of [...lists, all]) assert.equal(flags.filter((flag) => flag === "lists").length, 1);
      for (const { undo } of [...lists, all]) undo();
      assert.equal(engine.listeners, 0);
    });

  it("C8 viewers who turn out to differ are regrouped before anyone is notified", async () => {
    const engine = new FakeEngine([gate]);
    engine.put(main, { open: true, owner: "" });
    const source = cast({ engine, kinds: [gate] });
    const [ana, bob, eve]: readonly Viewer[] = [
      { principal: "ana", scopes: [] },
      { principal: "bob", scopes: [] },
      { principal: "eve", scopes: ["admin"] },
    ];
    assert.ok(ana && bob && eve);
    const watchers = [ana, bob, eve].map((viewer) => listen(source, viewer));
    await quiet();
    assert.equal(engine.listeners, 1);
    const clear = (): void => watchers.forEach(({ flags }) => flags.splice(0));
    engine.put(main, { open: false, owner: "bob" });
    await quiet();
    assert.equal(engine.listeners, 3);
    assert.deepEqual(await Promise.all([ana, bob, eve].map((viewer) => names(source, viewer))), [[], ["mine"], ["rule"]]);
    for (const { flags } of watchers) assert.equal(flags.filter((flag) => flag === "lists").length, 1);
    clear();
    engine.put(main, { open: false, owner: "ana" });
    await quiet();
    assert.deepEqual(
      watchers.map(({ flags }) => flags.includes("lists")),
      [true, true, false],
    );
    assert.deepEqual(await Promise.all([ana, bob, eve].map((viewer) => names(source, viewer))), [["mine"], [], ["rule"]]);
    assert.deepEqual(await names(source, { scopes: [] }), []);
    assert.deepEqual(await names(source, { principal: "bob", scopes: ["admin"] }), ["rule"]);
  });

  it("C8 a notification carries the viewer's surface, except through merge and meta", async () => {
    const engine = new FakeEngine([gate]);
    engine.put(main, { open: true, owner: "" });
    const source = cast({ engine, kinds: [gate] });
    const all = merge(source, registry({}));
    const [ana, bob] = viewers(2);
    assert.ok(ana && bob);
    const flags = new Map<string, (() => Surface | undefined) | undefined>();
    const handed = (name: string): Surface | undefined => flags.get(name)?.();
    const subscribe = (of: Source, viewer: Viewer, name: string): (() => void) =>
      of.watch(viewer, (ref, surfaceNow) => ref === undefined && flags.set(name, surfaceNow));
    const undo = [
      subscribe(source, ana, "ana"),
      subscribe(source, bob, "bob"),
      subscribe(all, ana, "joined"),
      subscribe(meta(source), ana, "meta"),
    ];
    await quiet();
    flags.clear();
    engine.put(main, { open: false, owner: "v1" });
    await quiet();
    assert.deepEqual([...flags.keys()].toSorted(), ["ana", "bob", "joined", "meta"]);
    assert.equal(handed("ana"), await source.surface(ana));
    assert.equal(handed("bob"), await source.surface(bob));
    assert.notEqual(handed("ana"), handed("bob"));
    assert.equal(flags.get("joined"), undefined);
    assert.equal(flags.get("meta"), undefined);
    // What it says holds until another change is announced, and not of one that came before the last.
    const before = flags.get("ana");
    engine.put(main, { open: true, owner: "v1" });
    assert.equal(before?.(), undefined);
    await quiet();
    assert.equal(before?.(), undefined);
    assert.equal(handed("ana"), await source.surface(ana));
    for (const one of undo) one();
  });

  it("every way to read the viewer is tracked", async () => {
    const ways: readonly ((viewer: Viewer) => boolean)[] = [
      (viewer) => viewer.principal === "ana",
      (viewer) => ({ ...viewer }).principal === "ana",
      (viewer) => JSON.stringify(viewer).includes("ana"),
      (viewer) => structuredClone(viewer).principal === "ana",
      (viewer) => Object.values(viewer).includes("ana"),
      (viewer) => "principal" in viewer,
      (viewer) => Object.keys(viewer).includes("principal"),
      (viewer) => Object.create(viewer).principal === "ana",
      (viewer) => new Proxy(viewer, {}).principal === "ana",
    ];
    for (const way of ways) {
      const kind = actor("kind", {
        description: "One.",
        initial: () => ({}),
        tools: { own: { description: "Own.", enabled: ({ viewer }) => way(viewer), run: () => null } },
      });
      const source = cast({ engine: new FakeEngine([kind]), kinds: [kind] });
      assert.deepEqual(await names(source, { principal: "ana", scopes: [] }), ["own"], String(way));
      assert.deepEqual(await names(source, { scopes: [] }), [], String(way));
    }
  });

  it("what `initial` reads of the viewer counts too", async () => {
    const kind = actor("kind", {
      description: "One.",
      initial: ({ viewer }) => ({ by: viewer?.principal ?? "" }),
      tools: { own: { description: "Own.", enabled: ({ state: { by } }) => by === "ana", run: () => null } },
    });
    const source = cast({ engine: new FakeEngine([kind]), kinds: [kind] });
    assert.deepEqual(await names(source, { principal: "bob", scopes: [] }), []);
    assert.deepEqual(await names(source, { principal: "ana", scopes: [] }), ["own"]);
    assert.deepEqual(await names(source, { principal: "bob", scopes: [] }), []);
  });

  it("C8 a first state that holds its viewer or message is visible to no other viewer", async () => {
    const begin = (initial: Behaviour["initial"]): Behaviour => ({
      ...gate,
      initial,
      surface: () => ({ catalogue: gate.catalogue, off: {} }),
    });
    const contentFor = (source: Source, principal: string): Promise<unknown> =>
      source.act({ principal, scopes: [] }, "resources/state", {}, {}).then((reply) => JSON.stringify(reply));
    for (const initial of [(_: string, { viewer }: Message) => ({ viewer }), (_: string, first: Message) => ({ first })]) {
      const kind: Behaviour = { ...begin(initial), view: (state) => ({ ok: JSON.parse(JSON.stringify(state)) }) };
      const source = cast({ engine: new FakeEngine([kind]), kinds: [kind] });
      await source.surface({ principal: "ana", scopes: [] });
      assert.match(String(await contentFor(source, "bob")), /"principal":"bob"/);
    }
  });

  it("C8 an actor with an owner is not visible to another subscriber", async () => {
    const engine = new FakeEngine([gate]);
    const source = cast({ engine, kinds: [gate] });
    const [ana, bob]: readonly Viewer[] = viewers(2);
    assert.ok(ana && bob);
    const watchers = [ana, bob].map((viewer) => listen(source, viewer));
    await quiet();
    engine.put(main, { open: true, owner: "" }, "v0");
    await quiet();
    assert.deepEqual(await names(source, ana), ["lock", "mine"]);
    assert.deepEqual(await names(source, bob), []);
    assert.deepEqual(
      watchers.map(({ flags }) => flags.includes("lists")),
      [false, true],
    );
  });
});

describe("C8 a subscriber", () => {
  it("C8 is notified before the reply, also when the look regroups it", async () => {
    const engine = new FakeEngine([gate]);
    engine.put(main, { open: true, owner: "" });
    const source = cast({ engine, kinds: [gate] });
    const [ana, bob] = viewers(2);
    assert.ok(ana && bob);
    const watchers = [ana, bob].map((viewer) => listen(source, viewer));
    await quiet();
    assert.equal(engine.listeners, 1);
    const read = engine.read.bind(engine);
    engine.read = async (id) => {
      await quiet();
      return read(id);
    };
    assert.deepEqual(await source.act(bob, "tools/lock", {}, {}), { ok: null });
    assert.equal(engine.listeners, 2, "they were parted");
    assert.ok(watchers[1]?.flags.includes("lists"), "before the reply");
  });

  it("C8 is notified though another one throws, and the watch goes on", async () => {
    const engine = new FakeEngine([gate]);
    engine.put(main, { open: true, owner: "" });
    const faults: unknown[] = [];
    const source = cast({ engine, kinds: [gate], onFault: (error) => void faults.push(error) });
    const [ana, bob] = viewers(2);
    assert.ok(ana && bob);
    const bad = new Error("mine");
    source.watch(ana, () => {
      throw bad;
    });
    const rejects = (): unknown => Promise.reject(bad);
    source.watch(ana, rejects);
    const watcher = listen(source, bob);
    await quiet();
    engine.put(main, { open: false, owner: "" });
    await quiet();
    assert.ok(watcher.flags.includes("lists"));
    engine.put(main, { open: true, owner: "" });
    await quiet();
    assert.equal(watcher.flags.filter((flag) => flag === "lists").length, 2);
    assert.ok(faults.length >= 4 && faults.every((fault) => fault === bad));
  });

  it("C8 is notified once though it re-subscribes each time", async () => {
    const engine = new FakeEngine([gate]);
    engine.put(main, { open: true, owner: "" });
    const source = cast({ engine, kinds: [gate] });
    const [ana] = viewers(1);
    assert.ok(ana);
    listen(source, ana);
    let notified = 0;
    let undo = (): void => undefined;
    const again = (ref?: OfferRef): void => {
      if (ref === undefined) notified += 1;
      undo();
      undo = source.watch(ana, again);
    };
    undo = source.watch(ana, again);
    await quiet();
    engine.put(main, { open: false, owner: "" });
    await quiet();
    assert.equal(notified, 1);
  });

  it("C8 is notified of linked actors once they can be read, though the first look failed", async () => {
    const room = actor("room", {
      description: "A room.",
      per: "link",
      state: z.object({ open: z.boolean().default(true) }),
      tools: { leave: { description: "Leaves.", enabled: ({ state: { open } }) => open, run: () => null } },
    });
    const hall = actor("hall", {
      description: "A hall.",
      state: z.object({}),
      links: { room: { kinds: ["room"], to: () => room.id("one") } },
    });
    const engine = new FakeEngine([hall, room]);
    engine.put("hall/main", {});
    engine.put("room/one", { open: true });
    engine.failReads = true;
    const source = cast({ engine, kinds: [hall, room] });
    const [ana, bob] = viewers(2);
    assert.ok(ana && bob);
    listen(source, ana);
    await quiet();
    engine.failReads = false;
    const watcher = listen(source, bob);
    await quiet();
    engine.put("room/one", { open: false });
    await quiet();
    assert.ok(watcher.flags.includes("lists"));
  });
});

describe("C8 a list that was read between two changes", () => {
  it("C8 is notified of, though the second change reversed the first before a look", async () => {
    const engine = new FakeEngine([gate]);
    engine.put(main, { open: true, owner: "" });
    const source = cast({ engine, kinds: [gate] });
    const [ana] = viewers(1);
    assert.ok(ana);
    const watcher = listen(source, ana);
    await quiet();
    engine.delayMs = 2;
    engine.put(main, { open: false, owner: "" });
    assert.deepEqual(await names(source, ana), []);
    engine.put(main, { open: true, owner: "" });
    await until("it is notified", () => watcher.flags.includes("lists"));
    assert.deepEqual(await names(source, ana), ["lock", "mine"]);
  });
});

const steady = actor("steady", {
  description: "Always the same.",
  state: z.object({ count: z.number().default(0) }),
  tools: {
    add: {
      description: "Adds.",
      run({ state }) {
        state.count += 1;
        return state.count;
      },
    },
  },
  resources: { count: { uri: "steady://count", view: ({ state: { count } }) => count } },
});

describe("C8 a kind with a static surface", () => {
  it("is marked, and others are not", () => {
    assert.equal(isStatic(steady), true);
    assert.equal(isStatic(gate), false);
  });

  it("C8 is not static with another surface, which may depend on the viewer", async () => {
    const own: Behaviour = {
      ...steady,
      surface: (state, viewer) =>
        viewer.scopes.includes("admin")
          ? steady.surface({ count: 0 }, viewer)
          : { catalogue: steady.catalogue, off: { "tools/add": true } },
    };
    const source = cast({ engine: new FakeEngine([own]), kinds: [own] });
    assert.deepEqual(await names(source, { principal: "eve", scopes: ["admin"] }), ["add"]);
    assert.deepEqual(await names(source, { principal: "ana", scopes: [] }), []);
  });

  it("C8 its changes notify of contents once each, of no list, and without a look", async () => {
    const { kind, computed } = counted(steady);
    const engine = new FakeEngine([kind]);
    const source = cast({ engine, kinds: [kind] });
    const [ana, bob] = viewers(2);
    assert.ok(ana && bob);
    await source.act(ana, "tools/add", {}, {});
    const watchers = [ana, bob].map((viewer) => listen(source, viewer));
    await quiet();
    const { reads } = engine;
    for (let n = 0; n < 3; n += 1) await source.act(ana, "tools/add", {}, {});
    assert.deepEqual(
      watchers[0]?.flags,
      Array.from({ length: 3 }, () => "resources/count"),
      "before the replies",
    );
    await quiet();
    assert.equal(engine.reads, reads);
    assert.equal(computed[0], 1);
    assert.deepEqual(watchers[1]?.flags, watchers[0]?.flags);
    assert.deepEqual(await source.act(bob, "resources/count", {}, {}), { ok: 4 });
  });

  it("C8 its end and its next life are looked at: it may have another owner then", async () => {
    const engine = new FakeEngine([steady]);
    const source = cast({ engine, kinds: [steady] });
    const [ana, bob] = viewers(2);
    assert.ok(ana && bob);
    engine.put("steady/main", { count: 1 });
    const watchers = [ana, bob].map((viewer) => listen(source, viewer));
    await quiet();
    await engine.stop("steady/main");
    await quiet();
    engine.put("steady/main", { count: 1 }, "v0");
    await quiet();
    assert.deepEqual(await names(source, bob), []);
    assert.ok(watchers[1]?.flags.includes("lists"));
    assert.ok(watchers[0]?.flags.every((flag) => flag !== "lists"));
  });
});

describe("C8 a change that no list shows, of an actor that is read synchronously", () => {
  it("C8 notifies during the commit, and only that actor is read", async () => {
    const { kind, computed } = counted(gate);
    const chime = actor("chime", {
      description: "A chime.",
      state: z.object({}),
      tools: { ring: { description: "Rings.", enabled: () => true, run: () => null } },
    });
    const engine = new QuickEngine([kind, chime]);
    engine.put(main, { open: false, owner: "" });
    const { flags, undo } = listen(cast({ engine, kinds: [kind, chime] }), { scopes: [] });
    await quiet();
    const [before, reads] = [computed[0] ?? 0, engine.reads];
    engine.put(main, { open: false, owner: "anyone" });
    assert.deepEqual(flags, ["resources/state"]);
    await quiet();
    assert.deepEqual([flags, computed[0], engine.reads], [["resources/state"], before + 1, reads + 1]);
    engine.put(main, { open: true, owner: "anyone" });
    await quiet();
    assert.deepEqual(flags, ["resources/state", "lists", "resources/state"]);
    engine.put(main, { open: true, owner: "" });
    assert.deepEqual(flags.slice(3), ["resources/state"]);
    undo();
  });

  it("C8 takes no look where only a reason changed: no list shows it", async () => {
    const lamp = actor("lamp", {
      description: "A lamp.",
      state: z.object({ oil: z.number().default(0) }),
      tools: {
        light: { description: "Lights.", enabled: ({ state: { oil } }) => oil > 9 || `It takes ${10 - oil} more.`, run: () => null },
      },
    });
    const engine = new QuickEngine([lamp]);
    engine.put("lamp/main", { oil: 1 });
    const source = cast({ engine, kinds: [lamp] });
    const { flags, undo } = listen(source, { scopes: [] });
    await quiet();
    const { reads } = engine;
    engine.put("lamp/main", { oil: 2 });
    await quiet();
    assert.deepEqual([flags, engine.reads], [[], reads + 1]);
    const surface = await source.surface({ scopes: [] });
    assert.deepEqual(surface.off, { "tools/light": "It takes 8 more." });
    engine.put("lamp/main", { oil: 10 });
    await quiet();
    assert.deepEqual(flags, ["lists"]);
    undo();
  });

  it("C8 regroups viewers who turn out to differ, though the first one's lists are unchanged", async () => {
    const shed = actor("shed", {
      description: "A shed.",
      state: z.object({ open: z.boolean().default(true), owner: z.string().default("") }),
      tools: {
        mine: {
          description: "For one.",
          enabled: ({ state: { open, owner }, viewer }) => open || viewer.principal === owner,
          run: () => null,
        },
      },
    });
    const engine = new QuickEngine([shed]);
    engine.put("shed/main", { open: true, owner: "" });
    const source = cast({ engine, kinds: [shed] });
    const [ana, bob]: readonly Viewer[] = viewers(2);
    assert.ok(ana && bob);
    const watchers = [listen(source, ana), listen(source, bob)];
    await quiet();
    assert.equal(engine.listeners, 1);
    engine.put("shed/main", { open: false, owner: "v0" });
    await quiet();
    assert.deepEqual(
      watchers.map(({ flags }) => flags),
      [[], ["lists"]],
    );
    assert.deepEqual(await Promise.all([ana, bob].map((viewer) => names(source, viewer))), [["mine"], []]);
    for (const { undo } of watchers) undo();
  });

  it("C8 takes a look where the actor cannot be read", async () => {
    const engine = new QuickEngine([gate]);
    const faults: unknown[] = [];
    engine.put(main, { open: true, owner: "" });
    const source = cast({ engine, kinds: [gate], onFault: (error) => faults.push(error) });
    const { flags, undo } = listen(source, { scopes: [] });
    await quiet();
    engine.failReads = true;
    engine.put(main, { open: true, owner: "anyone" });
    await quiet();
    assert.deepEqual([flags, faults.length], [["lists"], 1]);
    undo();
  });
});

it("C8 a viewer object that changes later does not change its subscriptions by handle", async () => {
  const till = actor("till", {
    description: "A till.",
    per: "handle",
    state: z.object({ n: z.number().default(0) }),
    tools: {
      add: {
        description: "Adds.",
        run({ state }) {
          state.n += 1;
          return null;
        },
      },
    },
    resources: {
      sum: { uri: "till://{alias}/sum", enabled: ({ viewer }) => viewer.scopes.includes("admin"), view: ({ state: { n } }) => n },
    },
  });
  const engine = new QuickEngine([till]);
  const source = cast({ engine, kinds: [till] });
  const started = await source.act({ scopes: [] }, "tools/start_till", {}, {});
  const handle = /h_[\w-]+/u.exec(JSON.stringify(started))?.[0] ?? "";
  await source.act({ scopes: [] }, "tools/add", { handle }, {});
  const scopes = ["admin"];
  const viewer: Viewer = { scopes };
  const flags: string[][] = [[], []];
  const subscribe = (at: number) =>
    source.watch(viewer, (ref) => flags[at]?.push(ref ?? "lists"), { ref: "resources/sum", args: { handle } });
  const first = subscribe(0);
  await quiet();
  scopes.length = 0;
  const second = subscribe(1);
  await quiet();
  await source.act({ scopes: [] }, "tools/add", { handle }, {});
  await quiet();
  assert.deepEqual(flags, [["resources/sum"], []]);
  first();
  second();
});

const bookcase = actor("bookcase", {
  description: "A bookcase.",
  state: z.object({ books: z.array(z.string()).default([]), hands: z.number().default(0), owner: z.string().default("") }),
  tools: { read: { description: "Reads.", enabled: ({ state: { hands } }) => hands < 9, run: () => null } },
  resources: {
    books: { uri: "bookcase://books", reads: ["books"], view: ({ state: { books } }) => books },
    count: { uri: "bookcase://count", view: ({ state: { books } }) => books.length },
    mine: { uri: "bookcase://mine", view: ({ state: { owner }, viewer }) => owner === viewer.principal },
    letter: { uri: "bookcase://{letter}", view: ({ state: { books }, args }) => books.filter((book) => book.startsWith(args.letter)) },
    loose: { uri: "bookcase://loose", enabled: ({ state: { hands } }) => hands > 0, view: ({ state: { books } }) => books.length },
  },
});

for (const [how, Engine] of [
  ["read synchronously", QuickEngine],
  ["read asynchronously", FakeEngine],
] as const)
  describe(`C8 a subscriber to one resource of an actor that is ${how}`, () => {
    const id: ActorId = "bookcase/main";
    const none = { books: [], hands: 0, owner: "" };

    /** Puts these states one after the other, and returns which subscribers were notified after each. */
    async function notifiedAfter(states: readonly object[], begun = true): Promise<readonly string[]> {
      const engine = new Engine([bookcase]);
      if (begun) engine.put(id, none);
      const source = cast({ engine, kinds: [bookcase] });
      const flagged: string[] = [];
      const ana: Viewer = { principal: "ana", scopes: [] };
      for (const [name, letter] of [["books"], ["count"], ["mine"], ["letter", "a"], ["letter", "b"], ["loose"]] as const) {
        const args = letter === undefined ? {} : { letter };
        source.watch(ana, () => flagged.push(`${name}${letter ?? ""}`), { ref: `resources/${name ?? ""}`, args });
      }
      await quiet();
      const notified: string[] = [];
      for (const state of states) {
        engine.put(id, { ...none, ...state });
        await quiet();
        notified.push(flagged.splice(0).toSorted().join(" "));
      }
      return notified;
    }

    it("C8 is notified once where its content changed, and not where it is the same", async () => {
      const states = [
        { books: ["a"] },
        { books: ["a"] },
        { books: ["b"] },
        { books: ["b"], owner: "ana" },
        { books: ["b"], owner: "ana", hands: 1 },
        { books: ["b"], owner: "ana", hands: 2 },
        { books: [], owner: "bob", hands: 2 },
      ];
      assert.deepEqual(await notifiedAfter(states), [
        "books count lettera",
        "",
        "books lettera letterb",
        "mine",
        "loose",
        "",
        "books count letterb loose mine",
      ]);
    });

    it("C8 is notified where its content is restored, since it may have read the one in between", async () => {
      assert.deepEqual(await notifiedAfter([{ books: ["a"] }, {}, {}]), ["books count lettera", "books count lettera", ""]);
    });

    it("C8 is not notified where an actor starts with the state that was read", async () => {
      assert.deepEqual(await notifiedAfter([{}, { books: ["b"] }], false), ["", "books count letterb"]);
    });
  });

it("C8 a resource is computed once per turn for all subscribers who agree in its dependencies", async () => {
  let [all, own] = [0, 0];
  const board = actor("board", {
    description: "A board.",
    state: z.object({ n: z.number().default(0) }),
    resources: {
      all: { uri: "board://all", view: ({ state: { n } }) => ((all += 1), n) },
      own: { uri: "board://own", view: ({ state: { n }, viewer }) => ((own += 1), `${n} ${viewer.principal ?? ""}`) },
    },
  });
  const engine = new QuickEngine([board]);
  engine.put("board/main", { n: 1 });
  const source = cast({ engine, kinds: [board] });
  const notified = new Map<string, number>();
  for (const viewer of viewers(50))
    for (const name of ["all", "own"])
      source.watch(viewer, () => notified.set(name, (notified.get(name) ?? 0) + 1), { ref: `resources/${name}`, args: {} });
  await quiet();
  [all, own] = [0, 0];
  engine.put("board/main", { n: 2 });
  await quiet();
  assert.deepEqual([all, own], [1, 50]);
  assert.deepEqual([...notified.values()], [50, 50]);
});

it("C8 a subscriber is notified once when the view throws, and again when it works", async () => {
  const jar = actor("jar", {
    description: "A jar.",
    state: z.object({ broken: z.boolean().default(false), n: z.number().default(0) }),
    resources: {
      sum: {
        uri: "jar://sum",
        view: ({ state: { broken } }) => {
          if (broken) throw new Error("broken");
          return 1;
        },
      },
    },
  });
  const engine = new QuickEngine([jar]);
  engine.put("jar/main", { broken: false, n: 0 });
  const source = cast({ engine, kinds: [jar] });
  let notified = 0;
  source.watch({ scopes: [] }, () => (notified += 1), { ref: "resources/sum", args: {} });
  await quiet();
  const counts: number[] = [];
  for (const state of [
    { broken: true, n: 0 },
    { broken: true, n: 1 },
    { broken: false, n: 1 },
    { broken: false, n: 2 },
  ]) {
    engine.put("jar/main", state);
    await quiet();
    counts.push(notified);
  }
  assert.deepEqual(counts, [1, 1, 2, 2]);
});
