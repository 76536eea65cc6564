import type { TheaterEvent } from "../theater-stage.ts";

export const hexOf = (hash: Uint8Array): string => Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("hex");

const follows = (event: TheaterEvent, before: TheaterEvent | undefined): boolean =>
  before === undefined || (event.parentHash !== null && Buffer.compare(event.parentHash, before.hash) === 0);

/** Sorts events by their links. Times do not give the order, since all events of a call may have the time of the call. */
export function inChainOrder(events: readonly TheaterEvent[]): readonly TheaterEvent[] {
  if (events.every((event, at) => follows(event, events[at - 1]))) return events;
  const hashes = new Set(events.map(({ hash }) => hexOf(hash)));
  const next = new Map<string, TheaterEvent>();
  let event: TheaterEvent | undefined;
  for (const one of events) {
    const parent = one.parentHash === null ? "" : hexOf(one.parentHash);
    if (hashes.has(parent)) next.set(parent, one);
    else event ??= one;
  }
  const chain: TheaterEvent[] = [];
  // Bounded, since links may form a cycle.
  for (; event !== undefined && chain.length < events.length; event = next.get(hexOf(event.hash))) chain.push(event);
  return chain;
}
