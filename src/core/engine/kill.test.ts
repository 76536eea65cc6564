import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { verify } from "../chain/index.ts";
import { index } from "../actor/index.ts";
import { sqliteStore } from "../store/index.ts";
import { account, Ledger, SimulatedEntropy, until, type Operation } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

const KILLS = 24;
const balances = index(account, { pick: ["balance", "settled"], order: "balance" });
const FIXTURE = fileURLToPath(new URL("kill.fixture.ts", import.meta.url));

/** Runs callers until they are killed, and tells the ledger what they heard. */
async function round(directory: string, number: number, afterMs: number, ledger: Ledger): Promise<number> {
  const heard = join(directory, `heard-${number}`);
  const child = spawn(process.execPath, ["--conditions=troupe-source", FIXTURE, directory, String(number), heard], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), afterMs));
  const [, signal] = await once(child, "close");
  assert.equal(signal, "SIGKILL", "it was killed, it did not end");
  const tried = new Map<string, Operation>();
  let acknowledged = 0;
  for (const line of readFileSync(heard, "utf8").split("\n")) {
    if (line.startsWith("try ")) {
      const wanted: Operation = JSON.parse(line.slice(4));
      tried.set(wanted.op, wanted);
    } else if (line.startsWith("ack ")) {
      const wanted = tried.get(line.slice(4));
      assert.ok(wanted);
      tried.delete(wanted.op);
      ledger.acknowledge(wanted);
      acknowledged += 1;
    }
  }
  for (const wanted of tried.values()) ledger.giveUp(wanted);
  return acknowledged;
}

test(`C2 C5 ${KILLS} times kill -9 under eight callers: acknowledged turns are stored once, none in part, and indexes agree #store.crashes`, async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-kill-"));
  try {
    const dice = new SimulatedEntropy(42);
    const ledger = new Ledger();
    let acknowledged = 0;
    // How much fits between two kills is the machine's matter: a slow one gets more of them, not less to show.
    for (let number = 0; number < KILLS || (acknowledged <= KILLS && number < 4 * KILLS); number += 1)
      acknowledged += await round(directory, number, dice.under(60), ledger);
    assert.ok(acknowledged > KILLS, `${acknowledged} acknowledged`);
    await using store = sqliteStore({ directory });
    await using engine = await LocalEngine.start({ kinds: [account], indexes: [balances], store, retryMs: 2 });
    await until("the outbox is empty", async () => (await store.undelivered(1)).length === 0);
    await engine.drain(1_000);
    await using reader = await LocalEngine.start({ kinds: [account], indexes: [balances], store });
    assert.deepEqual(await reader.indexes.verify("account"), { index: "account", actors: 4, flawed: 0, flaws: [] });
    const letters = await reader.letters();
    await ledger.check(reader, (events) => assert.equal(verify(events).flaw, undefined), letters);
    await ledger.checkAccounts(reader, letters);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
