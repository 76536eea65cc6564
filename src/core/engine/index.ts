export type { FaultContext } from "./fault-reports.ts";
export type { IndexOperations, IndexProgress, IndexVerdict } from "../contract/index.ts";
export { LocalEngine, type LocalOptions } from "./local.ts";
export { type Health } from "./queries.ts";
export { prune, type PruneHost, type Pruned, type Pruning } from "./prune.ts";
