import type { Damaged } from "../contract/index.ts";
import type { FaultContext, Host } from "./host.ts";

/** A file in which more rows are damaged is told of well enough. */
const MOST_TOLD = 10_000;

/** Tells the operator of each damaged row once, however often the store comes across it. */
export function damageTo(fault: Host["fault"], where: FaultContext["where"]): Damaged {
  const told = new Set<string>();
  return (error, actor) => {
    if (told.size >= MOST_TOLD || told.has(error.message)) return;
    told.add(error.message);
    fault(error, actor === undefined ? { where } : { where, actor });
  };
}
