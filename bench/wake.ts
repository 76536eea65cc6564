// An actor that sleeps on disk among 1,000,000, woken and read.
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import type { Asked } from "./asked.ts";
import { filled } from "./filled.ts";
import { plain } from "./kinds/plain.ts";
import { temporaryFolder } from "./leftovers.ts";
import { median } from "./statistics.ts";
import { print } from "./table.ts";

const ROUNDS = 5;
/** Prime: every actor once, none beside the one before. */
const STRIDE = 611_953;

export const run = async ({ quick }: Asked): Promise<void> => {
  using data = temporaryFolder();
  const [actors, each] = quick ? [30_000, 2_000] : [1_000_000, 4_000];
  await filled(data.path, actors);
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
