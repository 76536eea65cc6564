import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { ActorId, Change, Json, OfferRef, Snapshot, Source, Viewer } from "../../core/contract/index.ts";
import { FakeEngine, QuickEngine } from "../../../test/source/fake-engine.ts";
import { player, room } from "../../../test/source/rooms.ts";
import { until } from "../../testing/index.ts";
import { cast, type CastOptions, changedLists, listed, type Posture } from "./index.ts";
import * as fc from "fast-check";
import * as z from "zod";

const ana: Viewer = { principal: "ana", scopes: [] };
const bob: Viewer = { principal: "bob", scopes: [] };

interface Ear {
  readonly flags: (OfferRef | "lists")[];
  readonly undo: () => void;
}

function listen(source: Source, viewer: Viewer): Ear {
  const flags: (OfferRef | "lists")[] = [];
  return { flags, undo: source.watch(viewer, (ref) => flags.push(ref ?? "lists")) };
}

/** Until nothing more happens: reads here take microtasks only. */
async function quiet(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function world(
  options: Partial<CastOptions> = {},
  Fake: typeof FakeEngine = FakeEngine,
): { readonly engine: FakeEngine; readonly source: Source } {
  const engine = new Fake([player, room]);
  engine.put("room/hall", { items: ["torch"], dark: false });
  engine.put("room/cave", { items: ["key", "gem"], dark: true });
  engine.put("room/attic", { items: [], dark: false });
  for (const name of ["ana", "bob"]) engine.put(`player/${name}`, { room: "hall", items: [] });
  return { engine, source: cast({ engine, kinds: [player, room], ...options }) };
}

const ENGINES = [
  ["read later", FakeEngine],
  ["read on the spot", QuickEngine],
] as const;

const lamp = actor("lamp", {
  describe: "A lamp.",
  state: z.object({ on: z.boolean().default(false) }),
  tools: {
    flip: {
      describe: "Flips it.",
      run({ state }) {
        state.on = !state.on;
      },
    },
    read: { describe: "Reads by it.", when: ({ on }) => on, run: () => null },
  },
  resources: { light: { uri: "lamp://light", view: ({ on }) => on } },
});

/** What happens during a call by ana that changes a list, in order: she and bob subscribe to lists and contents. */
async function traceOf(Fake: typeof FakeEngine, lateMs?: number): Promise<readonly string[]> {
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
  engine.lateMs = lateMs;
  await source.act(ana, "tools/flip", {}, {});
  trace.push("reply");
  await new Promise((resolve) => setTimeout(resolve, 5));
  await quiet();
  return trace;
}

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
  describe(`C8 a viewer is told only of what its own surface may show, ${how}`, () => {
    it("C8 a change in the room flags who is there, lists and resources, and nobody else", async () => {
      const { source } = world({}, Fake);
      await source.act(bob, "tools/move", { to: "cave" }, {});
      const [here, there] = [listen(source, ana), listen(source, bob)];
      await quiet();
      await source.act(ana, "tools/pick_up", { item: "torch" }, {});
      await quiet();
      assert.deepEqual(new Set(here.flags), new Set(["lists", "resources/things", "resources/light", "resources/me"]));
      assert.deepEqual(there.flags, []);
    });

    it("C8 what is announced after the first look, which had it already, is flagged: whoever listens had not seen it", async () => {
      const { source, engine } = world({}, Fake);
      engine.lateMs = 1;
      const ear = listen(source, ana);
      engine.put("room/hall", { items: ["bone"], dark: false });
      await quiet();
      await until("the late announcement flags", () => ear.flags.length > 0);
      assert.deepEqual(new Set(ear.flags), new Set(["lists", "resources/things", "resources/light"]));
      ear.flags.length = 0;
      engine.put("room/hall", { items: ["bone", "key"], dark: false });
      await until("the next change flags", () => ear.flags.includes("resources/light"));
    });

    it("C8 another's act in one room flags the other, exactly once per list that changed", async () => {
      const { source } = world({}, Fake);
      const [one, other] = [listen(source, ana), listen(source, bob)];
      await quiet();
      await source.act(ana, "tools/pick_up", { item: "torch" }, {});
      await quiet();
      assert.equal(other.flags.filter((flag) => flag === "lists").length, 1);
      assert.deepEqual(new Set(other.flags), new Set(["lists", "resources/things", "resources/light"]));
      assert.ok(one.flags.includes("resources/me"));
    });

    it("C8 a move flags the resources of the room that is linked now, and hears that room from then on", async () => {
      const { source, engine } = world({}, Fake);
      const ear = listen(source, ana);
      await quiet();
      await source.act(ana, "tools/move", { to: "attic" }, {});
      assert.deepEqual(new Set(ear.flags), new Set(["lists", "resources/me", "resources/things", "resources/light"]));
      ear.flags.length = 0;
      engine.put("room/hall", { items: ["bone"], dark: true });
      await quiet();
      assert.deepEqual(ear.flags, []);
      engine.put("room/attic", { items: ["bone"], dark: false });
      await quiet();
      assert.deepEqual(new Set(ear.flags), new Set(["lists", "resources/things", "resources/light"]));
    });

    it("C8 what is off before and after is never flagged", async () => {
      const { source, engine } = world({}, Fake);
      await source.act(ana, "tools/move", { to: "cave" }, {});
      const ear = listen(source, ana);
      await quiet();
      engine.put("room/cave", { items: ["key"], dark: true });
      await quiet();
      assert.deepEqual(new Set(ear.flags), new Set(["lists", "resources/things"]));
    });

    it("C8 a change that no list shows flags no list", async () => {
      const { source, engine } = world({}, Fake);
      const ear = listen(source, ana);
      await quiet();
      engine.put("player/ana", { room: "hall", items: [] });
      await quiet();
      assert.deepEqual(ear.flags, ["resources/me"]);
    });

    it("C8 the flag precedes the reply, however late the engine announces", async () => {
      for (const lateMs of [undefined, 1]) {
        const { source, engine } = world({}, Fake);
        engine.lateMs = lateMs;
        const ear = listen(source, ana);
        await quiet();
        await source.act(ana, "tools/pick_up", { item: "torch" }, {});
        assert.ok(ear.flags.includes("lists"));
        const { length } = ear.flags;
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
        await quiet();
        // Announced late, the same head is not told again; only the player's own gain may follow.
        assert.equal(ear.flags.filter((flag) => flag === "resources/things").length, 1);
        assert.ok(ear.flags.length <= length + 2);
      }
    });

    it("C8 a thousand changes while it looks are one more look, and undo leaves nothing behind", async () => {
      const { source, engine } = world({}, Fake);
      const ear = listen(source, ana);
      await quiet();
      const before = engine.reads;
      for (let i = 0; i < 1_000; i++) engine.put("room/hall", { items: [String(i)], dark: false });
      await quiet();
      assert.ok(engine.reads - before <= 5, `${engine.reads - before} reads`);
      // Where it reads on the spot, the look that was under way has seen the first of them.
      const most = Fake === FakeEngine ? 1 : 2;
      assert.equal(ear.flags.filter((flag) => flag === "lists").length, most);
      assert.equal(engine.listeners, 2);
      ear.undo();
      assert.equal(engine.listeners, 0);
      engine.put("room/hall", { items: [], dark: true });
      await quiet();
      assert.equal(ear.flags.filter((flag) => flag === "lists").length, most);
    });

    it("C8 listening ends also when it is undone before it began", async () => {
      const { source, engine } = world({}, Fake);
      listen(source, ana).undo();
      await quiet();
      assert.equal(engine.listeners, 0);
    });

    it("C8 a change before the first look is done counts: nothing is missed", async () => {
      const { source, engine } = world({}, Fake);
      const ear = listen(source, ana);
      engine.put("player/ana", { room: "attic", items: [] });
      await quiet();
      assert.ok(ear.flags.includes("lists"));
    });

    it("C8 an engine that cannot be read makes the viewer ask again", async () => {
      const { source, engine } = world({}, Fake);
      const ear = listen(source, ana);
      await quiet();
      engine.failReads = true;
      engine.put("room/hall", { items: [], dark: true });
      await quiet();
      engine.failReads = false;
      assert.deepEqual(ear.flags, ["lists"]);
      engine.put("room/hall", { items: ["bone"], dark: true });
      await quiet();
      engine.put("room/hall", { items: ["bone"], dark: false });
      await quiet();
      assert.ok(ear.flags.includes("resources/light"));
    });

    it("C8 a gated list changes only in what is hidden", async () => {
      const { source, engine } = world({ posture: "gated" }, Fake);
      const ear = listen(source, ana);
      await quiet();
      engine.put("room/hall", { items: [], dark: true });
      await quiet();
      assert.ok(ear.flags.includes("lists"));
      assert.ok(ear.flags.includes("resources/things"));
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
    it("C8 after any act, a viewer's lists are flagged iff they are others than before, and a resource iff its content or place is", async () => {
      await fc.assert(
        fc.asyncProperty(acts, async (script) => {
          const { source, engine } = world({}, Fake);
          const viewers = ["ana", "bob", "cem", "dov", "eli"].map((principal): Viewer => ({ principal, scopes: [] }));
          const ears = viewers.map((viewer) => listen(source, viewer));
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
            for (const [i, ear] of ears.entries()) {
              const [was, is] = [before[i], after[i]];
              if (was === undefined || is === undefined) continue;
              const differs = JSON.stringify(listed(was.surface, "dynamic")) !== JSON.stringify(listed(is.surface, "dynamic"));
              assert.equal(differs, changedLists(was.surface, is.surface, "dynamic").length > 0);
              // An act that moves a thing is turns of two actors, and may begin one: as many flags at most. One turn: one.
              const most = name === "pick_up" || name === "drop" ? 3 : 1;
              const flagged = ear.flags.filter((flag) => flag === "lists").length;
              assert.ok(differs ? flagged >= 1 && flagged <= most : flagged === 0, `${flagged} flags for the lists of ${i} after ${name}`);
              for (const ref of ["resources/me", "resources/things", "resources/light"] as const) {
                const moved = was.contents[ref] !== is.contents[ref];
                const count = ear.flags.filter((flag) => flag === ref).length;
                assert.ok(moved ? count >= 1 && count <= most : count === 0, `${count} flags for ${ref} of ${i} after ${name}`);
              }
              ear.flags.length = 0;
            }
            before = after;
          }
          for (const ear of ears) ear.undo();
          assert.equal(engine.listeners, 0);
        }),
        { numRuns: 60 },
      );
    });
  });

/** Which event of which actor each resource shows: told apart by what the engine holds, not by the cast. */
async function contentsOf(source: Source, engine: FakeEngine, viewer: Viewer): Promise<Record<string, string>> {
  const id = `player/${viewer.principal}` as const;
  const self = await engine.read(id);
  const state = self?.state;
  const at = typeof state === "object" && state !== null && "room" in state && typeof state.room === "string" ? state.room : "hall";
  const here = await engine.read(`room/${at}`);
  const { off } = await source.surface(viewer);
  const shown = (ref: OfferRef, text: string): string => (off[ref] === undefined ? text : "off");
  const roomHead = `${at} ${here?.head}`;
  return {
    "resources/me": self?.head ?? "",
    "resources/things": shown("resources/things", roomHead),
    "resources/light": shown("resources/light", roomHead),
  };
}

async function start(source: Source, viewer: Viewer, kind = "player"): Promise<string> {
  const reply = await source.act(viewer, `tools/start_${kind}`, {}, {});
  const ok: Json = "ok" in reply ? reply.ok : null;
  assert.ok(typeof ok === "object" && ok !== null && "handle" in ok && typeof ok.handle === "string");
  return ok.handle;
}

describe("cast: handles", () => {
  const nobody: Viewer = { scopes: [] };
  const posture: Posture = "gated";

  it("asks for a handle on every tool and prompt, and has it as first segment of every URI", async () => {
    const { source } = world();
    const lists = listed(await source.surface(nobody), posture);
    assert.deepEqual(
      lists.tools.map(({ name }) => name),
      ["start_player", "end_player", "move", "drop", "inventory", "pick_up", "switch", "look"],
    );
    assert.match(JSON.stringify(lists.tools[0]), /24 hours/);
    const move = lists.tools.find(({ name }) => name === "move");
    assert.deepEqual(move?.["inputSchema"], {
      type: "object",
      properties: { handle: { type: "string", description: "What start_player returned." }, to: { type: "string" } },
      required: ["handle", "to"],
    });
    assert.deepEqual(
      lists.resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ["game://{handle}/player/state", "room://{handle}/things", "room://{handle}/light"],
    );
    assert.deepEqual(lists.resources, []);
    assert.deepEqual(lists.prompts[0]?.["arguments"], [{ name: "handle", description: "What start_player returned.", required: true }]);
    assert.deepEqual(listed(await source.surface(nobody), "dynamic").tools.length, lists.tools.length);
  });

  it("plays with a handle, through links too, and keeps players apart", async () => {
    const { source, engine } = world();
    const [one, two] = [await start(source, nobody), await start(source, nobody)];
    assert.notEqual(one, two);
    const before = engine.actors.size;
    assert.deepEqual(await source.act(nobody, "tools/pick_up", { handle: one, item: "torch" }, {}), { ok: "You take the torch." });
    assert.equal(engine.actors.size, before + 1);
    assert.deepEqual(await source.act(nobody, "tools/inventory", { handle: one }, {}), { ok: "torch" });
    assert.deepEqual(await source.act(nobody, "tools/inventory", { handle: two }, {}), { ok: "" });
    assert.deepEqual(await source.act(nobody, "resources/me", { handle: one }, {}), { ok: { room: "hall", items: ["torch"] } });
    assert.deepEqual(await source.complete?.(nobody, "tools/drop", "item", "", { handle: one }), ["torch"]);
    assert.ok(
      [...engine.actors.keys()].every((id) => !id.includes(one)),
      "an id is no handle",
    );
  });

  it("refuses a handle nobody minted, one of another kind of text, one that ended and one that expired, each as a tool error", async () => {
    let now = 1_000_000_000_000;
    const { source, engine } = world({ clock: { now: () => now, after: () => () => undefined } });
    const handle = await start(source, nobody);
    const forged = `h_${"A".repeat(43)}`;
    for (const bad of [forged, "h_1", "", 7]) {
      const reply = await source.act(nobody, "tools/inventory", { handle: bad }, {});
      assert.ok("refused" in reply && reply.refused.code === "HANDLE" && reply.refused.message.includes("start_player"), String(bad));
    }
    const missing = await source.act(nobody, "tools/inventory", {}, {});
    assert.ok("refused" in missing && missing.refused.code === "INVALID");
    const unread = await source.act(nobody, "resources/me", { handle: forged }, {});
    assert.ok("refused" in unread && unread.refused.code === "UNKNOWN");
    assert.equal([...engine.actors.keys()].filter((id) => id.startsWith("player/")).length, 2);
    await source.act(nobody, "tools/move", { handle, to: "attic" }, {});
    assert.deepEqual(await source.act(nobody, "tools/end_player", { handle }, {}), { ok: "The player has ended." });
    const ended = await source.act(nobody, "tools/inventory", { handle }, {});
    assert.ok("refused" in ended && ended.refused.code === "HANDLE" && ended.refused.message.includes("ended or expired"));
    const unused = await start(source, nobody);
    now += 25 * 3_600_000;
    const late = await source.act(nobody, "tools/inventory", { handle: unused }, {});
    assert.ok("refused" in late && late.refused.message.includes("expired"));
    const never = await start(source, nobody);
    await source.act(nobody, "tools/end_player", { handle: never }, {});
    assert.ok("refused" in (await source.act(nobody, "tools/move", { handle: never, to: "attic" }, {})));
  });

  it("binds a handle to its starter's principal, before and after its first use", async () => {
    const engine = new FakeEngine([{ ...player, per: "handle" }, room]);
    engine.put("room/hall", { items: [], dark: false });
    const source = cast({ engine, kinds: [{ ...player, per: "handle" }, room] });
    const handle = await start(source, ana);
    const other = async (viewer: Viewer): Promise<boolean> =>
      "refused" in (await source.act(viewer, "tools/move", { handle, to: "attic" }, {}));
    assert.ok(await other(bob));
    assert.ok(await other(nobody));
    assert.ok(!(await other(ana)));
    assert.ok(await other(bob));
    assert.ok(await other(nobody));
    assert.deepEqual(engine.calls.at(-1)?.message.policy, { owner: "starter", expireMs: 86_400_000 });
  });

  it("is known again by another process that shares the secret, or once it was used", async () => {
    const { source, engine } = world({ handles: { secret: new Uint8Array(32) } });
    const [used, unused] = [await start(source, nobody), await start(source, nobody)];
    await source.act(nobody, "tools/move", { handle: used, to: "attic" }, {});
    const sharing = cast({ engine, kinds: [player, room], handles: { secret: new Uint8Array(32) } });
    const alone = cast({ engine, kinds: [player, room] });
    assert.ok("ok" in (await sharing.act(nobody, "tools/inventory", { handle: unused }, {})));
    assert.ok("ok" in (await alone.act(nobody, "tools/inventory", { handle: used }, {})));
    assert.ok("refused" in (await alone.act(nobody, "tools/inventory", { handle: unused }, {})));
  });

  it("tells apart what two links to one kind show", async () => {
    const ward = actor("ward", {
      describe: "A ward.",
      per: "link",
      state: z.object({ beds: z.number().default(0) }),
      resources: { beds: { uri: "ward://{alias}/beds", view: ({ beds }) => String(beds) } },
    });
    const clinic = actor("clinic", {
      describe: "A clinic.",
      per: "user",
      state: z.object({}),
      links: { east: { kinds: ["ward"], to: () => "ward/east" }, west: { kinds: ["ward"], to: () => "ward/west" } },
    });
    const engine = new FakeEngine([clinic, ward]);
    engine.put("ward/east", { beds: 1 });
    engine.put("ward/west", { beds: 2 });
    const source = cast({ engine, kinds: [clinic, ward] });
    assert.deepEqual(
      listed(await source.surface(nobody), posture).resourceTemplates.map(({ name, uriTemplate }) => [name, uriTemplate]),
      [
        ["east.beds", "ward://{handle}/beds"],
        ["west.beds", "ward://{handle}/west/beds"],
      ],
    );
    const handle = await start(source, nobody, "clinic");
    assert.deepEqual(await source.act(nobody, "resources/east.beds", { handle }, {}), { ok: "1" });
    assert.deepEqual(await source.act(nobody, "resources/west.beds", { handle }, {}), { ok: "2" });
  });

  it("leaves a URI as it is where a handle is enough, whatever a link is called", async () => {
    const ward = actor("ward", {
      describe: "A ward.",
      per: "link",
      state: z.object({}),
      resources: { ward: { uri: "clinic://{alias}", view: () => "ward" } },
    });
    const clinic = actor("clinic", {
      describe: "A clinic.",
      per: "user",
      state: z.object({}),
      links: { here: { kinds: ["ward"], to: () => "ward/east" } },
      resources: { any: { uri: "clinic://{alias}/{item}", view: (_state, { args: { item } }) => item } },
    });
    const { resourceTemplates } = listed(
      await cast({ engine: new FakeEngine([clinic, ward]), kinds: [clinic, ward] }).surface(nobody),
      posture,
    );
    assert.deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ["clinic://{handle}/{item}", "clinic://{handle}"],
    );
  });

  it("C8 a resource under a handle is heard by who knows the handle, its lists by nobody", async () => {
    const { source, engine } = world();
    const handle = await start(source, nobody);
    await source.act(nobody, "tools/move", { handle, to: "attic" }, {});
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(nobody, (ref) => flags.push(ref), { ref: "resources/things", args: { handle } });
    const deaf = source.watch(nobody, (ref) => flags.push(ref), { ref: "resources/things", args: { handle: "h_no" } });
    const all = listen(source, nobody);
    await quiet();
    engine.put("room/hall", { items: [], dark: false });
    await quiet();
    assert.deepEqual(flags, []);
    await source.act(nobody, "tools/move", { handle, to: "hall" }, {});
    assert.deepEqual(flags, ["resources/things"]);
    undo();
    deaf();
    all.undo();
    await quiet();
    assert.deepEqual(all.flags, []);
    assert.equal(engine.listeners, 0);
  });

  it("leaves legacy sessions and principals without handles", async () => {
    const { source } = world();
    const { tools } = listed(await source.surface({ principal: "session|1", scopes: [] }), posture);
    assert.ok(tools.every(({ name }) => !name.startsWith("start_")));
  });
});
