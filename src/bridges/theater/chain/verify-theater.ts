import type { TheaterEvent } from "../theater-stage.ts";
import { eventHash, hexOf, sameHash } from "./link.ts";

/** `at`: the index of the first invalid event. */
export type TheaterVerdict =
  | { readonly ok: true; readonly events: number }
  | { readonly ok: false; readonly at: number; readonly why: string };

/** Checks that each event has the hash of its content and names the event before it. `from`: the parent of the first event. */
export function verifyTheater(events: Iterable<TheaterEvent>, from: Uint8Array | null = null): TheaterVerdict {
  let parent = from;
  let at = 0;
  for (const event of events) {
    if (!sameHash(event.parentHash, parent)) {
      const namedParent = event.parentHash === null ? "none" : hexOf(event.parentHash);
      return { ok: false, at, why: `It names ${namedParent} as the event before it, which is ${parent === null ? "none" : hexOf(parent)}.` };
    }
    const computed = eventHash(event);
    if (!sameHash(event.hash, computed))
      return { ok: false, at, why: `Its content has the hash ${hexOf(computed)} and not ${hexOf(event.hash)}: it was changed.` };
    parent = event.hash;
    at += 1;
  }
  return { ok: true, events: at };
}
