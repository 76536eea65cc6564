import type { Entry } from "../contract/index.ts";

/** What came after the last whole state: decides when the next is written, in every engine alike. */
export interface SinceFull {
  readonly events: number;
  /** Of their bodies. */
  readonly bytes: number;
  /** Of the body that holds the state. */
  readonly fullBytes: number;
}

export const NOTHING_SINCE: SinceFull = { events: 0, bytes: 0, fullBytes: 0 };

/** A whole state is written anew once what came after the last is this much longer than it. */
const SLACK_BYTES = 2_048;
const LONGEST_TAIL = 256;

export const wantsFull = ({ events, bytes, fullBytes }: SinceFull): boolean => events >= LONGEST_TAIL || bytes > fullBytes + SLACK_BYTES;

export function sinceAfter({ events, bytes, fullBytes }: SinceFull, { event, full }: Pick<Entry, "event" | "full">): SinceFull {
  const length = event.body?.length ?? 0;
  return full ? { events: 0, bytes: 0, fullBytes: length } : { events: events + 1, bytes: bytes + length, fullBytes };
}
