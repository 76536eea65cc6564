import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { queryObjects } from "node:v8";
import { actor } from "../../core/actor/index.ts";
import { type ActorId, type Json, type Snapshot, type Source, type Surface, TroupeError, type Viewer } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { FakeEngine, QuickEngine } from "../../../test/source/fake-engine.ts";
import { quiet } from "../../../test/source/world.ts";
import { cast, listed, merge, meta, prefix, registry } from "./index.ts";
import * as z from "zod";

const gate = actor("gate", {
  description: "A gate.",
  per: "user",
  state: z.object({ open: z.boolean().default(true) }),
  tools: {
    shut: {
      description: "Shuts.",
      enabled: ({ state: { open } }) => open,
      run({ state }) {
        state.open = false;
        return null;
      },
    },
    knock: { description: "Knocks.", run: () => null },
  },
});

const ana: Viewer = { principal: "ana", scopes: [] };

const hereOf = (source: Source, viewer = ana): Surface => {
  const surface = source.surface(viewer);
  assert.ok(!(surface instanceof Promise), "it is waited for");
  return surface;
};

const names = (surface: Surface): readonly string[] => listed(surface, "dynamic").tools.map(({ name }) => name);

describe("a source whose engine reads synchronously", () => {
  it("law 2: shows the last durable state synchronously, also through prefix, merge and meta", async () => {
    const engine = new QuickEngine([gate]);
    const source = cast({ engine, kinds: [gate] });
    const inside = merge(registry({ tools: { note: { description: "Notes.", work: () => null } } }), prefix("g", source));
    assert.deepEqual(names(hereOf(source)), ["shut", "knock"]);
    assert.deepEqual(names(hereOf(inside)), ["note", "g__shut", "g__knock"]);
    assert.deepEqual(names(hereOf(meta(source))), ["actions", "act"]);
    engine.put("gate/ana", { open: false });
    assert.deepEqual(names(hereOf(source)), ["knock"]);
    assert.deepEqual(names(hereOf(inside)), ["note", "g__knock"]);
    engine.put("gate/ana", { open: true });
    assert.equal(hereOf(inside), await inside.surface(ana));
    assert.deepEqual(names(hereOf(source, { principal: "bob", scopes: [] })), ["shut", "knock"]);
  });

  it("shows the same as one whose engine reads asynchronously", async () => {
    const [quick, slow] = [new QuickEngine([gate]), new FakeEngine([gate])];
    for (const open of [undefined, true, false]) {
      if (open !== undefined) for (const engine of [quick, slow]) engine.put("gate/ana", { open });
      const pending = cast({ engine: slow, kinds: [gate] }).surface(ana);
      assert.ok(pending instanceof Promise);
      assert.deepEqual(hereOf(cast({ engine: quick, kinds: [gate] })), await pending);
    }
  });

  it("C8 notifies of a surface that was read between a change and its reversal", async () => {
    const engine = new QuickEngine([gate]);
    engine.put("gate/ana", { open: true });
    const source = cast({ engine, kinds: [gate] });
    const flags: string[] = [];
    const undo = source.watch(ana, (ref) => flags.push(ref ?? "lists"));
    await quiet();
    flags.length = 0;
    engine.delayMs = 0;
    engine.put("gate/ana", { open: false });
    assert.deepEqual(names(hereOf(source)), ["knock"]);
    engine.put("gate/ana", { open: true });
    await quiet();
    assert.ok(flags.includes("lists"));
    undo();
  });

  it("law 3: the first state of an actor is computed again after a second, and its list follows", async () => {
    let now = 0;
    const shop = actor("shop", {
      description: "A shop.",
      initial: ({ now: at }): { open: boolean; tags: string[] } => ({ open: at >= 3_600_000, tags: [] }),
      tools: { buy: { description: "Buys.", enabled: ({ state: { open } }) => open, run: () => null } },
      resources: { tags: { uri: "shop://tags", view: ({ state: { tags } }) => tags } },
    });
    const engine = new QuickEngine([shop]);
    const source = cast({ engine, kinds: [shop], clock: { now: () => now, after: () => () => undefined } });
    const flags: string[] = [];
    const undo = source.watch(ana, (ref) => flags.push(ref ?? "lists"));
    await quiet();
    assert.deepEqual(names(hereOf(source)), []);
    const first = hereOf(source);
    now = 2_000;
    assert.equal(hereOf(source), first);
    now = 7_200_000;
    assert.deepEqual(names(hereOf(source)), ["buy"]);
    await quiet();
    assert.deepEqual(flags, ["lists", "resources/tags"]);
    undo();
  });

  it("throws read errors synchronously, and a merge omits the source", async () => {
    const engine = new QuickEngine([gate]);
    const source = cast({ engine, kinds: [gate] });
    engine.failReads = true;
    assert.throws(() => source.surface(ana), { code: "DRAINING" });
    const both = merge(registry({ tools: { note: { description: "Notes.", work: () => null } } }), source);
    assert.deepEqual(names(hereOf(both)), ["note"]);
    assert.equal(hereOf(both).catalogue.missing?.length, 1);
  });

  it("a name collision is refused though another source fails asynchronously", async () => {
    const twice = (): Source =>
      merge(
        registry({ tools: { note: { description: "Notes.", work: () => null } } }),
        registry({ tools: { note: { description: "Notes.", work: () => null } } }),
      );
    const slow = new FakeEngine([gate]);
    slow.failReads = true;
    const all = merge(cast({ engine: slow, kinds: [gate] }), twice());
    await assert.rejects(async () => all.surface(ana), { code: "NAME_COLLISION" });
  });

  describe("with several actors", () => {
    const room = actor("room", {
      description: "A room.",
      per: "link",
      state: z.object({ dark: z.boolean().default(false) }),
      tools: { read: { description: "Reads.", enabled: ({ state: { dark } }) => !dark, run: () => null } },
    });
    const guest = actor("guest", {
      description: "A guest.",
      per: "user",
      state: z.object({ in: z.string().default("one") }),
      tools: { leave: { description: "Leaves.", run: () => null } },
      links: { room: { kinds: ["room"], to: ({ state }) => room.id(state.in) } },
    });
    const chime = actor("chime", {
      description: "A chime.",
      state: z.object({}),
      tools: { ring: { description: "Rings.", run: () => null } },
    });
    const kinds = [guest, room, chime];
    const lit: readonly string[] = ["leave", "room__read", "ring"];
    const dark: readonly string[] = ["leave", "ring"];

    it("law 2: shows linked actors synchronously too, and an equal surface is the same object", () => {
      const engine = new QuickEngine(kinds);
      const source = cast({ engine, kinds });
      engine.put("room/one", { dark: false });
      engine.put("room/two", { dark: true });
      const first = hereOf(source);
      assert.deepEqual(names(first), lit);
      assert.equal(hereOf(source), first);
      engine.put("guest/ana", { in: "two" });
      assert.deepEqual(names(hereOf(source)), dark);
      engine.put("room/two", { dark: false });
      assert.deepEqual(names(hereOf(source)), lit);
      engine.put("guest/ana", { in: "three" });
      assert.deepEqual(names(hereOf(source)), dark);
    });

    /** Reads rooms from elsewhere. */
    class Half extends QuickEngine {
      override readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
        return id.startsWith("room/") ? this.read(id) : this.snapshot(id);
      }
    }

    it("waits only for the actors that are read asynchronously", async () => {
      const engine = new Half(kinds);
      const source = cast({ engine, kinds });
      engine.put("room/one", { dark: false });
      const pending = source.surface(ana);
      assert.ok(pending instanceof Promise);
      assert.deepEqual(names(await pending), lit);
      engine.put("room/one", { dark: true });
      assert.deepEqual(names(await source.surface(ana)), dark);
    });

    it("rejects when a synchronous and an asynchronous read both fail", async () => {
      class Failing extends QuickEngine {
        override readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
          return id.startsWith("guest/") ? this.read(id) : this.snapshot(id);
        }
      }
      const engine = new Failing(kinds);
      engine.failReads = true;
      await assert.rejects(async () => cast({ engine, kinds }).surface(ana), { code: "DRAINING" });
    });

    it("follows links breadth first up to the limit of actors", () => {
      const hub = actor("hub", {
        description: "A hub.",
        state: z.object({}),
        links: Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`r${n}`, { kinds: ["room"], to: () => room.id(`${n}`) }])),
      });
      const engine = new QuickEngine([hub, room, chime]);
      for (let n = 0; n < 300; n += 1) engine.put(`room/${n}`, {});
      const followed = names(hereOf(cast({ engine, kinds: [hub, room, chime] })));
      assert.ok(followed.includes("ring"));
      assert.equal(followed.length, 255);
    });
  });
});

describe("a link to what is not an id", () => {
  const room = actor("room", {
    description: "A room.",
    per: "link",
    persistence: "memory",
    state: z.object({}),
    tools: { ring: { description: "Rings.", run: () => null } },
  });
  const hall = (to: () => ActorId, kind: "hall" | "raw") => {
    const made = actor(kind, {
      description: "A hall.",
      persistence: "memory",
      state: z.object({}),
      links: { in: { kinds: ["room"], to } },
      tools: { [`${kind}_look`]: { description: "Looks.", run: (): null => null } },
    });
    return kind === "hall" ? made : { ...made, surface: (): Surface => ({ catalogue: made.catalogue, off: {}, links: { in: to() } }) };
  };
  const wrong: readonly ActorId[] = ["room/%", "room/north hall", "room/é", "room/a/b", `room/${"a".repeat(257)}`, "room/%2f", "room/"];

  it("is reported as a fault, and the lists of its actor stay", async () => {
    for (const id of wrong)
      for (const kind of ["hall", "raw"] as const) {
        const faults: unknown[] = [];
        const kinds = [hall(() => id, kind), room];
        await using engine = await LocalEngine.start({ kinds });
        const source = cast({ engine, kinds, onFault: (error) => faults.push(error) });
        assert.deepEqual(names(hereOf(source)), [`${kind}_look`], id);
        const rung = await source.act(ana, "tools/in__ring", {}, {});
        assert.equal("refused" in rung && rung.refused.code, "UNKNOWN", id);
        assert.deepEqual(await source.act(ana, `tools/${kind}_look`, {}, {}), { ok: null }, id);
        assert.ok(faults.length >= 1 && faults.every((fault) => fault instanceof TroupeError), id);
      }
  });

  it("differs from a send to what is not an id, which the caller learns of", async () => {
    const kinds = [
      actor("guide", {
        description: "A guide.",
        persistence: "memory",
        state: z.object({}),
        tools: {
          enter: {
            description: "Enters.",
            input: z.object({ room: z.string() }),
            run({ send, args }) {
              send(`room/${args.room}`, "ring", null);
              return "You are in.";
            },
          },
        },
      }),
      room,
    ];
    await using engine = await LocalEngine.start({ kinds });
    await assert.rejects(async () => cast({ engine, kinds }).act(ana, "tools/enter", { room: "the hall" }, {}), {
      code: "BAD_ID",
      message: /^"room\/the hall" names no actor/,
    });
  });

  it("is followed if it is an id, with any characters in its key", async () => {
    const kinds = [hall(() => room.id("é /%"), "hall"), room];
    await using engine = await LocalEngine.start({ kinds });
    await engine.call({ to: room.id("é /%"), action: "tools/ring", args: {}, start: null });
    assert.deepEqual(names(hereOf(cast({ engine, kinds }))), ["hall_look", "in__ring"]);
  });
});

const page = actor("page", {
  description: "A page.",
  per: "user",
  state: z.object({ text: z.string().default("") }),
  tools: { wipe: { description: "Wipes it.", enabled: ({ state: { text } }) => text !== "", run: () => null } },
  resources: { text: { uri: "page://text", view: ({ state: { text } }) => text } },
});

/** A state that can be counted. */
class Text {
  readonly [key: string]: Json;
  readonly text = "long";
}

/** Each read finds another object, as after the actor was read from the disk again. */
class Asleep extends QuickEngine {
  override readNow(id: ActorId): ReturnType<QuickEngine["readNow"]> {
    const known = super.readNow(id);
    return known === undefined || known instanceof Promise ? known : { ...known, persistence: "disk", state: new Text() };
  }
}

test("caches and subscribers of an actor on disk keep no state in memory", async () => {
  const engine = new Asleep([page]);
  engine.put("page/ana", { text: "long" });
  const source = cast({ engine, kinds: [page] });
  const undo = source.watch(ana, () => undefined);
  const surface = await source.surface(ana);
  assert.equal(await source.surface(ana), surface, "the same surface while nothing has changed");
  assert.deepEqual(
    listed(surface, "dynamic").tools.map(({ name }) => name),
    ["wipe"],
  );
  assert.deepEqual(await source.act(ana, "resources/text", {}, {}), { ok: "long" });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(queryObjects(Text, { format: "count" }), 0);
  undo();
});
