// README: opening a directory with 1,000,000 actors costs what opening one with ten does.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { plain } from "./kinds/plain.ts";
import { median } from "./load.ts";

const ROUNDS = 15;

export const fill = async (directory: string, actors: number): Promise<void> => {
  await using store = sqliteStore({ directory });
  await using engine = await LocalEngine.start({ kinds: [{ ...plain("disk"), policy: { ...plain("disk").policy, idleMs: 1 } }], store });
  for (let n = 0; n < actors; n += 1_000)
    await Promise.all(
      Array.from({ length: Math.min(1_000, actors - n) }, (_, m) =>
        engine.call({ to: `plain-disk/a${n + m}`, action: "add", args: {}, start: null }),
      ),
    );
};

const open = async (directory: string, key: string): Promise<number> => {
  const started = performance.now();
  await using store = sqliteStore({ directory });
  await using engine = await LocalEngine.start({ kinds: [plain("disk")], store });
  await engine.call({ to: `plain-disk/${key}`, action: "add", args: {}, start: null });
  return performance.now() - started;
};

export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    const few = join(folder, "few");
    const many = join(folder, "many");
    await fill(few, 10);
    await fill(many, 1_000_000);
    const ratios: number[] = [];
    const times: [number, number][] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const ten = await open(few, "a5");
      const million = await open(many, "a567890");
      times.push([ten, million]);
      ratios.push(million / ten);
    }
    console.log(
      `open and answer one call: ${median(times.map(([ten]) => ten)).toFixed(1)} ms with 10 actors, ${median(times.map(([, million]) => million)).toFixed(1)} ms with 1,000,000: ${median(ratios).toFixed(2)} times`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
