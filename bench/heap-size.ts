/** Makes `globalThis.gc` available without the command-line flag. */
export const exposeGc = async (): Promise<void> => {
  if (globalThis.gc !== undefined) return;
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const gc: unknown = runInNewContext("gc");
  if (typeof gc === "function") globalThis.gc = async (): Promise<void> => void gc();
};

/** Bytes in use after a garbage collection. */
export const heapSize = (): number => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
