// Opens a directory with 1,000,000 actors, compared with one of ten.
import { join } from "node:path";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import type { BenchOptions } from "./options.ts";
import { fillStore } from "./filled-store.ts";
import { plain } from "./kinds/plain.ts";
import { temporaryFolder } from "./cleanup.ts";
import { times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

const FEW = 10;

/** Milliseconds until the first call is answered. */
const opened = async (directory: string, key: number): Promise<number> => {
  const started = performance.now();
  await using store = sqliteStore({ directory });
  await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
  await engine.call({ to: `plain-disk/a${key}`, action: "add", args: {}, start: null });
  return performance.now() - started;
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  const actors = quick ? 30_000 : 1_000_000;
  const [few, many] = [join(data.path, "few"), join(data.path, "many")];
  await fillStore(few, FEW);
  await fillStore(many, actors);
  const [ten = [], all = []] = await rounds(
    quick ? 5 : 15,
    () => opened(few, FEW / 2),
    () => opened(many, actors / 2),
  );
  const what = "open a directory and answer one call";
  print({ what: `${what}, ${actors} actors, beside ${FEW}`, measured: times(all, ten), unit: "×" });
  print({ what: `${what}, ${actors} actors`, measured: all, unit: "ms" });
  print({ what: `${what}, ${FEW} actors`, measured: ten, unit: "ms" });
};
