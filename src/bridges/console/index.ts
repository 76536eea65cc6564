export { type ConsoleAsset, type ConsoleAssets, readAssets } from "./assets.ts";
export { consoleFor, type ConsoleOptions } from "./console.ts";
export type { ActorReader, ConsoleData, Operate, RunningServer, ServerSettings } from "./data.ts";
export { type LiveOptions, type LiveRecorder, type Noted, recordLive } from "./live.ts";
export type { ConsoleRequest, ConsoleRoute, QueryParameter } from "./routes.ts";
export type * from "./shapes.ts";
