// README: what it costs to start an actor, and to keep one alive.
import { LocalEngine } from "troupe/engine";
import type { Asked } from "./asked.ts";
import { exposeGc, heap } from "./heap.ts";
import { plain } from "./kinds/plain.ts";
import { each, print } from "./table.ts";

const ROUNDS = 5;

/** On an engine of their own, so that a round's actors are not among those of the rounds before. */
const born = async (count: number): Promise<{ readonly us: number; readonly bytes: number }> => {
  await using engine = await LocalEngine.start({ kinds: [plain("memory")] });
  const before = heap();
  const us = await each(count, (n) => engine.call({ to: `plain/a${n}`, action: "add", args: {}, start: null }));
  return { us, bytes: (heap() - before) / count };
};

export const run = async ({ quick }: Asked): Promise<void> => {
  await exposeGc();
  const count = quick ? 50_000 : 200_000;
  // Warms up.
  await born(count);
  const all = [];
  while (all.length < (quick ? 3 : ROUNDS)) all.push(await born(count));
  print({ what: `an actor begun and called once, ${count} of them`, measured: all.map(({ us }) => us), unit: "µs", target: 2 });
  print({ what: "a live actor with its last event", measured: all.map(({ bytes }) => bytes), unit: "bytes", target: 900 });
};
