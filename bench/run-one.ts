// Runs one bench in a process of its own. run.ts starts it and prints the rows that it sends.
import { mayTake } from "./time-left.ts";

const [, , name = "", quickMs] = process.argv;
process.on("disconnect", () => process.exit(130));

const bench: unknown = await import(`./${name}.ts`);
if (typeof bench !== "object" || bench === null || !("run" in bench) || typeof bench.run !== "function")
  throw new Error(`bench/${name}.ts has no run.`);
if (quickMs !== undefined) mayTake(Number(quickMs));
await bench.run({ quick: quickMs !== undefined });
// Exits only after all messages were sent.
process.send?.({}, () => process.exit(0));
