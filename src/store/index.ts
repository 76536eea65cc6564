export { sqliteExporter } from "./exporter.ts";
export { sqliteImporter } from "./importer.ts";
export { checkFile } from "./integrity.ts";
export { memoryStore } from "./memory.ts";
export { mendedSessionStores, type MendedSessionOptions } from "./mended-sessions.ts";
export { memorySessionStore, memoryStreamStore } from "./memory-sessions.ts";
export { sqliteSessionStores, type SessionStores, type SqliteSessionOptions } from "./sessions.ts";
export { sqliteStore, type SqliteOptions } from "./sqlite.ts";
export { STREAM_BOUNDS, type StreamBounds } from "./stream-bounds.ts";
