import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { ActorId, Outgoing } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const idOf = (n: number): ActorId => `tally/a${n}`;
const add = (n: number): Outgoing => ({ to: idOf(n), action: "add", args: null, start: null });

/** An engine that says how many actors are in memory. */
const counted = async (maxActors?: number) => {
  let figures = () => 0;
  const clock = new SimulatedClock();
  const engine = await LocalEngine.start({
    kinds: [tallyKind("tally")],
    store: memoryStore({ clock }),
    clock,
    ...(maxActors === undefined ? {} : { maxActors }),
    observer: {
      shows(show) {
        figures = () => show().actors ?? 0;
        return () => undefined;
      },
    },
  });
  return { engine, inMemory: () => figures() };
};

test("the number of actors in memory is limited; those in use stay, and dropped ones load unchanged", async () => {
  const { engine, inMemory } = await counted(300);
  await using _ = engine;
  for (let n = 0; n < 2_000; n += 1) {
    await engine.call(add(n));
    await engine.call(add(0));
    assert.ok(inMemory() <= 320, `${inMemory()} after ${n}`);
  }
  for (let n = 1; n < 2_000; n += 1) assert.equal((await engine.read(idOf(n)))?.state !== undefined, true);
  assert.ok(inMemory() <= 320);
  assert.deepEqual(await engine.call(add(1_999)), { ok: 2 });
  assert.deepEqual(await engine.call(add(0)), { ok: 2_002 });
});

test("an actor whose calls change nothing expires after the last of them, also if it left memory or the server restarted", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const HOUR_MS = 3_600_000;
  const kinds = [tallyKind("tally", { expireMs: 24 * HOUR_MS })];
  const open = () => LocalEngine.start({ kinds, store, clock });
  const status = async (): Promise<unknown> => (await engine.read(idOf(1)))?.status;
  let engine = await open();
  await engine.call(add(1));
  for (let calls = 0; calls < 10; calls += 1) {
    await clock.advance(10 * HOUR_MS);
    assert.deepEqual(await engine.call({ to: idOf(1), action: "get", args: null }), { ok: 1 });
    if (calls % 2 === 0) continue;
    await engine.close();
    engine = await open();
  }
  await clock.advance(23 * HOUR_MS);
  assert.equal(await status(), "live");
  await clock.advance(HOUR_MS);
  assert.equal(await status(), "stopped");
  await engine.close();
});

test("a refused call that would have started an actor again does not move its last message", async () => {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally", { expireMs: 1_000_000 })], store, clock });
  await engine.call(add(1));
  await engine.stop(idOf(1), "over");
  const stoppedAt = (await engine.read(idOf(1)))?.lastMessageAt;
  await clock.advance(500_000);
  assert.ok("refused" in (await engine.call({ ...add(1), action: "refuse" })));
  await clock.advance(1);
  assert.equal((await engine.read(idOf(1)))?.lastMessageAt, stoppedAt);
});

test("an actor on disk leaves memory when it stops", async () => {
  const { engine, inMemory } = await counted();
  await using _ = engine;
  for (let n = 0; n < 100; n += 1) {
    await engine.call(add(n));
    await engine.stop(idOf(n), "over");
  }
  assert.equal(inMemory(), 0);
  assert.equal((await engine.read(idOf(5)))?.status, "stopped");
  await assert.rejects(engine.call({ to: idOf(5), action: "add", args: null }), { code: "ACTOR_STOPPED" });
  assert.equal(inMemory(), 0);
  assert.deepEqual(await engine.call(add(5)), { ok: 1 });
});

/** Starts so many, so many at once, then reads them all, in a heap of 64 MB. */
async function startAndRead(actors: string, stateBytes: string, atOnce: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "troupe-eviction-"));
  try {
    // V8 may promote all its new objects at once: by default those alone could fill such a heap.
    const heap = ["--max-old-space-size=64", "--max-semi-space-size=4"];
    const args = ["--conditions=troupe-source", ...heap, join(import.meta.dirname, "passivation.fixture.ts")];
    const { stdout } = await promisify(execFile)(process.execPath, [...args, directory, actors, stateBytes, atOnce]);
    assert.equal(stdout, `${actors} read`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test("actors whose states are larger than the heap can all be read", () => startAndRead("4000", "20000", "100"));

test("few actors with large states can all be read", () => startAndRead("250", "400000", "5"));
