// slow: hundreds of seeds of faults and crashes, on SQLite too
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { reexecute, verify } from "../chain/index.ts";
import type { ChainEvent, Store } from "../contract/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { account, FaultyStore, SimulatedEntropy, torture, type Tortured, type TortureOptions } from "../../testing/index.ts";
import { ForgetfulDisk } from "../../../test/torture/forgetful-disk.ts";
import { LocalEngine } from "./index.ts";

/** The chain holds, and its pure turns, run again, give what is written. */
function sound(events: readonly ChainEvent[]): void {
  assert.equal(verify(events).flaw, undefined);
  assert.deepEqual(reexecute(account, events).mismatches, []);
}

const inMemory: TortureOptions["store"] = (clock) => memoryStore({ clock });

const tortured = (seed: number, store: TortureOptions["store"]): Promise<Tortured> =>
  torture({ seed, store, verify: sound, open: (options) => LocalEngine.start({ ...options, retryMs: 2 }) });

const SEEDS = 300;

test(`C2 C4 C5 over ${SEEDS} seeds of faults and crashes at every await: acknowledged turns are stored once, none in part #store.crashes`, async () => {
  let crashes = 0;
  let acknowledged = 0;
  let letters = 0;
  const places = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const done = await tortured(seed, inMemory);
    crashes += done.crashes;
    acknowledged += done.acknowledged;
    letters += done.letters.length;
    for (const place of done.places) places.add(place);
  }
  assert.ok(crashes >= 1_000, `${crashes} crashes`);
  for (const operation of ["load", "commit", "settle", "remembered", "undelivered", "due", "event"])
    for (const when of ["before", "after"]) assert.ok(places.has(`${when} ${operation}`), `crashed ${when} ${operation}`);
  assert.ok(acknowledged >= SEEDS * 15, `${acknowledged} acknowledged`);
  assert.ok(letters >= SEEDS, `${letters} dead letters`);
});

test("the same seed gives the same crashes, outcomes, dead letters and event ids", async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const first = await tortured(seed, inMemory);
    assert.deepEqual(await tortured(seed, inMemory), first);
  }
  assert.notDeepEqual((await tortured(1, inMemory)).chains, (await tortured(2, inMemory)).chains);
});

class ReversedOutbox extends FaultyStore {
  override async undelivered(...args: Parameters<FaultyStore["undelivered"]>): ReturnType<FaultyStore["undelivered"]> {
    return (await super.undelivered(...args)).toReversed();
  }
}

class LostLetters extends FaultyStore {
  override settle(...[id, how, more]: Parameters<FaultyStore["settle"]>): Promise<void> {
    return super.settle(id, how === "dead" ? "done" : how, more);
  }
}

test("torture finds messages applied out of order and dead letters that are lost", async () => {
  for (const [Broken, found] of [
    [ReversedOutbox, /applied message .* which was sent later/u],
    [LostLetters, /is a dead letter, and nothing else/u],
  ] as const) {
    const errors: string[] = [];
    for (let seed = 1; seed <= 12; seed += 1)
      await tortured(seed, (clock) => new Broken(memoryStore({ clock }), () => "pass")).catch((error: unknown) =>
        errors.push(String(error)),
      );
    assert.match(errors.join("\n"), found);
    assert.match(errors.join("\n"), /torture with seed \d+ failed/u);
  }
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

/** Long enough for others to commit meanwhile. */
const inRounds = (end: () => void, rounds = 12): void => void setImmediate(() => (rounds > 0 ? inRounds(end, rounds - 1) : end()));

test("C2 C4 C5 the same on SQLite with failing syncs and losses of power", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-torture-"));
  let failed = 0;
  let losses = 0;
  try {
    for (let seed = 1; seed <= 4; seed += 1) {
      const dice = new SimulatedEntropy(seed);
      const fails = (): boolean => {
        const isFailing = dice.under(12) === 0;
        if (isFailing) failed += 1;
        return isFailing;
      };
      let disk: ForgetfulDisk | undefined;
      let place = "";
      const at = async (name: string): Promise<Store> => {
        place = join(directory, name);
        mkdirSync(place, { recursive: true });
        // The simulated disk has what is there after the opening.
        if (!existsSync(join(place, "troupe.db"))) await sqliteStore({ directory: place })[Symbol.asyncDispose]();
        disk = new ForgetfulDisk(join(place, "troupe.db"), { fails, end: inRounds });
        return sqliteStore({ directory: place, disk, onLostLog: () => assert.fail("the log has what was synced") });
      };
      let opened = 0;
      const reopen = async (store: Store): Promise<Store> => {
        const next = join(directory, `${seed}.${(opened += 1)}`);
        const log = join(place, "troupe.db-wal");
        const written = readFileSync(log);
        if (dice.under(2) === 0) {
          losses += 1;
          disk?.loseCache();
        }
        cpSync(place, next, { recursive: true, filter: (path) => !path.endsWith("-shm") && !path.endsWith(".lock") });
        writeFileSync(log, written);
        await store[Symbol.asyncDispose]();
        return at(`${seed}.${opened}`);
      };
      let last: Store | undefined;
      const done = await torture({
        seed,
        store: await at(`${seed}`),
        callers: 16,
        reopen: async (store) => (last = await reopen(store)),
        verify: sound,
        open: (options) => LocalEngine.start({ ...options, retryMs: 2 }),
      });
      assert.ok(done.acknowledged > 0);
      await last?.[Symbol.asyncDispose]();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  assert.ok(failed > 4 && losses > 4, `${failed} syncs failed, power was lost ${losses} times`);
});
