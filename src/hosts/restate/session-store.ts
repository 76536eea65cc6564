// Owns: sessions in a map. Does not own: their streams (stream-store.ts).
import {
  type Closable,
  type Ask,
  type JsonObject,
  changedSession,
  EngineError,
  isSessionRow,
  type Json,
  type SessionRow,
  type SessionStore,
  StoreError,
  untilClosed,
} from "../../core/contract/index.ts";
import type { MapClient } from "./map-client.ts";
import { MAP_KEY_LENGTH } from "./map-object.ts";
import type { ServerHealth } from "./server-health.ts";

/** Options of `restateSessionStore`. */
export interface SessionStoreOptions {
  readonly maps: MapClient;
  /** Name of the map. Default "sessions". */
  readonly name?: string;
  /** If given, calls are refused at once while the server is lost. */
  readonly health?: ServerHealth;
}

const SHARDS = 16;
/** Nodes rarely write one row at the same time, and of those that collide, one succeeds each time. */
const MAX_TRIES = 100;

/** Sessions that all nodes of a Restate server share. As with every store, an outdated `put` of one node replaces the `put` of another. */
export function restateSessionStore({ maps, name = "sessions", health }: SessionStoreOptions): SessionStore & Closable {
  const rows = maps.shardedMap(name, SHARDS);
  const ask = askServer(health);
  const close = async (): Promise<void> => ask.close();
  return {
    put: (row) => ask(async () => void (await rows.put(row.id, jsonOf(row)))),
    get: (id) => ask(async () => (isPossibleId(id) ? rowOf(await rows.get(id)) : undefined)),
    change: (id, change) =>
      ask(async () => {
        for (let tries = 0; isPossibleId(id) && tries < MAX_TRIES; tries += 1) {
          const before = await rows.get(id);
          const row = rowOf(before);
          if (before === undefined || row === undefined) return undefined;
          const changed = changedSession(row, change);
          if (changed === row) return row;
          if (await rows.replace(id, before, jsonOf(changed))) return changed;
        }
        if (!isPossibleId(id)) return undefined;
        throw new StoreError("STORE_CONFLICT", "The session changed with every attempt to change it: try again.");
      }),
    touch: (id, seenAt) => ask(async () => void (isPossibleId(id) && (await rows.patch(id, { seenAt }, "seenAt")))),
    delete: (id) => ask(async () => void (isPossibleId(id) && (await rows.delete(id)))),
    expire: (seenBefore) => ask(() => rows.take({ before: seenBefore, field: "seenAt" })),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Clients send ids of any length; no stored id is that long. */
const isPossibleId = (id: string): boolean => id !== "" && id.length <= MAP_KEY_LENGTH;

/** Runs requests to the server, and turns their errors into `StoreError`. */
export const askServer = (health: ServerHealth | undefined): Ask => {
  const ask = untilClosed((error) =>
    error instanceof EngineError && error.code !== "UNAVAILABLE"
      ? new StoreError("STORE_IO", `The sessions on the Restate server are out of reach: see that it is up. ${error.message}`, {
          cause: error,
        })
      : error,
  );
  return health === undefined
    ? ask
    : Object.assign(<T>(run: () => Promise<T>) => ask(() => health.guard(run, "unknown")), { close: () => ask.close() });
};

const jsonOf = (row: SessionRow): JsonObject => ({ ...row });

function rowOf(value: Json | undefined): SessionRow | undefined {
  if (value === undefined || isSessionRow(value)) return value;
  throw new StoreError("STORE_CORRUPT", "A session on the Restate server is none: let nothing else write to the map of sessions.");
}
