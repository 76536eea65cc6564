/**
 * The riskiest part of the design: items move between rooms and players by sends alone. However often the
 * process dies in between, each item is in exactly one place. No turn waits for an answer.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import type { Json, OfferRef, Reply, Source, Store, Viewer } from "../../src/core/contract/index.ts";
import { EngineError } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { cast, listed } from "../../src/mcp/source/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { type StoreFault, type CrashingStore, crashingStore } from "./crashing-store.ts";
import { player, room } from "./two-rooms.ts";

const kinds = [player, room];
const ITEMS = ["coin", "key", "rope", "torch"];
const ana: Viewer = { principal: "ana", scopes: [] };
const bob: Viewer = { principal: "bob", scopes: [] };

async function furnish(store: Store): Promise<void> {
  await using engine = await LocalEngine.start({ kinds, store });
  await engine.call({ to: "room/hall", action: "furnish", args: { items: ["coin", "key"] }, start: null });
  await engine.call({ to: "room/cave", action: "furnish", args: { items: ["rope", "torch"], places: 1 }, start: null });
}

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Waits until every message is delivered or the process is dead. Bounded, so that an undeliverable message fails the test instead of hanging it. */
async function settled(store: Store, process?: CrashingStore): Promise<void> {
  let dead = false;
  void process?.died.then(() => (dead = true));
  for (let round = 0; round < 5_000; round++) {
    for (let i = 0; i < 3; i++) await turnOfLoop();
    if (dead || (await store.undelivered(1)).length === 0) return;
    if (round > 50) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.fail("something is never delivered");
}

function itemOf(args: Json): readonly string[] {
  return typeof args === "object" && args !== null && "item" in args && typeof args.item === "string" ? [args.item] : [];
}

interface World {
  readonly items: readonly string[];
  readonly rooms: Readonly<Record<string, readonly string[]>>;
  readonly roomOf: Readonly<Record<string, string>>;
}

/** All durable state, read by a separate engine. */
async function look(store: Store): Promise<World> {
  const items: string[] = [];
  const rooms: Record<string, readonly string[]> = {};
  const roomOf: Record<string, string> = {};
  // Undelivered messages and dead letters first, since an engine would deliver them.
  for (const { message } of [...(await store.undelivered(1_000)), ...(await store.letters(1_000))]) {
    if (message.action === "gain" || message.action === "put") items.push(...itemOf(message.args));
  }
  const frozen = crashingStore(store, [{ at: 1, how: "dies before" }]);
  const engine = await LocalEngine.start({ kinds, store: { ...frozen.store, undelivered: async () => [] } });
  for (const name of ["hall", "cave"]) {
    const state = z(await engine.read(`room/${name}`));
    items.push(...state.items);
    rooms[name] = state.people;
  }
  for (const name of ["ana", "bob"]) {
    const snapshot = await engine.read(`player/${name}`);
    if (snapshot === undefined) continue;
    const state = z(snapshot);
    items.push(...state.items);
    roomOf[`player/${name}`] = state.room;
  }
  return { items: items.toSorted(), rooms, roomOf };
}

function z(snapshot: { readonly state: Json } | undefined): { readonly items: string[]; readonly people: string[]; readonly room: string } {
  const state = JSON.parse(JSON.stringify(snapshot?.state));
  return { items: state.items, people: state.people ?? [], room: state.room ?? "" };
}

const act = (source: Source, viewer: Viewer, ref: OfferRef, args: Json = {}, key?: string): Promise<Reply> =>
  source.act(viewer, ref, args, key === undefined ? {} : { key });

describe("two rooms, two players", () => {
  it("pick_up is a tool of the room behind the player's link, and the next room answers by replyAs", async () => {
    const store = memoryStore();
    await furnish(store);
    await using engine = await LocalEngine.start({ kinds, store });
    const source = cast({ engine, kinds });
    const tools = async (viewer: Viewer): Promise<readonly string[]> =>
      listed(await source.surface(viewer), "dynamic").tools.map(({ name }) => name);
    assert.deepEqual(await tools(ana), ["move", "inventory", "pick_up", "look"]);
    assert.deepEqual((await source.surface(ana)).choices?.["tools/pick_up"], { item: ["coin", "key"] });
    assert.deepEqual(await act(source, ana, "tools/pick_up", { item: "key" }), { ok: "You take the key." });
    await settled(store);
    assert.deepEqual(await act(source, ana, "tools/inventory"), { ok: ["key"] });
    assert.ok((await tools(ana)).includes("drop"));
    assert.ok(!(await tools(bob)).includes("drop"));
    assert.ok("refused" in (await act(source, bob, "tools/pick_up", { item: "key" })));
    await act(source, ana, "tools/move", { to: "cave" });
    await settled(store);
    assert.deepEqual(await act(source, ana, "tools/look"), { ok: { items: ["rope", "torch"], people: ["player/ana"] } });
    // The cave has room for one: its refusal is a message, and bob stays where he is.
    await act(source, bob, "tools/move", { to: "cave" });
    await settled(store);
    assert.deepEqual(z(await engine.read("player/bob")).room, "hall");
    await act(source, ana, "tools/drop", { item: "key" });
    await settled(store);
    assert.deepEqual(z(await engine.read("room/cave")).items, ["rope", "torch", "key"]);
    assert.deepEqual((await look(store)).items, ITEMS);
  });

  it("C8 an item taken is flagged to the other player in the room, and a move to no one elsewhere", async () => {
    const store = memoryStore();
    await furnish(store);
    await using engine = await LocalEngine.start({ kinds, store });
    const source = cast({ engine, kinds });
    const flags: (OfferRef | "lists")[] = [];
    const undo = source.watch(bob, (ref) => flags.push(ref ?? "lists"));
    await turnOfLoop();
    await act(source, ana, "tools/pick_up", { item: "key" });
    await settled(store);
    assert.deepEqual(new Set(flags), new Set(["lists", "resources/here"]));
    await act(source, ana, "tools/move", { to: "cave" });
    await settled(store);
    flags.length = 0;
    await act(source, ana, "tools/pick_up", { item: "rope" });
    await settled(store);
    assert.deepEqual(flags, []);
    undo();
  });

  it("uses only sends with replyAs, and never waits for an answer", async () => {
    const text = await readFile(new URL("./two-rooms.ts", import.meta.url), "utf8");
    assert.doesNotMatch(text, /\bcall\(|\bawait\b|\bask\(/);
  });

  it("C5 each item exists exactly once over rooms, inventories and outboxes, wherever the process dies #mud.items", async () => {
    await fc.assert(
      fc.asyncProperty(script, fates, async (acts, deaths) => {
        const store = memoryStore();
        await furnish(store);
        let next = 0;
        const requests = new Map<number, Json>();
        const acknowledged = new Map<number, Reply>();
        for (const fate of [...deaths, undefined]) {
          const process = crashingStore(store, fate === undefined ? [] : [fate]);
          const engine = await LocalEngine.start({ kinds, store: process.store, retryMs: 1 });
          const source = cast({ engine, kinds });
          while (next < acts.length) {
            const { viewer, ref, waits, nth } = acts[next] ?? acts[0] ?? assert.fail();
            const args = requests.get(next) ?? (await Promise.race([chosen(source, viewer, ref, nth), process.died]));
            if (args === "died") break;
            requests.set(next, args);
            // Interrupted calls are repeated under their keys, and applied once.
            const answer = await Promise.race([act(source, viewer, ref, args, `call ${next}`).catch(notApplied), process.died]);
            if (answer === "died") break;
            if (answer !== undefined) acknowledged.set(next, answer);
            next += 1;
            if (waits) await settled(store, process);
          }
          if (next === acts.length) await settled(store, process);
          if (fate !== undefined) process.kill();
          else await engine.drain(0);
          // Nothing moves any more, so the state is a snapshot.
          assert.deepEqual((await look(store)).items, ITEMS);
        }
        assert.deepEqual(await store.letters(10), []);
        const { rooms, roomOf } = await look(store);
        for (const [id, name] of Object.entries(roomOf)) {
          const where = Object.keys(rooms).filter((one) => rooms[one]?.includes(id));
          assert.deepEqual(where, where.length === 0 && name === "hall" ? [] : [name], `${id} in ${name}`);
        }
        await using engine = await LocalEngine.start({ kinds, store });
        const source = cast({ engine, kinds });
        for (const [n, reply] of acknowledged) {
          const { viewer, ref } = acts[n] ?? assert.fail();
          const args = requests.get(n) ?? assert.fail();
          // A dead process does not remember what a link referred to, so only calls of the player itself are repeated.
          if ("ok" in reply && ref !== "tools/pick_up") assert.deepEqual(await act(source, viewer, ref, args, `call ${n}`), reply);
        }
        await settled(store);
        assert.deepEqual((await look(store)).items, ITEMS);
      }),
      { numRuns: 150 },
    );
  });
});

/** An engine error must state that nothing was applied. */
function notApplied(error: unknown): undefined {
  assert.ok(error instanceof EngineError && error.applied === false, String(error));
}

/** An argument that the list offers now, or "nothing" if it offers none. */
async function chosen(source: Source, viewer: Viewer, ref: OfferRef, nth: number): Promise<Json> {
  const [[name, values] = ["item", []]] = Object.entries((await source.surface(viewer)).choices?.[ref] ?? {});
  return { [name]: values[nth % Math.max(1, values.length)] ?? "nothing" };
}

const script = fc.array(
  fc.record({
    viewer: fc.constantFrom(ana, bob),
    ref: fc.constantFrom<OfferRef[]>("tools/pick_up", "tools/drop", "tools/move"),
    nth: fc.nat(3),
    waits: fc.boolean(),
  }),
  { minLength: 6, maxLength: 16 },
);

const fates: fc.Arbitrary<readonly StoreFault[]> = fc.array(
  fc.record({ at: fc.integer({ min: 1, max: 15 }), how: fc.constantFrom("dies before" as const, "dies after" as const, "fails" as const) }),
  { minLength: 1, maxLength: 4 },
);
