// Owns: from an event back to its first cause, and to the request of a client that is behind it. Does not own: recording requests
// (traffic.ts), all that followed (cause-routes.ts).

import { readHeader } from "../../core/chain/index.ts";
import type { ChainEvent } from "../../core/contract/index.ts";
import { type ActorReader, yieldToEventLoop } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import type { CausingRequest, EventRow } from "./shapes.ts";

const MOST_CAUSES = 500;

/** With the request of a client that caused it, while that is known. */
export function withRequest<T extends EventRow>(row: T, { live }: Pick<ConsoleData, "live">): T {
  const request = live?.traffic.rows.requestOf(row.actor, row.seq);
  return request === undefined ? row : { ...row, request };
}

/** Events that are looked at for the request that they began with. */
const MOST_LOOKED = 100;

/**
 * The request that the event, or what caused it, began with, while it is known. A reply that came later names a later event, so those
 * that followed from the first cause are looked at, too.
 */
export async function requestBehind(event: ChainEvent, { reader, live }: ConsoleData): Promise<CausingRequest | undefined> {
  if (live === undefined) return undefined;
  const [root = event] = await wayTo(event, reader);
  const found = [event, root];
  for (const one of found) {
    const { actor, seq } = readHeader(one);
    const request = live.traffic.rows.requestOf(actor, seq);
    if (request !== undefined) return request;
    if (found.length < MOST_LOOKED) found.push(...(await reader.caused(one.id)).slice(0, MOST_LOOKED - found.length));
    await yieldToEventLoop();
  }
  return undefined;
}

/** From the first cause to the event, as far as they are known here. */
export async function wayTo(event: ChainEvent, reader: ActorReader): Promise<readonly ChainEvent[]> {
  const way = [event];
  const seen = new Set([event.id]);
  for (let at: ChainEvent | undefined = event; at !== undefined && way.length < MOST_CAUSES;) {
    const { cause } = readHeader(at);
    // A chain cannot name a later event as its cause, but a forged file can.
    at = cause === undefined || seen.has(cause) ? undefined : await reader.event(cause);
    if (at === undefined) break;
    seen.add(at.id);
    way.push(at);
  }
  return way.toReversed();
}
