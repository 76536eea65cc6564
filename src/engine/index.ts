export type { FaultContext } from "./host.ts";
export { LocalEngine, type LocalOptions } from "./local.ts";
export type { Health } from "./queries.ts";
