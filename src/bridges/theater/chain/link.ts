import { createHash } from "node:crypto";
import type { TheaterEvent } from "../theater-stage.ts";
import { type Printable, printEvent, printJson, printPieces } from "../wire/index.ts";

/** An event without a position in a chain. */
export interface Unlinked {
  readonly eventType: string;
  /** Theater's `EventData`: `{"Wasm":{"WasmCall":{…}}}`. */
  readonly data: Printable;
  readonly description: string;
}

// Longer than any event, since what goes into one is bounded where it is made.
const LONGEST = 2 ** 31;
const NONE = new Uint8Array(0);

/** The SHA-1 of the event's compact JSON, keys in order, with an empty hash. The text is never in memory as a whole. */
export function hashOf(event: Omit<TheaterEvent, "hash">): Uint8Array {
  const hash = createHash("sha1");
  printPieces(printEvent({ ...event, hash: NONE }), (piece) => void hash.update(piece));
  return new Uint8Array(hash.digest());
}

/** Appends an event to the one with the hash `parentHash`. */
export function link({ eventType, data, description }: Unlinked, parentHash: Uint8Array | null, timestamp: number): TheaterEvent {
  const event = { parentHash, eventType, data: new Uint8Array(printJson(data, LONGEST)), timestamp, description };
  return { hash: hashOf(event), ...event };
}

export const sameHash = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one, other) === 0;

export const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");
