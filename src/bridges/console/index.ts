export { type ConsoleAsset, type ConsoleAssets, readAssets } from "./assets.ts";
export { consoleFor, type ConsoleOptions } from "./console.ts";
export type { ActorReader, ConsoleData, Operate, RunningServer } from "./data.ts";
export type { ConsoleRequest, ConsoleRoute, QueryParameter } from "./routes.ts";
export type * from "./shapes.ts";
