// Where actors, sessions and contents are stored. To read the store on SQLite: sqlite.ts (its parts), group-commit.ts and commit-turn.ts (a
// commit), wal-sync.ts (durability), event-table.ts and actor-table.ts (what is stored), open-store.ts and log-loss.ts (opening, crashes).

export { sqliteContents } from "./contents.ts";
export type { LogLoss } from "./log-loss.ts";
export { memoryContents } from "./memory-contents.ts";
export { type MemoryBounds, memorySessionStore, memoryStreamStore, type MemoryStreamBounds } from "./memory-sessions.ts";
export { memoryStore } from "./memory.ts";
export type { ContentBounds } from "./rules.ts";
export {
  type MendedSessionOptions,
  mendedSessionStores,
  type SessionStores,
  type SqliteSessionOptions,
  sqliteSessionStores,
  type SqliteSessionStores,
} from "./sqlite-sessions.ts";
export { checkFile, type SqliteOptions, sqliteStore } from "./sqlite.ts";
export { sqliteExporter, sqliteImporter } from "./transfer.ts";
export { STREAM_BOUNDS, type StreamBounds } from "../contract/index.ts";
