export type { FaultContext } from "./ops.ts";
export { LocalEngine, type LocalOptions } from "./local.ts";
export { type Health, prune, type PruneHost, type Pruned, type Pruning } from "./queries.ts";
