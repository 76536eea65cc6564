// A guest in an endless loop: how long it runs beyond its time limit, and how long other guests wait. Without limits.
import type { BenchOptions } from "./options.ts";
import { bytes, ECHO, HOSTILE, MANIFEST, never, openStage, wasm } from "./guests-stage.ts";
import { print } from "./table.ts";

const CALL_MS = 100;

export const killed = async ({ quick }: BenchOptions): Promise<void> => {
  const rounds = quick ? 3 : 7;
  await using on = await openStage({ workers: 1, callMs: CALL_MS });
  const { stage, sandbox } = on;
  await stage.start({ manifest: MANIFEST, component: wasm(ECHO), name: "neighbour" });
  await stage.start({ manifest: MANIFEST, component: wasm(HOSTILE), name: "spinning" });
  const past: number[] = [];
  const behind: number[] = [];
  const back: number[] = [];
  const timed = async (act: () => Promise<unknown>, into: number[], beyond = 0): Promise<void> => {
    const started = performance.now();
    await act();
    into.push(performance.now() - started - beyond);
  };
  for (let round = 0; round < rounds; round += 1) {
    await stage.request("neighbour", bytes("hello"), never);
    const spins = timed(() => stage.request("spinning", bytes("l"), never).catch(() => undefined), past, CALL_MS);
    const waits = timed(() => stage.request("neighbour", bytes("hello"), never), behind, CALL_MS);
    await Promise.all([spins, waits]);
    await timed(async () => {
      await stage.restart("spinning");
      await stage.request("spinning", bytes("."), never);
    }, back);
  }
  if (sandbox.measures.killed !== rounds) throw new Error(`${sandbox.measures.killed} of ${rounds} were killed.`);
  const row = (what: string, measured: readonly number[]): void => print({ what, measured, unit: "ms" });
  row(`a guest that spins, killed: after its ${CALL_MS} ms`, past);
  row("its neighbour behind it in that worker, answered by the next: after the same", behind);
  row("the killed guest restarted and answering", back);
};
