// One bench, for run.ts, which prints what it sends.
import { mayTake } from "./time-left.ts";

const [, , name = "", quickMs] = process.argv;
process.on("disconnect", () => process.exit(130));

const bench: unknown = await import(`./${name}.ts`);
if (typeof bench !== "object" || bench === null || !("run" in bench) || typeof bench.run !== "function")
  throw new Error(`bench/${name}.ts has no run.`);
if (quickMs !== undefined) mayTake(Number(quickMs));
await bench.run({ quick: quickMs !== undefined });
// What was sent must have gone before this process does.
process.send?.({}, () => process.exit(0));
