// Wakes and reads one of 1,000,000 actors on disk.
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import type { BenchOptions } from "./options.ts";
import { fillStore } from "./filled-store.ts";
import { plain } from "./kinds/plain.ts";
import { temporaryFolder } from "./cleanup.ts";
import { median } from "./statistics.ts";
import { print } from "./table.ts";

const ROUNDS = 5;
/** A prime, so that each actor is read once, and none next to the previous one. */
const STRIDE = 611_953;

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  const [actors, each] = quick ? [30_000, 2_000] : [1_000_000, 4_000];
  await fillStore(data.path, actors);
  const medians: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await using store = sqliteStore({ directory: data.path });
    await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
    const took: number[] = [];
    for (let n = 0; n < each; n += 1) {
      const key = ((round * each + n) * STRIDE) % actors;
      const started = performance.now();
      const snapshot = await engine.read(`plain-disk/a${key}`);
      took.push((performance.now() - started) * 1_000);
      if (snapshot === undefined) throw new Error(`plain-disk/a${key} is not there.`);
    }
    medians.push(median(took));
  }
  print({ what: `an actor of ${actors} on disk, woken and read, p50`, measured: medians, unit: "µs", target: 35 });
};
