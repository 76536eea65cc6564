// How many guests there may be in one process: as state, while few have an instance.
import type { Asked } from "./asked.ts";
import { exposeGc } from "./heap.ts";
import { bytes, COUNTER, MANIFEST, never, opened, wasm } from "./guests-stage.ts";
import { tails } from "./guests-table.ts";
import { print } from "./table.ts";

const INSTANCES = 100;
const SAMPLE = 5_000;
/** A stride that meets no guest twice. */
const STRIDE = 7_919;
const AT_ONCE = 8;

const component = wasm(COUNTER);
const nth = (n: number): string => `guest-${n}`;

/** Of this thread, bytes outside its heap included; and of the process. */
const memory = (): { readonly held: number; readonly rss: number } => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { held: heapUsed + external, rss };
};

export const many = async ({ quick }: Asked): Promise<void> => {
  const guests = quick ? 2_000 : 100_000;
  await exposeGc();
  await using on = await opened({ workers: 1, instances: INSTANCES });
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
  const had = sandbox.measures.instances;
  const sample = Math.min(SAMPLE, guests);
  const woken: number[] = [];
  for (let n = 0; n < sample; n += 1) {
    const one = (n * STRIDE) % guests;
    const asked = performance.now();
    const said = Buffer.from(await stage.request(nth(one), bytes("?"), never)).toString();
    woken.push((performance.now() - asked) * 1_000);
    if (said !== String(one)) throw new Error(`${nth(one)} said ${said}.`);
  }
  const what = `${guests} guests, ${had} instances`;
  print({ what: `${what}: held for each`, measured: [held], unit: "bytes" });
  print({ what: `${what}: of the process for each`, measured: [rss], unit: "bytes" });
  print({ what: `${what}: started from manifest and component, ${AT_ONCE} at a time`, measured: [each], unit: "µs" });
  tails(`${what}: a request to one that has none`, woken, 1_000);
};
