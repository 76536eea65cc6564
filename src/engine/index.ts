export type { FaultContext } from "./host.ts";
export { LocalEngine, type Health, type LocalOptions } from "./local.ts";
