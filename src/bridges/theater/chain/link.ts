import { createHash } from "node:crypto";
import type { TheaterEvent } from "../theater-stage.ts";
import { type Printable, printEvent, printJson, printPieces } from "../wire/index.ts";

/** An event without a position in a chain. */
export interface UnlinkedEvent {
  readonly eventType: string;
  /** Theater's `EventData`: `{"Wasm":{"WasmCall":{…}}}`. */
  readonly data: Printable;
  readonly description: string;
}

// Longer than any event, since what goes into one is bounded where it is made.
const MAX_JSON_BYTES = 2 ** 31;
const NO_HASH = new Uint8Array(0);

/** The SHA-1 of the event's compact JSON, keys in order, with an empty hash. The text is never in memory as a whole. */
export function eventHash(event: Omit<TheaterEvent, "hash">): Uint8Array {
  const hash = createHash("sha1");
  printPieces(printEvent({ ...event, hash: NO_HASH }), (piece) => void hash.update(piece));
  return new Uint8Array(hash.digest());
}

/** Appends an event to the one with the hash `parentHash`. */
export function link({ eventType, data, description }: UnlinkedEvent, parentHash: Uint8Array | null, timestamp: number): TheaterEvent {
  const event = { parentHash, eventType, data: new Uint8Array(printJson(data, MAX_JSON_BYTES)), timestamp, description };
  return { hash: eventHash(event), ...event };
}

export const sameHash = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one, other) === 0;

export const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");
