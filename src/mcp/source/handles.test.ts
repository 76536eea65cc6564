import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { SimulatedClock, SimulatedEntropy } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { actor } from "../../core/actor/index.ts";
import type { Json, OfferRef, Source, Viewer } from "../../core/contract/index.ts";
import { FakeEngine } from "../../../test/source/fake-engine.ts";
import { listen, quiet, world } from "../../../test/source/world.ts";
import { player, room } from "../../../test/source/rooms.ts";
import { cast, listed, type ListMode } from "./index.ts";
import { describeDuration, Handles } from "./handles.ts";
import * as z from "zod";

test("each principal, and each peer without one, starts a bounded number of handles", async () => {
  const never = () => Promise.reject(new Error("Minting asks no engine."));
  const clock = new SimulatedClock();
  const engine = { call: never, read: never, stop: never };
  const handles = new Handles({ engine, clock, entropy: new SimulatedEntropy(), expireMs: 60_000, secret: undefined });
  const kind = tallyKind("tally");
  /** How many of so many starts were not refused. */
  const started = (times: number, principal?: () => string, peer?: () => string): number => {
    let count = 0;
    for (let n = 0; n < times; n += 1) {
      const reply = handles.start(kind, { scopes: [], ...(principal === undefined ? {} : { principal: principal() }) }, peer?.());
      if ("ok" in reply) count += 1;
      else if ("refused" in reply) assert.equal(reply.refused.code, "START_LIMIT");
    }
    return count;
  };
  const between = (count: number, least: number, most: number): void => assert.ok(count >= least && count <= most, String(count));
  between(
    started(3_000, () => "ann"),
    900,
    1_000,
  );
  between(
    started(100, () => "bob"),
    100,
    100,
  );
  await clock.advance(2_000);
  between(
    started(100, () => "ann"),
    5,
    10,
  );
  let session = 0;
  const sessionOf = (): string => `session|${(session += 1)}`;
  // Sessions without a token are not counted by themselves, however many are opened.
  const local = started(5_000) + started(5_000, sessionOf, () => "127.0.0.1") + started(5_000, undefined, () => "::1");
  between(local, 9_000, 10_000);
  let host = 0;
  const network = (): string => `2001:db8::${(host += 1).toString(16)}`;
  between(started(2_000, undefined, network) + started(2_000, sessionOf, network), 900, 1_000);
  // One peer takes nothing from another, and where a principal calls from does not matter.
  assert.deepEqual([started(100, sessionOf, () => "192.0.2.1"), started(100, undefined, () => "2001:db8:0:1::1")], [100, 100]);
  assert.equal(
    started(
      100,
      () => "carol",
      () => "2001:db8::1",
    ),
    100,
  );
});

const ana: Viewer = { principal: "ana", scopes: [] };
const bob: Viewer = { principal: "bob", scopes: [] };

async function start(source: Source, viewer: Viewer, kind = "player"): Promise<string> {
  const reply = await source.act(viewer, `tools/start_${kind}`, {}, {});
  const ok: Json = "ok" in reply ? reply.ok : null;
  assert.ok(typeof ok === "object" && ok !== null && "handle" in ok && typeof ok.handle === "string");
  return ok.handle;
}

describe("cast: handles", () => {
  const anonymous: Viewer = { scopes: [] };
  const listMode: ListMode = "static";

  it("every tool and prompt takes a handle, which is the first segment of every URI #sources.handles.minting", async () => {
    const { source } = world();
    const lists = listed(await source.surface(anonymous), listMode);
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
    assert.deepEqual(listed(await source.surface(anonymous), "dynamic").tools.length, lists.tools.length);
  });

  it("handles address separate players, also through links #sources.handles.minting", async () => {
    const { source, engine } = world();
    const [one, two] = [await start(source, anonymous), await start(source, anonymous)];
    assert.notEqual(one, two);
    const before = engine.actors.size;
    assert.deepEqual(await source.act(anonymous, "tools/pick_up", { handle: one, item: "torch" }, {}), { ok: "You take the torch." });
    assert.equal(engine.actors.size, before + 1);
    assert.deepEqual(await source.act(anonymous, "tools/inventory", { handle: one }, {}), { ok: "torch" });
    assert.deepEqual(await source.act(anonymous, "tools/inventory", { handle: two }, {}), { ok: "" });
    assert.deepEqual(await source.act(anonymous, "resources/me", { handle: one }, {}), { ok: { room: "hall", items: ["torch"] } });
    assert.deepEqual(await source.complete?.(anonymous, "tools/drop", "item", "", { handle: one }), ["torch"]);
    assert.ok(
      [...engine.actors.keys()].every((id) => !id.includes(one)),
      "an id is no handle",
    );
  });

  it("refuses unknown, malformed, ended and expired handles, each as a tool error #sources.handles.expiry #secure.handles", async () => {
    let now = 1_000_000_000_000;
    const { source, engine } = world({ clock: { now: () => now, after: () => () => undefined } });
    const handle = await start(source, anonymous);
    const forged = `h_${"A".repeat(43)}`;
    for (const bad of [forged, "h_1", "", 7]) {
      const reply = await source.act(anonymous, "tools/inventory", { handle: bad }, {});
      assert.ok("refused" in reply && reply.refused.code === "HANDLE" && reply.refused.message.includes("start_player"), String(bad));
    }
    const missing = await source.act(anonymous, "tools/inventory", {}, {});
    assert.ok("refused" in missing && missing.refused.code === "INVALID");
    const unread = await source.act(anonymous, "resources/me", { handle: forged }, {});
    assert.ok("refused" in unread && unread.refused.code === "UNKNOWN");
    assert.equal([...engine.actors.keys()].filter((id) => id.startsWith("player/")).length, 2);
    await source.act(anonymous, "tools/move", { handle, to: "attic" }, {});
    assert.deepEqual(await source.act(anonymous, "tools/end_player", { handle }, {}), { ok: "The player has ended." });
    const ended = await source.act(anonymous, "tools/inventory", { handle }, {});
    assert.ok("refused" in ended && ended.refused.code === "HANDLE" && ended.refused.message.includes("ended or expired"));
    const unused = await start(source, anonymous);
    now += 25 * 3_600_000;
    const tooOld = await source.act(anonymous, "tools/inventory", { handle: unused }, {});
    assert.ok("refused" in tooOld && tooOld.refused.message.includes("expired"));
    const never = await start(source, anonymous);
    await source.act(anonymous, "tools/end_player", { handle: never }, {});
    assert.ok("refused" in (await source.act(anonymous, "tools/move", { handle: never, to: "attic" }, {})));
  });

  it("a handle is bound to its starter's principal, before and after its first use #sources.handles.binding #spec.6.privacy.access", async () => {
    const engine = new FakeEngine([{ ...player, per: "handle" }, room]);
    engine.put("room/hall", { items: [], dark: false });
    const source = cast({ engine, kinds: [{ ...player, per: "handle" }, room] });
    const handle = await start(source, ana);
    const other = async (viewer: Viewer): Promise<boolean> =>
      "refused" in (await source.act(viewer, "tools/move", { handle, to: "attic" }, {}));
    assert.ok(await other(bob));
    assert.ok(await other(anonymous));
    assert.ok(!(await other(ana)));
    assert.ok(await other(bob));
    assert.ok(await other(anonymous));
    assert.deepEqual(engine.calls.at(-1)?.message.policy, { owner: "starter", expireMs: 86_400_000 });
  });

  it("another process knows a handle if it shares the secret, or if the handle was used", async () => {
    const { source, engine } = world({ handles: { secret: new Uint8Array(32) } });
    const [used, unused] = [await start(source, anonymous), await start(source, anonymous)];
    await source.act(anonymous, "tools/move", { handle: used, to: "attic" }, {});
    const sharing = cast({ engine, kinds: [player, room], handles: { secret: new Uint8Array(32) } });
    const alone = cast({ engine, kinds: [player, room] });
    assert.ok("ok" in (await sharing.act(anonymous, "tools/inventory", { handle: unused }, {})));
    assert.ok("ok" in (await alone.act(anonymous, "tools/inventory", { handle: used }, {})));
    assert.ok("refused" in (await alone.act(anonymous, "tools/inventory", { handle: unused }, {})));
  });

  it("distinguishes the resources of two links to one kind", async () => {
    const ward = actor("ward", {
      description: "A ward.",
      per: "link",
      state: z.object({ beds: z.number().default(0) }),
      resources: { beds: { uri: "ward://{alias}/beds", view: ({ state: { beds } }) => String(beds) } },
    });
    const clinic = actor("clinic", {
      description: "A clinic.",
      per: "user",
      state: z.object({}),
      links: { east: { kinds: ["ward"], to: () => "ward/east" }, west: { kinds: ["ward"], to: () => "ward/west" } },
    });
    const engine = new FakeEngine([clinic, ward]);
    engine.put("ward/east", { beds: 1 });
    engine.put("ward/west", { beds: 2 });
    const source = cast({ engine, kinds: [clinic, ward] });
    assert.deepEqual(
      listed(await source.surface(anonymous), listMode).resourceTemplates.map(({ name, uriTemplate }) => [name, uriTemplate]),
      [
        ["east__beds", "ward://{handle}/beds"],
        ["west__beds", "ward://{handle}/west/beds"],
      ],
    );
    const handle = await start(source, anonymous, "clinic");
    assert.deepEqual(await source.act(anonymous, "resources/east__beds", { handle }, {}), { ok: "1" });
    assert.deepEqual(await source.act(anonymous, "resources/west__beds", { handle }, {}), { ok: "2" });
  });

  it("a URI gets no link prefix where the handle is enough", async () => {
    const ward = actor("ward", {
      description: "A ward.",
      per: "link",
      state: z.object({}),
      resources: { ward: { uri: "clinic://{alias}", view: () => "ward" } },
    });
    const clinic = actor("clinic", {
      description: "A clinic.",
      per: "user",
      state: z.object({}),
      links: { here: { kinds: ["ward"], to: () => "ward/east" } },
      resources: { any: { uri: "clinic://{alias}/{item}", view: ({ args: { item } }) => item } },
    });
    const { resourceTemplates } = listed(
      await cast({ engine: new FakeEngine([clinic, ward]), kinds: [clinic, ward] }).surface(anonymous),
      listMode,
    );
    assert.deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ["clinic://{handle}/{item}", "clinic://{handle}"],
    );
  });

  it("C8 a resource under a handle notifies subscribers with the handle, and its lists none", async () => {
    const { source, engine } = world();
    const handle = await start(source, anonymous);
    await source.act(anonymous, "tools/move", { handle, to: "attic" }, {});
    const flags: (OfferRef | undefined)[] = [];
    const undo = source.watch(anonymous, (ref) => flags.push(ref), { ref: "resources/things", args: { handle } });
    const unknown = source.watch(anonymous, (ref) => flags.push(ref), { ref: "resources/things", args: { handle: "h_no" } });
    const all = listen(source, anonymous);
    await quiet();
    engine.put("room/hall", { items: [], dark: false });
    await quiet();
    assert.deepEqual(flags, []);
    await source.act(anonymous, "tools/move", { handle, to: "hall" }, {});
    assert.deepEqual(flags, ["resources/things"]);
    undo();
    unknown();
    all.undo();
    await quiet();
    assert.deepEqual(all.flags, []);
    assert.equal(engine.listeners, 0);
  });

  it("sessions and principals need no handles", async () => {
    const { source } = world();
    const { tools } = listed(await source.surface({ principal: "session|1", scopes: [] }), listMode);
    assert.ok(tools.every(({ name }) => !name.startsWith("start_")));
  });
});

it("a duration is given in its largest unit", () => {
  assert.deepEqual([86_400_000, 7 * 86_400_000, 5_400_000, 30_000, 1].map(describeDuration), [
    "24 hours",
    "7 days",
    "90 minutes",
    "30 seconds",
    "1 second",
  ]);
});
