// README: what it costs to start an actor, and to keep one alive.
import { LocalEngine } from "troupe/engine";
import { plain } from "./kinds/plain.ts";

const ACTORS = 200_000;

const heap = (): number => {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

export const run = async (): Promise<void> => {
  if (globalThis.gc === undefined) {
    const { setFlagsFromString } = await import("node:v8");
    const { runInNewContext } = await import("node:vm");
    setFlagsFromString("--expose-gc");
    const gc: unknown = runInNewContext("gc");
    if (typeof gc === "function") globalThis.gc = async (): Promise<void> => void gc();
  }
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
