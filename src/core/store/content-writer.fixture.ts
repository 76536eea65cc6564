/** A process that a test kills: puts and labels endlessly, and prints each acknowledgement at once. Argument: path. */
import { writeSync } from "node:fs";
import { sqliteContents } from "./index.ts";

const store = sqliteContents(process.argv[2] ?? "");
async function work(name: string): Promise<void> {
  for (let n = 0; ; n += 1) {
    const text = `${name} ${n} ${"x".repeat(n % 5_000)}`;
    const digest = await store.put(new TextEncoder().encode(text), name);
    writeSync(1, `put ${digest} ${name} ${n}\n`);
    await store.label(name, "last", digest);
    writeSync(1, `last ${digest} ${name} ${n}\n`);
  }
}
await Promise.all(["a", "b", "c", "d"].map(work));
