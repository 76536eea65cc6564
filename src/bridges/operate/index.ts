/** Reading and operating actors, wherever they run: for the command line and the console. */
export { isThere, type Replay, replayChain, type ReplayOptions, verdictOn } from "./chain-checks.ts";
export { type Appender, checkpoint, edit, type Edit, fork, revert } from "./chain-operations.ts";
export { clusterOperations, type OperableCluster } from "./cluster-operations.ts";
export { editsOff, OperationError, type OperationCode, StateMisfitError } from "./operation-error.ts";
export {
  engineOperations,
  type OperableEngine,
  type Operate,
  type OperatingOptions,
  storeOperations,
  type StoreOperatingOptions,
} from "./operations.ts";
export { actorsOf, eventsOf, type Which, yieldToEventLoop } from "./paging.ts";
export {
  type ActorHealth,
  type ActorReader,
  type ActorState,
  clusterReader,
  engineReader,
  eventsOfState,
  type ReadableCluster,
  type ReadableEngine,
  stateAfter,
  storeReader,
} from "./readers.ts";
