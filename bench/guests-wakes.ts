// Guests without an instance: it was evicted, or the actor was stored on disk by an earlier process.
import type { BenchOptions } from "./options.ts";
import { bytes, COUNTER, MANIFEST, never, openStage, wasm } from "./guests-stage.ts";
import { timeCalls, tails } from "./guests-table.ts";

const GUESTS = 200;
const WAKE_US = 1_000;

const component = wasm(COUNTER);
const nth = (n: number): string => `counter-${n}`;

type OpenedStage = Awaited<ReturnType<typeof openStage>>;

const fill = async ({ stage }: OpenedStage): Promise<void> => {
  for (let n = 0; n < GUESTS; n += 1)
    await stage.start({ manifest: MANIFEST, component, name: nth(n), initialState: bytes(`{"count":${n}}`) });
};

const ask = async ({ stage }: OpenedStage, n: number): Promise<void> => {
  const reply = Buffer.from(await stage.request(nth(n), bytes("?"), never)).toString();
  if (reply !== String(n)) throw new Error(`${nth(n)} woke with ${reply}.`);
};

const evicted = async (rounds: number): Promise<void> => {
  await using on = await openStage({ workers: 1, instances: 1 });
  await fill(on);
  const [woken = []] = await timeCalls(rounds, GUESTS, (n) => ask(on, n));
  tails("wake: a request to a guest whose instance had to go", woken, WAKE_US);
};

const asleep = async (directory: string, rounds: number): Promise<void> => {
  {
    await using on = await openStage({ workers: 1, directory });
    await fill(on);
  }
  const woken: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await using on = await openStage({ workers: 1, directory });
    // Warms up the process.
    for (let n = 0; n < 20; n += 1) await ask(on, n);
    for (let n = 20; n < GUESTS; n += 1) {
      const started = performance.now();
      await ask(on, n);
      woken.push((performance.now() - started) * 1_000);
    }
  }
  tails("wake: a request to a guest whose actor sleeps on disk, answered on disk", woken, WAKE_US);
};

export const wakes = async (directory: string, { quick }: BenchOptions): Promise<void> => {
  const rounds = quick ? 2 : 5;
  await evicted(rounds);
  await asleep(directory, rounds);
};
