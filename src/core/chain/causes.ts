// Owns: following causes and effects across actors. Does not own: where events are stored.
import type { ChainEvent, Header } from "../contract/index.ts";
import { readHeader } from "./event.ts";

/** Implemented by engines and stores. */
export interface CauseLookup {
  event(id: string): Promise<ChainEvent | undefined>;
  caused(id: string): Promise<readonly ChainEvent[]>;
}

/** An event and its effects, on any actor. */
export interface Cause {
  readonly id: string;
  readonly header: Header;
  readonly effects: readonly Cause[];
  /** Whether there are more, beyond the limit. */
  readonly cut: boolean;
}

interface Mutable extends Cause {
  readonly effects: Mutable[];
  cut: boolean;
}

const nodeOf = (event: ChainEvent): Mutable => ({ id: event.id, header: readHeader(event), effects: [], cut: false });

/** The first cause of an event: up from cause to cause, as far as they are known here. Undefined: no such event. */
export async function rootCause(id: string, lookup: Pick<CauseLookup, "event">, limit = 1_000): Promise<string | undefined> {
  let known = await lookup.event(id);
  for (let step = 0; known !== undefined && step < limit; step += 1) {
    const { cause } = readHeader(known);
    const above = cause === undefined || cause === known.id ? undefined : await lookup.event(cause);
    if (above === undefined) return known.id;
    known = above;
  }
  return known?.id;
}

/** The effects of an event across actors, breadth first, at most `limit` events (default 1,000). Undefined: no such event. */
export async function causeTree(id: string, lookup: CauseLookup, limit = 1_000): Promise<Cause | undefined> {
  const first = await lookup.event(id);
  if (first === undefined) return undefined;
  const root = nodeOf(first);
  // A chain cannot name a later event as its cause, but a forged file can.
  const seen = new Set([root.id]);
  const queue = [root];
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    for (const event of await lookup.caused(at.id)) {
      if (seen.has(event.id)) continue;
      if (seen.size >= limit) {
        at.cut = true;
        break;
      }
      seen.add(event.id);
      const effect = nodeOf(event);
      at.effects.push(effect);
      queue.push(effect);
    }
  }
  return root;
}
