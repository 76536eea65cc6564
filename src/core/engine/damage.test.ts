import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { ActorId, Outgoing } from "../contract/index.ts";
import { checkFile, sqliteStore } from "../store/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine, type FaultContext } from "./index.ts";

const ACTORS: readonly ActorId[] = ["tally/a", "tally/b", "tally/c"];
const say = (to: ActorId, action: string, args: Outgoing["args"] = null): Outgoing => ({ to, action, args, start: null });

const damage = (directory: string, sql: string): void => {
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "troupe.db"));
  database.exec(sql);
  database.close();
};

test("a damaged row is skipped, reported once and found by the file's check; other timers and deliveries go on #store.corrupt", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-damage-"));
  try {
    const clock = new SimulatedClock();
    const kinds = [tallyKind("tally"), tallyKind("brief", { persistence: "memory" })];
    {
      await using store = sqliteStore({ directory, clock });
      await using engine = await LocalEngine.start({ kinds, store, clock });
      for (const to of ACTORS) await engine.call(say(to, "wake", { name: "w", at: clock.now() + 1_000 }));
      // Handed over, not yet delivered.
      for (const [n, to] of ACTORS.entries())
        await store.enqueue({ ...say(to, "note", { text: `sent to ${to}` }), id: `m${n}`, at: clock.now(), seed: "00".repeat(16) });
    }
    damage(directory, "UPDATE outbox SET message = replace(message, 'sent', 'lost') WHERE id = 'm0'");
    damage(directory, "UPDATE actor SET rest = replace(rest, '\"tick\"', '\"tock\"') WHERE key = 'a'");
    damage(directory, "UPDATE actor SET rest = substr(rest, 5), status = 'x' WHERE key = 'b'");
    await clock.advance(2_000);

    const faults: (readonly [string, FaultContext])[] = [];
    await using store = sqliteStore({ directory, clock });
    await using engine = await LocalEngine.start({
      kinds,
      store,
      clock,
      onFault: (error, context) =>
        faults.push([error instanceof Error ? `${String(Reflect.get(error, "code"))} ${error.message}` : "", context]),
    });
    for (let round = 0; round < 20; round += 1) await clock.advance(1_000);
    await until("the last has all", async () =>
      /sent to tally\/c.*tick w|tick w.*sent to tally\/c/.test(JSON.stringify(await engine.read("tally/c"))),
    );
    await engine.call(say("tally/d", "wake", { name: "w", at: clock.now() + 100 }));
    await clock.advance(1_000);
    assert.equal((await engine.read("tally/d"))?.seq, 2, "and a wake set afterwards fires");

    const of = (pattern: RegExp, where: FaultContext["where"]) =>
      faults.filter(([error, context]) => pattern.test(error) && context.where === where);
    assert.equal(of(/^STORE_CORRUPT.*message m0/, "outbox").length, 1);
    for (const actor of ["tally/a", "tally/b"]) {
      const [first, ...more] = of(new RegExp(`^STORE_CORRUPT.*${actor}`), "wake");
      assert.deepEqual([first?.[1], more], [{ where: "wake", actor }, []]);
    }
    assert.match(checkFile({ directory }).join("\n"), /message m0/);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("a list passes over actors whose rows cannot be read, and reports each once #store.corrupt", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-damage-"));
  try {
    const kinds = [tallyKind("tally")];
    {
      await using store = sqliteStore({ directory });
      await using engine = await LocalEngine.start({ kinds, store });
      for (const to of ACTORS) await engine.call(say(to, "add"));
    }
    damage(directory, "UPDATE actor SET status = 'x' WHERE key = 'a'");
    damage(directory, "UPDATE actor SET seq = 'y' WHERE key = 'b'");
    const faults: string[] = [];
    await using store = sqliteStore({ directory });
    await using engine = await LocalEngine.start({
      kinds,
      store,
      onFault: (error, { where, actor }) => faults.push(`${where} ${actor}: ${String(error)}`),
    });
    for (let round = 0; round < 2; round += 1) {
      const listed = await engine.list({ limit: 10 });
      assert.deepEqual(
        listed.map(({ id, seq, status }) => [id, seq, status]),
        [["tally/c", 1, "live"]],
      );
    }
    assert.deepEqual(
      faults.map((fault) => fault.slice(0, 14)),
      ["store tally/a:", "store tally/b:"],
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
