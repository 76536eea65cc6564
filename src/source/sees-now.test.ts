import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { actor } from "../actor/index.ts";
import type { ActorId, Snapshot, Source, Surface, Viewer } from "../contract/index.ts";
import { FakeEngine } from "../../test/source/fake-engine.ts";
import { cast, listed, merge, meta, prefix, registry } from "./index.ts";

const gate = actor("gate", {
  describe: "A gate.",
  per: "user",
  state: z.object({ open: z.boolean().default(true) }),
  tools: {
    shut: {
      describe: "Shuts.",
      when: ({ open }) => open,
      run({ state }) {
        state.open = false;
        return null;
      },
    },
    knock: { describe: "Knocks.", run: () => null },
  },
});

const ana: Viewer = { principal: "ana", scopes: [] };

/** Reads on the spot. */
class Quick extends FakeEngine {
  readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
    return this.snapshot(id);
  }
}

const hereOf = (source: Source, viewer = ana): Surface => {
  const surface = source.surface(viewer);
  assert.ok(!(surface instanceof Promise), "it is waited for");
  return surface;
};

const names = (surface: Surface): readonly string[] => listed(surface, "dynamic").tools.map(({ name }) => name);

const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe("a source whose engine reads on the spot", () => {
  it("law 2: shows on the spot what the last durable state allows, through a prefix, a merge and meta-tools too", async () => {
    const engine = new Quick([gate]);
    const source = cast({ engine, kinds: [gate] });
    const inside = merge(registry({ tools: { note: { describe: "Notes.", run: () => null } } }), prefix("g", source));
    assert.deepEqual(names(hereOf(source)), ["shut", "knock"]);
    assert.deepEqual(names(hereOf(inside)), ["note", "g.shut", "g.knock"]);
    assert.deepEqual(names(hereOf(meta(source))), ["actions", "act"]);
    engine.put("gate/ana", { open: false });
    assert.deepEqual(names(hereOf(source)), ["knock"]);
    assert.deepEqual(names(hereOf(inside)), ["note", "g.knock"]);
    engine.put("gate/ana", { open: true });
    assert.equal(hereOf(inside), await inside.surface(ana));
    assert.deepEqual(names(hereOf(source, { principal: "bob", scopes: [] })), ["shut", "knock"]);
  });

  it("shows what one that is waited for shows", async () => {
    const [quick, slow] = [new Quick([gate]), new FakeEngine([gate])];
    for (const open of [undefined, true, false]) {
      if (open !== undefined) for (const engine of [quick, slow]) engine.put("gate/ana", { open });
      const late = cast({ engine: slow, kinds: [gate] }).surface(ana);
      assert.ok(late instanceof Promise);
      assert.deepEqual(hereOf(cast({ engine: quick, kinds: [gate] })), await late);
    }
  });

  it("C8 what was shown on the spot between two changes, of which the second takes the first back, is told of", async () => {
    const engine = new Quick([gate]);
    engine.put("gate/ana", { open: true });
    const source = cast({ engine, kinds: [gate] });
    const flags: string[] = [];
    const undo = source.watch(ana, (ref) => flags.push(ref ?? "lists"));
    await quiet();
    flags.length = 0;
    engine.lateMs = 0;
    engine.put("gate/ana", { open: false });
    assert.deepEqual(names(hereOf(source)), ["knock"]);
    engine.put("gate/ana", { open: true });
    await quiet();
    assert.ok(flags.includes("lists"));
    undo();
  });

  it("throws on the spot what cannot be read, and a merge leaves out what throws", async () => {
    const engine = new Quick([gate]);
    const source = cast({ engine, kinds: [gate] });
    engine.failReads = true;
    assert.throws(() => source.surface(ana), { code: "DRAINING" });
    const both = merge(registry({ tools: { note: { describe: "Notes.", run: () => null } } }), source);
    assert.deepEqual(names(hereOf(both)), ["note"]);
    assert.equal(hereOf(both).catalogue.missing?.length, 1);
  });

  it("two names that meet are refused though another source is waited for, and fails", async () => {
    const twice = (): Source =>
      merge(
        registry({ tools: { note: { describe: "Notes.", run: () => null } } }),
        registry({ tools: { note: { describe: "Notes.", run: () => null } } }),
      );
    const slow = new FakeEngine([gate]);
    slow.failReads = true;
    const all = merge(cast({ engine: slow, kinds: [gate] }), twice());
    await assert.rejects(async () => all.surface(ana), { code: "NAME_COLLISION" });
  });

  describe("of several actors", () => {
    const room = actor("room", {
      describe: "A room.",
      per: "link",
      state: z.object({ dark: z.boolean().default(false) }),
      tools: { read: { describe: "Reads.", when: ({ dark }) => !dark, run: () => null } },
    });
    const guest = actor("guest", {
      describe: "A guest.",
      per: "user",
      state: z.object({ in: z.string().default("one") }),
      tools: { leave: { describe: "Leaves.", run: () => null } },
      links: { room: { kinds: ["room"], to: (state) => room.id(state.in) } },
    });
    const bell = actor("bell", { describe: "A bell.", state: z.object({}), tools: { ring: { describe: "Rings.", run: () => null } } });
    const kinds = [guest, room, bell];
    const lit: readonly string[] = ["leave", "room.read", "ring"];
    const dark: readonly string[] = ["leave", "ring"];

    it("law 2: shows on the spot what stands behind links too, and the same object while it is the same", () => {
      const engine = new Quick(kinds);
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
    class Half extends Quick {
      override readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
        return id.startsWith("room/") ? this.read(id) : this.snapshot(id);
      }
    }

    it("waits for those that are waited for alone", async () => {
      const engine = new Half(kinds);
      const source = cast({ engine, kinds });
      engine.put("room/one", { dark: false });
      const late = source.surface(ana);
      assert.ok(late instanceof Promise);
      assert.deepEqual(names(await late), lit);
      engine.put("room/one", { dark: true });
      assert.deepEqual(names(await source.surface(ana)), dark);
    });

    it("rejects where one cannot be read on the spot, and another is waited for and cannot either", async () => {
      class Failing extends Quick {
        override readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
          return id.startsWith("guest/") ? this.read(id) : this.snapshot(id);
        }
      }
      const engine = new Failing(kinds);
      engine.failReads = true;
      await assert.rejects(async () => cast({ engine, kinds }).surface(ana), { code: "DRAINING" });
    });

    it("meets first what is near, where there is more than is looked at", () => {
      const hub = actor("hub", {
        describe: "A hub.",
        state: z.object({}),
        links: Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`r${n}`, { kinds: ["room"], to: () => room.id(`${n}`) }])),
      });
      const engine = new Quick([hub, room, bell]);
      for (let n = 0; n < 300; n += 1) engine.put(`room/${n}`, {});
      const shown = names(hereOf(cast({ engine, kinds: [hub, room, bell] })));
      assert.ok(shown.includes("ring"));
      assert.equal(shown.length, 255);
    });
  });
});
