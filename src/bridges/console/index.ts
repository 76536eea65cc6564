export { type ConsoleAsset, type ConsoleAssets, consolePage, readAssets } from "./assets.ts";
export type { PacketTransport } from "./clients.ts";
export { consoleFor, type ConsoleOptions } from "./console.ts";
export {
  type ActorReader,
  clusterOperations,
  clusterReader,
  engineOperations,
  engineReader,
  type Operate,
  storeReader,
} from "../operate/index.ts";
export { sqliteSql, type SqliteSqlOptions } from "../sql/index.ts";
export type { ConsoleData, GuestsData, PacketsData, RunningServer, ServerSettings } from "./data.ts";
export { type EarlierFailure, readFailures } from "./earlier-failures.ts";
export { type LiveOptions, type LiveRecorder, recordLive } from "./live.ts";
export type { LogEntry } from "./log-book.ts";
export { consoleData, type OwnServer } from "./own-server.ts";
export type { PacketOpener } from "./recorded-transports.ts";
export type { ConsoleRequest, ConsoleRoute, QueryParameter } from "./routes.ts";
export type * from "./shapes.ts";
