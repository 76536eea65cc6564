// README: what it costs to start an actor, and to keep one alive.
import { LocalEngine } from "troupe/engine";
import { exposeGc, heap } from "./heap.ts";
import { plain } from "./kinds/plain.ts";

const ACTORS = 200_000;

export const run = async (): Promise<void> => {
  await exposeGc();
  await using engine = await LocalEngine.start({ kinds: [plain("memory")] });
  for (let n = 0; n < 20_000; n += 1) await engine.call({ to: `plain/warm-${n}`, action: "add", args: {}, start: null });
  const before = heap();
  const started = performance.now();
  for (let n = 0; n < ACTORS; n += 1) await engine.call({ to: `plain/a${n}`, action: "add", args: {}, start: null });
  const spawnUs = ((performance.now() - started) * 1_000) / ACTORS;
  const bytes = (heap() - before) / ACTORS;
  console.log(
    `start an actor and run its first turn: ${spawnUs.toFixed(2)} µs; a live actor with its last event: ${bytes.toFixed(0)} bytes`,
  );
};
