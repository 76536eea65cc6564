// Owns: the hash of an event, its link to the one before it, and the check of both. Does not own: what the events hold (actor-events.ts).
import { createHash } from "node:crypto";
import type { TheaterEvent } from "../stage.ts";
import { hexOf, printEvent } from "../wire/events.ts";
import { type Printable, printJson, printPieces } from "../wire/wire-json.ts";

/** An event without a position in a chain. */
export interface UnlinkedEvent {
  readonly eventType: string;
  /** Theater's `EventData`: `{"Wasm":{"WasmCall":{…}}}`. */
  readonly data: Printable;
  readonly description: string;
}

const NO_HASH = new Uint8Array(0);

/** The SHA-1 of the event's compact JSON, keys in order, with an empty hash. The text is never in memory as a whole. */
export function eventHash(event: Omit<TheaterEvent, "hash">): Uint8Array {
  const hash = createHash("sha1");
  printPieces(printEvent({ ...event, hash: NO_HASH }), (piece) => void hash.update(piece));
  return new Uint8Array(hash.digest());
}

/** Appends an event to the one with the hash `parentHash`. */
export function link({ eventType, data, description }: UnlinkedEvent, parentHash: Uint8Array | null, timestamp: number): TheaterEvent {
  const event = { parentHash, eventType, data: new Uint8Array(printJson(data)), timestamp, description };
  return { hash: eventHash(event), ...event };
}

export const sameHash = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one, other) === 0;

/** `at`: the index of the first invalid event. */
type TheaterVerdict = { readonly ok: true; readonly events: number } | { readonly ok: false; readonly at: number; readonly why: string };

/** Checks that each event has the hash of its content and names the event before it. `from`: the parent of the first event. */
export function verifyTheater(events: Iterable<TheaterEvent>, from: Uint8Array | null = null): TheaterVerdict {
  let parent = from;
  let at = 0;
  for (const event of events) {
    if (!sameHash(event.parentHash, parent)) {
      const namedParent = event.parentHash === null ? "none" : hexOf(event.parentHash);
      return {
        ok: false,
        at,
        why: `It names ${namedParent} as the event before it, which is ${parent === null ? "none" : hexOf(parent)}.`,
      };
    }
    const computed = eventHash(event);
    if (!sameHash(event.hash, computed))
      return { ok: false, at, why: `Its content has the hash ${hexOf(computed)} and not ${hexOf(event.hash)}: it was changed.` };
    parent = event.hash;
    at += 1;
  }
  return { ok: true, events: at };
}
