// Owns: when an event stores the whole state instead of a patch. Does not own: writing the event.
import type { Entry } from "../contract/index.ts";

/** What follows the last whole state. Every engine decides by it when to write the next one. */
export interface SinceFull {
  readonly events: number;
  /** Total size of the bodies of these events. */
  readonly bytes: number;
  /** Size of the body that holds the state. */
  readonly fullBytes: number;
}

export const NOTHING_SINCE: SinceFull = { events: 0, bytes: 0, fullBytes: 0 };

/** A whole state is written once the patches after the last one exceed its size by this much. */
const SLACK_BYTES = 2_048;
const LONGEST_TAIL = 256;

export const needsSnapshot = ({ events, bytes, fullBytes }: SinceFull): boolean =>
  events >= LONGEST_TAIL || bytes > fullBytes + SLACK_BYTES;

export function sinceAfter({ events, bytes, fullBytes }: SinceFull, { event, full }: Pick<Entry, "event" | "full">): SinceFull {
  const length = event.body?.length ?? 0;
  return full ? { events: 0, bytes: 0, fullBytes: length } : { events: events + 1, bytes: bytes + length, fullBytes };
}
