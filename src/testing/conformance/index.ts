export { contentSuite, type ContentPlace } from "./content-suite.ts";
export { golden, goldenCalls, runGolden, type GoldenCall } from "./golden.ts";
export { indexSuite } from "./index-suite.ts";
export { sessionSuite, streamSuite, type SessionPlace, type StreamPlace } from "./session-suite.ts";
export { ChainWriter, messageTo, type EntryOptions } from "./store-entries.ts";
export type { StorePlace, StoreSuiteOptions } from "./store-stage.ts";
export { storeSuite } from "./store-suite.ts";
export {
  engineIndexSuite,
  type IndexedEngine,
  type IndexedKinds,
  type IndexSuiteSize,
  type OpenedIndexes,
  type OpenIndexes,
} from "./engine-index-suite.ts";
export { engineSuite } from "./engine-suite.ts";
export { tallyKind, type Hooks, type Tally } from "./suite-kinds.ts";
export { chainOf, goldenWorkload, turnSuite, type OpenEngine, type Opened, type SuiteOptions } from "./turn-suite.ts";
export { exportedBy, transferSuite, type Exported, type TransferPlace } from "./transfer-suite.ts";
