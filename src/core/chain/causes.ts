import type { ChainEvent, Header } from "../contract/index.ts";
import { readHeader } from "./event.ts";

/** As the engine and the stores answer. */
export interface CauseLookup {
  event(id: string): Promise<ChainEvent | undefined>;
  caused(id: string): Promise<readonly ChainEvent[]>;
}

/** An event and what followed from it, on whichever actor. */
export interface Cause {
  readonly id: string;
  readonly header: Header;
  readonly effects: readonly Cause[];
  /** There are more, beyond the limit. */
  readonly cut: boolean;
}

interface Growing extends Cause {
  readonly effects: Growing[];
  cut: boolean;
}

const grow = (event: ChainEvent): Growing => ({ id: event.id, header: readHeader(event), effects: [], cut: false });

/** The event at the beginning of it all: up from cause to cause, as far as they are known here. Undefined: no such event. */
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

/** Everything that followed from an event across actors, breadth first, at most `limit` events (default 1,000). Undefined: no such event. */
export async function causeTree(id: string, lookup: CauseLookup, limit = 1_000): Promise<Cause | undefined> {
  const first = await lookup.event(id);
  if (first === undefined) return undefined;
  const root = grow(first);
  // A chain cannot name what comes after it, but a forged file can.
  const seen = new Set([root.id]);
  const waiting = [root];
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    for (const event of await lookup.caused(at.id)) {
      if (seen.has(event.id)) continue;
      if (seen.size >= limit) {
        at.cut = true;
        break;
      }
      seen.add(event.id);
      const effect = grow(event);
      at.effects.push(effect);
      waiting.push(effect);
    }
  }
  return root;
}
