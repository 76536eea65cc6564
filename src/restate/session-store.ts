import {
  type Bag,
  changedSession,
  EngineError,
  isBag,
  type Json,
  type SessionRow,
  type SessionStore,
  StoreError,
} from "../contract/index.ts";
import type { MapClient } from "./map-client.ts";
import { MAP_KEY_LENGTH } from "./map-object.ts";

export interface SessionStoreOptions {
  readonly maps: MapClient;
  /** Of the map. Default "sessions". */
  readonly name?: string;
}

const SHARDS = 16;
/** What one row is written to at the same time by nodes is little: of those who collide one gets through each time. */
const MOST_TRIES = 100;

/** Sessions that all nodes of a Restate server share. A stale `put` of one node replaces what another put, as with every store. */
export function restateSessionStore({ maps, name = "sessions" }: SessionStoreOptions): SessionStore {
  const rows = maps.shardedMap(name, SHARDS);
  const ask = asked();
  return {
    put: (row) => ask(async () => void (await rows.put(row.id, bagOf(row)))),
    get: (id) => ask(async () => (canBe(id) ? rowOf(await rows.get(id)) : undefined)),
    change: (id, change) =>
      ask(async () => {
        for (let tries = 0; canBe(id) && tries < MOST_TRIES; tries += 1) {
          const before = await rows.get(id);
          const row = rowOf(before);
          if (before === undefined || row === undefined) return undefined;
          const changed = changedSession(row, change);
          if (await rows.replace(id, before, bagOf(changed))) return changed;
        }
        if (!canBe(id)) return undefined;
        throw new StoreError("STORE_CONFLICT", "The session changed with every attempt to change it: try again.");
      }),
    touch: (id, seenAt) => ask(async () => void (canBe(id) && (await rows.patch(id, { seenAt }, "seenAt")))),
    delete: (id) => ask(async () => void (canBe(id) && (await rows.delete(id)))),
    expire: (seenBefore) => ask(() => rows.take({ before: seenBefore, field: "seenAt" })),
    async [Symbol.asyncDispose]() {
      ask.close();
    },
  };
}

/** Clients send ids of any length, and none that long was put. */
const canBe = (id: string): boolean => id !== "" && id.length <= MAP_KEY_LENGTH;

/** What a store does until it is closed, with `StoreError` for what the server says. */
export function asked(): { <T>(run: () => Promise<T>): Promise<T>; close(): void } {
  let open = true;
  const ask = async <T>(run: () => Promise<T>): Promise<T> => {
    if (!open) throw new StoreError("STORE_CLOSED", "The session store is closed. Open it again.");
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new StoreError("STORE_IO", `The sessions on the Restate server are out of reach: see that it is up. ${error.message}`, {
        cause: error,
      });
    }
  };
  return Object.assign(ask, {
    close() {
      open = false;
    },
  });
}

const bagOf = (row: SessionRow): Bag => ({ ...row });

const areTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((text) => typeof text === "string");

function rowOf(value: Json | undefined): SessionRow | undefined {
  if (value === undefined) return undefined;
  if (isRow(value)) return value;
  throw new StoreError("STORE_CORRUPT", "A session on the Restate server is none: let nothing else write to the map of sessions.");
}

function isRow(value: unknown): value is SessionRow {
  if (!isBag(value)) return false;
  const { id, principal, protocol, client, capabilities, subscriptions, logLevel, posture, listener, createdAt, seenAt } = value;
  return (
    [id, protocol].every((text) => typeof text === "string") &&
    [principal, logLevel, posture, listener].every((text) => text === undefined || typeof text === "string") &&
    isBag(client) &&
    isBag(capabilities) &&
    areTexts(subscriptions) &&
    [createdAt, seenAt].every((time) => typeof time === "number")
  );
}
