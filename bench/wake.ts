// README: an actor that sleeps on disk among 1,000,000, woken and read.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { plain } from "./kinds/plain.ts";
import { median } from "./load.ts";
import { fill } from "./start-up.ts";
import { print } from "./table.ts";

const ACTORS = 1_000_000;
const ROUNDS = 5;
const EACH = 4_000;

export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    await fill(folder, ACTORS);
    const medians: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await using store = sqliteStore({ directory: folder });
      await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
      const took: number[] = [];
      for (let n = 0; n < EACH; n += 1) {
        // A prime step: every actor once, none beside the one before.
        const key = ((round * EACH + n) * 611_953) % ACTORS;
        const started = performance.now();
        const snapshot = await engine.read(`plain-disk/a${key}`);
        took.push((performance.now() - started) * 1_000);
        if (snapshot === undefined) throw new Error(`plain-disk/a${key} is not there.`);
      }
      medians.push(median(took));
    }
    print({ what: `an actor of ${ACTORS} on disk, woken and read, p50`, measured: medians, unit: "µs", target: 35, spec: "none" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
