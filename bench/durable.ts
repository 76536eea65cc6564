// Calls that are on disk before the reply, with one caller and 64, compared with bare SQLite statements that do the same work.
import { join } from "node:path";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import type { BenchOptions } from "./options.ts";
import { BareTurns } from "./bare-turns.ts";
import { plain } from "./kinds/plain.ts";
import { temporaryFolder } from "./cleanup.ts";
import { callers } from "./load.ts";
import { times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  using folder = temporaryFolder();
  for (const [count, least] of [
    [1, 0.6],
    [64, 0.75],
  ] as const) {
    await using store = sqliteStore({ directory: join(folder.path, `store-${count}`) });
    await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
    using bare = new BareTurns(join(folder.path, `bare-${count}.db`), count);
    const burstMs = quick ? 300 : 1_500;
    const [ours = [], floor = []] = await rounds(
      quick ? 3 : 5,
      () => callers(count, burstMs, (caller) => engine.call({ to: `plain-disk/${caller}`, action: "add", args: {}, start: null })),
      () => bare.turnsASecond(burstMs),
    );
    const what = `calls on disk before they are answered, ${count} caller${count === 1 ? "" : "s"}`;
    print({ what: `${what}, of the same statements bare`, measured: times(ours, floor), unit: "×", least });
    print({ what, measured: ours, unit: "/s" });
  }
};
