// WebAssembly guests: calls and instances compared with jco and Extism, requests end to end, waking, and 100,000 guests.
import { join } from "node:path";
import type { BenchOptions } from "./options.ts";
import { calls } from "./guests-calls.ts";
import { ends } from "./guests-ends.ts";
import { killed } from "./guests-killed.ts";
import { many } from "./guests-many.ts";
import { wakes } from "./guests-wakes.ts";
import { temporaryFolder } from "./cleanup.ts";

export const run = async (options: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  // In the thread that runs the guest, which here is this one.
  await calls(data.path, options);
  // From here on the guest is in a worker.
  await ends(join(data.path, "ends"), options);
  await wakes(join(data.path, "wakes"), options);
  await many(options);
  await killed(options);
};
