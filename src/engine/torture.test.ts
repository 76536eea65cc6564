import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { reexecute, verify } from "../chain/index.ts";
import type { ChainEvent, Store } from "../contract/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { account, torture, type Tortured } from "../testing/index.ts";
import { LocalEngine } from "./index.ts";

/** The chain holds, and its pure turns, run again, give what is written. */
function sound(events: readonly ChainEvent[]): void {
  assert.equal(verify(events).flaw, undefined);
  assert.deepEqual(reexecute(account, events).mismatches, []);
}

async function tortured(seed: number, store: Store): Promise<Tortured> {
  try {
    return await torture({
      seed,
      store,
      verify: sound,
      open: (options) => LocalEngine.start({ ...options, kinds: [account], retryMs: 2 }),
    });
  } catch (error) {
    throw new Error(`Seed ${seed} fails.`, { cause: error });
  }
}

const SEEDS = 300;

test(`C2 C4 C5 over ${SEEDS} seeds of faults and crashes at every await: what was acknowledged is there once, nothing is half there`, async () => {
  let crashes = 0;
  let acknowledged = 0;
  const places = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const done = await tortured(seed, memoryStore());
    crashes += done.crashes;
    acknowledged += done.acknowledged;
    for (const place of done.places) places.add(place);
  }
  assert.ok(crashes >= 1_000, `${crashes} crashes`);
  for (const asked of ["load", "commit", "settle", "remembered", "undelivered", "due", "event"])
    for (const when of ["before", "after"]) assert.ok(places.has(`${when} ${asked}`), `crashed ${when} ${asked}`);
  assert.ok(acknowledged >= SEEDS * 15, `${acknowledged} acknowledged`);
});

test("C2 C4 C5 the same over some seeds on SQLite", async () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    const directory = mkdtempSync(join(tmpdir(), "troupe-torture-"));
    try {
      await using store = sqliteStore({ directory });
      assert.ok((await tortured(1_000 + seed, store)).acknowledged > 0);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
});
