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
  readNow(id: ActorId): Snapshot | undefined {
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
});
