import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { createHook } from "node:async_hooks";
import { actor } from "../../core/actor/index.ts";
import type { ActorId, Change, Json, OfferRef, Snapshot, Source, Viewer } from "../../core/contract/index.ts";
import { FakeEngine, QuickEngine } from "../../../test/source/fake-engine.ts";
import { listen, quiet, world } from "../../../test/source/world.ts";
import { until } from "../../testing/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { cast, changedLists, listed } from "./index.ts";
import { Refresher } from "./surface-watch.ts";
import * as fc from "fast-check";
import * as z from "zod";

const ana: Viewer = { principal: "ana", scopes: [] };
const bob: Viewer = { principal: "bob", scopes: [] };

const ENGINES = [
  ["read asynchronously", FakeEngine],
  ["read synchronously", QuickEngine],
] as const;

const lamp = actor("lamp", {
  description: "A lamp.",
  state: z.object({ on: z.boolean().default(false) }),
  tools: {
    flip: {
      description: "Flips it.",
      run({ state }) {
        state.on = !state.on;
      },
    },
    read: { description: "Reads by it.", enabled: ({ state: { on } }) => on, run: () => null },
  },
  resources: { light: { uri: "lamp://light", view: ({ state: { on } }) => on } },
});

/** What happens during a call by ana that changes a list, in order: she and bob subscribe to lists and contents. */
async function traceOf(Fake: typeof FakeEngine, delayMs?: number): Promise<readonly string[]> {
  const trace: string[] = [];
  class Traced extends Fake {
    override watch(topic: ActorId, listener: (change: Change) => void): () => void {
      return super.watch(topic, (change) => {
        trace.push("change");
        listener(change);
      });
    }
    protected override snapshot(id: ActorId): Snapshot | undefined {
      trace.push("read");
      return super.snapshot(id);
    }
  }
  const kind: typeof lamp = {
    ...lamp,
    surface: (...given) => {
      trace.push("surface");
      return lamp.surface(...given);
    },
  };
  const engine = new Traced([kind]);
  engine.put("lamp/main", { on: false });
  const source = cast({ engine, kinds: [kind] });
  for (const viewer of [ana, bob]) source.watch(viewer, (ref) => trace.push(`${viewer.principal} ${ref ?? "lists"}`));
  await quiet();
  trace.length = 0;
  engine.delayMs = delayMs;
  await source.act(ana, "tools/flip", {}, {});
  trace.push("reply");
  await new Promise((resolve) => setTimeout(resolve, 5));
  await quiet();
  return trace;
}

describe("Refresher", () => {
  it("looks once more for whatever is invalidated during a look, also after one that fails", async () => {
    const looks: (() => void)[] = [];
    const seen: string[] = [];
    const refresher = new Refresher({
      look: () => new Promise<string>((resolve, reject) => looks.push(() => (looks.length === 2 ? reject(new Error("no")) : resolve("a")))),
      found: (value) => seen.push(value),
      failed: (error) => seen.push(String(error)),
    });
    for (let n = 0; n < 3; n += 1) refresher.invalidate();
    let ends = 0;
    const end = refresher.nextEnd().then(() => (ends += 1));
    assert.deepEqual([looks.length, refresher.isIdle], [1, false]);
    looks[0]?.();
    await end;
    assert.deepEqual([looks.length, seen, ends], [2, ["a"], 1]);
    looks[1]?.();
    await quiet();
    assert.deepEqual([looks.length, seen, refresher.isIdle], [2, ["a", "Error: no"], true]);
    const stopped = refresher.nextEnd();
    refresher.stop();
    await stopped;
    refresher.invalidate();
    assert.equal(looks.length, 3);
  });
});

describe("C8 a call's change is read, computed and notified before its reply", () => {
  const notified = ["ana lists", "bob lists", "ana resources/light", "bob resources/light"];

  it("C8 where the engine reads later", async () => {
    assert.deepEqual(await traceOf(FakeEngine), ["change", "read", "surface", ...notified, "reply"]);
  });

  it("C8 where the engine reads at once", async () => {
    assert.deepEqual(await traceOf(QuickEngine), ["change", "read", "surface", "read", ...notified, "reply"]);
  });

  it("C8 where the engine announces after the reply", async () => {
    for (const Fake of [FakeEngine, QuickEngine])
      assert.deepEqual(await traceOf(Fake, 1), ["read", "surface", ...notified, "reply", "change", "read"]);
  });
});

for (const [how, Fake] of ENGINES)
  describe(`C8 a viewer is notified only of what its own surface may show, ${how}`, () => {
    it("C8 a change in a room notifies the viewers in it of lists and resources, and no others", async () => {
      const { source } = world({}, Fake);
      await source.act(bob, "tools/move", { to: "cave" }, {});
      const [here, there] = [listen(source, ana), listen(source, bob)];
      await quiet();
      await source.act(ana, "tools/pick_up", { item: "torch" }, {});
      await quiet();
      assert.deepEqual(new Set(here.flags), new Set(["lists", "resources/things", "resources/light", "resources/me"]));
      assert.deepEqual(there.flags, []);
    });

    it("C8 a change that the first look saw before it was announced is notified of", async () => {
      const { source, engine } = world({}, Fake);
      engine.delayMs = 1;
      const watcher = listen(source, ana);
      engine.put("room/hall", { items: ["bone"], dark: false });
      await quiet();
      await until("the delayed announcement notifies", () => watcher.flags.length > 0);
      assert.deepEqual(new Set(watcher.flags), new Set(["lists", "resources/things", "resources/light"]));
      watcher.flags.length = 0;
      engine.put("room/hall", { items: ["bone", "key"], dark: false });
      await until("the next change notifies", () => watcher.flags.includes("resources/light"));
    });

    it("C8 an act notifies another viewer in the room, once per changed list", async () => {
      const { source } = world({}, Fake);
      const [one, other] = [listen(source, ana), listen(source, bob)];
      await quiet();
      await source.act(ana, "tools/pick_up", { item: "torch" }, {});
      await quiet();
      assert.equal(other.flags.filter((flag) => flag === "lists").length, 1);
      assert.deepEqual(new Set(other.flags), new Set(["lists", "resources/things", "resources/light"]));
      assert.ok(one.flags.includes("resources/me"));
    });

    it("C8 a move notifies of the newly linked room's resources, and watches that room #spec.5.resources.room", async () => {
      const { source, engine } = world({}, Fake);
      const watcher = listen(source, ana);
      await quiet();
      await source.act(ana, "tools/move", { to: "attic" }, {});
      assert.deepEqual(new Set(watcher.flags), new Set(["lists", "resources/me", "resources/things", "resources/light"]));
      watcher.flags.length = 0;
      engine.put("room/hall", { items: ["bone"], dark: true });
      await quiet();
      assert.deepEqual(watcher.flags, []);
      engine.put("room/attic", { items: ["bone"], dark: false });
      await quiet();
      assert.deepEqual(new Set(watcher.flags), new Set(["lists", "resources/things", "resources/light"]));
    });

    it("C8 a resource that is off before and after is not notified of", async () => {
      const { source, engine } = world({}, Fake);
      await source.act(ana, "tools/move", { to: "cave" }, {});
      const watcher = listen(source, ana);
      await quiet();
      engine.put("room/cave", { items: ["key"], dark: true });
      await quiet();
      assert.deepEqual(new Set(watcher.flags), new Set(["lists", "resources/things"]));
    });

    it("C8 a change that no list shows notifies of no list", async () => {
      const { source, engine } = world({}, Fake);
      const watcher = listen(source, ana);
      await quiet();
      engine.put("player/ana", { room: "hall", items: [] });
      await quiet();
      assert.deepEqual(watcher.flags, ["resources/me"]);
    });

    it("C8 the notification precedes the reply, however long the engine delays #sources.flags", async () => {
      for (const delayMs of [undefined, 1]) {
        const { source, engine } = world({}, Fake);
        engine.delayMs = delayMs;
        const watcher = listen(source, ana);
        await quiet();
        await source.act(ana, "tools/pick_up", { item: "torch" }, {});
        assert.ok(watcher.flags.includes("lists"));
        const { length } = watcher.flags;
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
        await quiet();
        // A delayed announcement of the same head does not notify again; only the player's own gain may follow.
        assert.equal(watcher.flags.filter((flag) => flag === "resources/things").length, 1);
        assert.ok(watcher.flags.length <= length + 2);
      }
    });

    it("C8 a thousand changes during a look are one more look, and undo ends all watches #spec.7.performance.subscriptions", async () => {
      const { source, engine } = world({}, Fake);
      const watcher = listen(source, ana);
      await quiet();
      const before = engine.reads;
      for (let i = 0; i < 1_000; i++) engine.put("room/hall", { items: [String(i)], dark: false });
      await quiet();
      assert.ok(engine.reads - before <= 5, `${engine.reads - before} reads`);
      // Where it reads on the spot, the look that was under way has seen the first of them.
      const most = Fake === FakeEngine ? 1 : 2;
      assert.equal(watcher.flags.filter((flag) => flag === "lists").length, most);
      assert.equal(engine.listeners, 2);
      watcher.undo();
      assert.equal(engine.listeners, 0);
      engine.put("room/hall", { items: [], dark: true });
      await quiet();
      assert.equal(watcher.flags.filter((flag) => flag === "lists").length, most);
    });

    it("C8 undo before the first look ends all watches", async () => {
      const { source, engine } = world({}, Fake);
      listen(source, ana).undo();
      await quiet();
      assert.equal(engine.listeners, 0);
    });

    it("C8 a change during the first look is notified of", async () => {
      const { source, engine } = world({}, Fake);
      const watcher = listen(source, ana);
      engine.put("player/ana", { room: "attic", items: [] });
      await quiet();
      assert.ok(watcher.flags.includes("lists"));
    });

    it("C8 a failed look notifies, so that the viewer reads again", async () => {
      const { source, engine } = world({}, Fake);
      const watcher = listen(source, ana);
      await quiet();
      engine.failReads = true;
      engine.put("room/hall", { items: [], dark: true });
      await quiet();
      engine.failReads = false;
      assert.deepEqual(watcher.flags, ["lists"]);
      engine.put("room/hall", { items: ["bone"], dark: true });
      await quiet();
      engine.put("room/hall", { items: ["bone"], dark: false });
      await quiet();
      assert.ok(watcher.flags.includes("resources/light"));
    });

    it("C8 a static list changes only where offers are hidden", async () => {
      const { source, engine } = world({ listMode: "static" }, Fake);
      const watcher = listen(source, ana);
      await quiet();
      engine.put("room/hall", { items: [], dark: true });
      await quiet();
      assert.ok(watcher.flags.includes("lists"));
      assert.ok(watcher.flags.includes("resources/things"));
    });
  });

type Act = readonly [viewer: number, tool: "move" | "pick_up" | "drop" | "switch", argument: string];

const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.tuple(
    fc.nat(4),
    fc.constantFrom("move" as const, "pick_up" as const, "drop" as const, "switch" as const),
    fc.constantFrom("hall", "cave", "attic", "nowhere", "torch", "key", "gem"),
  ),
  { minLength: 1, maxLength: 30 },
);

for (const [how, Fake] of ENGINES)
  describe(`C8 exactness, ${how}`, () => {
    it("C8 after any act, lists are notified of iff they changed, and resources iff content or actor did #sources.flags", async () => {
      await fc.assert(
        fc.asyncProperty(acts, async (script) => {
          const { source, engine } = world({}, Fake);
          const viewers = ["ana", "bob", "cem", "dov", "eli"].map((principal): Viewer => ({ principal, scopes: [] }));
          const watchers = viewers.map((viewer) => listen(source, viewer));
          await quiet();
          const look = () =>
            Promise.all(
              viewers.map(async (viewer) => ({
                surface: await source.surface(viewer),
                contents: await contentsOf(source, engine, viewer),
              })),
            );
          let before = await look();
          for (const [who, name, argument] of script) {
            const viewer = viewers[who];
            if (viewer === undefined) continue;
            const args: Json = name === "move" ? { to: argument } : name === "switch" ? {} : { item: argument };
            await source.act(viewer, `tools/${name}`, args, {});
            await quiet();
            const after = await look();
            for (const [i, watcher] of watchers.entries()) {
              const [was, is] = [before[i], after[i]];
              if (was === undefined || is === undefined) continue;
              const differs = JSON.stringify(listed(was.surface, "dynamic")) !== JSON.stringify(listed(is.surface, "dynamic"));
              assert.equal(differs, changedLists(was.surface, is.surface, "dynamic").length > 0);
              // An act that moves a thing is turns of two actors, and may begin one: as many flags at most. One turn: one.
              const most = name === "pick_up" || name === "drop" ? 3 : 1;
              const flagged = watcher.flags.filter((flag) => flag === "lists").length;
              assert.ok(differs ? flagged >= 1 && flagged <= most : flagged === 0, `${flagged} flags for the lists of ${i} after ${name}`);
              for (const ref of ["resources/me", "resources/things", "resources/light"] as const) {
                const moved = was.contents[ref] !== is.contents[ref];
                const count = watcher.flags.filter((flag) => flag === ref).length;
                assert.ok(moved ? count >= 1 && count <= most : count === 0, `${count} flags for ${ref} of ${i} after ${name}`);
              }
              watcher.flags.length = 0;
            }
            before = after;
          }
          for (const watcher of watchers) watcher.undo();
          assert.equal(engine.listeners, 0);
        }),
        { numRuns: 60 },
      );
    });
  });

/** Which event of which actor each resource shows, read from the engine and not from the cast. */
async function contentsOf(source: Source, engine: FakeEngine, viewer: Viewer): Promise<Record<string, string>> {
  const id = `player/${viewer.principal}` as const;
  const self = await engine.read(id);
  const state = self?.state;
  const at = typeof state === "object" && state !== null && "room" in state && typeof state.room === "string" ? state.room : "hall";
  const here = await engine.read(`room/${at}`);
  const { off } = await source.surface(viewer);
  const contentOf = (ref: OfferRef, text: string): string => (off[ref] === undefined ? text : "off");
  const roomHead = `${at} ${here?.head}`;
  return {
    "resources/me": self?.head ?? "",
    "resources/things": contentOf("resources/things", roomHead),
    "resources/light": contentOf("resources/light", roomHead),
  };
}

const switchable = actor("switchable", {
  description: "A switchable.",
  per: "user",
  state: z.object({ on: z.boolean().default(false) }),
  tools: {
    flip: {
      description: "Flips it.",
      run({ state }) {
        state.on = !state.on;
      },
    },
    read: { description: "Reads.", enabled: ({ state: { on } }) => on, run: () => null },
  },
});

const caller: Viewer = { principal: "ana", scopes: [] };

/** How much is waited for where that many calls come at once, for each of them. */
async function waitsOf(calls: number): Promise<number> {
  await using engine = await LocalEngine.start({ kinds: [switchable], store: memoryStore() });
  const source = cast({ engine, kinds: [switchable] });
  const undo = source.watch(caller, () => undefined);
  await source.act(caller, "tools/flip", {}, {});
  let waits = 0;
  const hook = createHook({ init: () => void (waits += 1) }).enable();
  await Promise.all(Array.from({ length: calls }, () => source.act(caller, "tools/flip", {}, {})));
  hook.disable();
  undo();
  return waits / calls;
}

test("a reply waits for two looks at most for its notification, however many wait", async () => {
  const [few, many] = [await waitsOf(20), await waitsOf(800)];
  assert.ok(many < 3 * few, `${few} of each of 20, ${many} of each of 800`);
});
