/**
 * What an actor is on Restate: one state key written once per turn, and sealed
 * segments of older events.
 *
 * C6: the server runs one turn per key at a time and drops the writes of an attempt
 * that was superseded, so a head is never extended twice.
 * C7: nothing is kept beside the chain but what follows from it: `state` is what its
 * events tell.
 */
import type { SinceFull } from "../chain/internal.ts";
import { StoreError, type ChainEvent, type Json, type Row } from "../contract/index.ts";
import { isObject } from "./is-object.ts";

/** Events in the state key, at most, and in each segment, exactly. */
export const SEGMENT_EVENTS = 32;

/** Name of the state key. */
export const ACTOR_KEY = "actor";

/** Name of the segment that holds the events from `index * SEGMENT_EVENTS + 1` on. */
export const segmentKey = (index: number): string => `events/${index}`;

export interface Kept {
  readonly row: Row;
  readonly state: Json;
  /** An upper bound of the state's bytes. */
  readonly bytes: number;
  readonly seq: number;
  readonly head: string;
  /** What decides when the next whole state is written. */
  readonly since: SinceFull;
  /** The newest events; those before them are in segments. */
  readonly last: readonly ChainEvent[];
}

/** Throws `STORE_CORRUPT` where something else wrote under the name. */
export function readKept(value: unknown): Kept | undefined {
  if (value === null || value === undefined) return undefined;
  if (isKept(value)) return value;
  throw new StoreError("STORE_CORRUPT", `The state key "${ACTOR_KEY}" holds no actor: let nothing else write to these virtual objects.`);
}

/** Likewise. */
export function readSegment(value: unknown): readonly ChainEvent[] {
  if (isEvents(value)) return value;
  throw new StoreError(
    "STORE_CORRUPT",
    "A sealed segment of events is missing or is none: let nothing else write to these virtual objects.",
  );
}

const isEvent = (value: unknown): value is ChainEvent =>
  isObject(value) && typeof value["id"] === "string" && typeof value["header"] === "string";

export const isEvents = (value: unknown): value is readonly ChainEvent[] => Array.isArray(value) && value.every(isEvent);

function isKept(value: unknown): value is Kept {
  if (!isObject(value)) return false;
  const { row, state, bytes, seq, head, since, last } = value;
  return (
    isObject(row) &&
    typeof row["life"] === "string" &&
    typeof row["version"] === "number" &&
    isObject(row["wakes"]) &&
    isObject(row["pending"]) &&
    state !== undefined &&
    typeof bytes === "number" &&
    typeof seq === "number" &&
    typeof head === "string" &&
    isObject(since) &&
    isEvents(last)
  );
}
