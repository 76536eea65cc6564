/** A process that is killed: eight callers, each of whose acknowledgements is in the file before its next call. */
import { openSync, writeSync } from "node:fs";
import { index } from "../actor/index.ts";
import { sqliteStore } from "../store/index.ts";
import { account, operation, SimulatedEntropy } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

const [directory = "", round = "0", heard = ""] = process.argv.slice(2);
// A file, not the pipe: that one is not waited for, and full it throws.
const log = openSync(heard, "a");
const balances = index(account, { pick: ["balance", "settled"], order: "balance" });
const store = sqliteStore({ directory });
const engine = await LocalEngine.start({ kinds: [account], indexes: [balances], store, retryMs: 2 });
writeSync(1, "ready\n");
const dice = new SimulatedEntropy(Number(round) + 1);
const caller = async (name: number): Promise<void> => {
  for (let n = 0; ; n += 1) {
    const wanted = operation(`${round}.${name}.${n}`, dice);
    writeSync(log, `try ${JSON.stringify(wanted)}\n`);
    try {
      await engine.call(wanted.message);
    } catch {
      // A crash the operation was made for.
    }
    writeSync(log, `ack ${wanted.op}\n`);
  }
};
await Promise.all(Array.from({ length: 8 }, (_, name) => caller(name)));
