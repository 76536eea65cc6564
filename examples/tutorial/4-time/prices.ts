import { setTimeout } from "node:timers/promises";

/** Stands for a web shop that takes a moment to answer. */
export async function priceOf(item: string, signal: AbortSignal): Promise<number> {
  await setTimeout(200, undefined, { signal });
  return item.length;
}
