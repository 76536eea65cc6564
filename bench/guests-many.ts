// 100,000 guests in one process, of which 100 have an instance.
import type { BenchOptions } from "./options.ts";
import { exposeGc } from "./heap-size.ts";
import { bytes, COUNTER, MANIFEST, never, openStage, wasm } from "./guests-stage.ts";
import { tails } from "./guests-table.ts";
import { print } from "./table.ts";

const INSTANCES = 100;
const SAMPLE = 5_000;
/** A prime, so that each guest is visited once. */
const STRIDE = 7_919;
const AT_ONCE = 8;

const component = wasm(COUNTER);
const nth = (n: number): string => `guest-${n}`;

/** Memory of this thread, including external memory, and of the process. */
const memory = (): { readonly held: number; readonly rss: number } => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { held: heapUsed + external, rss };
};

export const many = async ({ quick }: BenchOptions): Promise<void> => {
  const guests = quick ? 2_000 : 100_000;
  await exposeGc();
  await using on = await openStage({ workers: 1, instances: INSTANCES });
  const { stage, sandbox } = on;
  const start = (name: string, count: number): Promise<unknown> =>
    stage.start({ manifest: MANIFEST, component, name, initialState: bytes(`{"count":${count}}`) });
  for (let n = 0; n < 1_000; n += 1) await start(`warm-${n}`, -n);
  const before = memory();
  const started = performance.now();
  for (let n = 0; n < guests; n += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, guests - n) }, (_, m) => start(nth(n + m), n + m)));
  const each = ((performance.now() - started) * 1_000) / guests;
  const after = memory();
  const held = (after.held - before.held) / guests;
  const rss = (after.rss - before.rss) / guests;
  const instances = sandbox.measures.instances;
  const sample = Math.min(SAMPLE, guests);
  const woken: number[] = [];
  for (let n = 0; n < sample; n += 1) {
    const one = (n * STRIDE) % guests;
    const requested = performance.now();
    const reply = Buffer.from(await stage.request(nth(one), bytes("?"), never)).toString();
    woken.push((performance.now() - requested) * 1_000);
    if (reply !== String(one)) throw new Error(`${nth(one)} replied ${reply}.`);
  }
  const what = `${guests} guests, ${instances} instances`;
  print({ what: `${what}: held for each`, measured: [held], unit: "bytes" });
  print({ what: `${what}: of the process for each`, measured: [rss], unit: "bytes" });
  print({ what: `${what}: started from manifest and component, ${AT_ONCE} at a time`, measured: [each], unit: "µs" });
  tails(`${what}: a request to one that has none`, woken, 1_000);
};
