// README: WebAssembly guests: a call and an instance beside jco's glue and Extism, requests end to end, waking, 100,000 of them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { calls } from "./guests-calls.ts";
import { ends } from "./guests-ends.ts";
import { killed } from "./guests-killed.ts";
import { many } from "./guests-many.ts";
import { wakes } from "./guests-wakes.ts";

export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    console.log("in the thread that runs the guest, here the process's first; median (least–most) of bursts by turns, a call each");
    await calls(folder);
    console.log("in process, one caller, the guest in a worker");
    await ends(join(folder, "ends"));
    await wakes(join(folder, "wakes"));
    await many();
    await killed();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
