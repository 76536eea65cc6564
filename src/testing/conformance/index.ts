export { type ContentPlace, contentSuite } from "./content-suite.ts";
export {
  engineIndexSuite,
  type IndexedEngine,
  type IndexedKinds,
  type IndexSuiteSize,
  type OpenedIndexes,
  type OpenIndexes,
} from "./engine-index-suite.ts";
export { engineSuite } from "./engine-suite.ts";
export { golden, type GoldenCall, goldenCalls, runGolden } from "./golden.ts";
export { indexSuite } from "./index-suite.ts";
export { type SessionPlace, sessionSuite, type StreamPlace, streamSuite } from "./session-suite.ts";
export { ChainWriter, type EntryOptions, messageTo } from "./store-entries.ts";
export type { StorePlace, StoreSuiteOptions } from "./store-stage.ts";
export { storeSuite } from "./store-suite.ts";
export { type Hooks, type Tally, tallyKind } from "./suite-kinds.ts";
export { type Exported, exportedBy, type TransferPlace, transferSuite } from "./transfer-suite.ts";
export { chainOf, goldenWorkload, type Opened, type OpenEngine, type SuiteOptions, turnSuite } from "./turn-suite.ts";
