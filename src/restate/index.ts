export type { Beside } from "./endpoint.ts";
export { restateMembers, type MembersOptions } from "./members.ts";
export { MapClient, type MapClientOptions } from "./map-client.ts";
export { RestateEngine, type NodeFault, type RestateOptions } from "./restate-engine.ts";
export { isRestateSdk, type RestateSdk } from "./sdk.ts";
export { restateSessionStore, type SessionStoreOptions } from "./session-store.ts";
export { restateExporter } from "./exporter.ts";
export { restateImporter, resumeImported } from "./importer.ts";
export { type TransferOptions } from "./transfer-client.ts";
