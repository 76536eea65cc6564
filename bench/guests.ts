// WebAssembly guests: a call and an instance beside jco's glue and Extism, requests end to end, waking, 100,000 of them.
import { join } from "node:path";
import type { Asked } from "./asked.ts";
import { calls } from "./guests-calls.ts";
import { ends } from "./guests-ends.ts";
import { killed } from "./guests-killed.ts";
import { many } from "./guests-many.ts";
import { wakes } from "./guests-wakes.ts";
import { temporaryFolder } from "./leftovers.ts";

export const run = async (asked: Asked): Promise<void> => {
  using data = temporaryFolder();
  // In the thread that runs the guest, which here is this one.
  await calls(data.path, asked);
  // From here on the guest is in a worker.
  await ends(join(data.path, "ends"), asked);
  await wakes(join(data.path, "wakes"), asked);
  await many(asked);
  await killed(asked);
};
