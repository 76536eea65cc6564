import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";

/** What V8 adds to its limit for young objects, unless it was told otherwise. */
const YOUNG_BYTES = 192 * 1_048_576;

/** How much of the heap for old objects is in use, 0 to 1, what was not collected yet included. V8 tells neither by itself. */
export const usedHeapShare = (): number => {
  const { heap_size_limit: most, used_heap_size: used } = getHeapStatistics();
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_used_size ?? 0;
  return (used - young) / Math.max(most - YOUNG_BYTES, most / 4);
};
