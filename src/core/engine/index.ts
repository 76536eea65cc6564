export type { FaultContext } from "./host.ts";
export { LocalEngine, type LocalOptions } from "./local.ts";
export { prune, type PruneHost, type Pruned, type Pruning } from "./prune.ts";
export type { Health } from "./queries.ts";
