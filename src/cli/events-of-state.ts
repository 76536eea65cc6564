import { readBody } from "../core/chain/index.ts";
import type { ActorId, ChainEvent } from "../core/contract/index.ts";
import { noActor, notFound } from "./exit-code.ts";
import { eventsOf, type Reader, refuseErased } from "./reading.ts";

/** At most 256 events come after a whole state. Where others wrote more, twice as many are looked at next. */
const PIECE = 512;

/**
 * The events that tell the state after event `seq`, from a whole state on. Of a long chain these are few: a server that forks one need
 * not hold all of it, nor let everybody wait. `length`: how many there are, where there is no such event.
 */
export const eventsOfState = async (
  store: Pick<Reader, "events" | "place">,
  id: ActorId,
  seq: number,
  length: () => Promise<number | undefined>,
): Promise<readonly ChainEvent[]> => {
  for (let piece = PIECE; ; piece *= 2) {
    const after = Math.max(0, seq - piece);
    const events: ChainEvent[] = [];
    for await (const event of eventsOf(store, id, after)) {
      if (events.length === seq - after) break;
      events.push(event);
    }
    if (events.length < seq - after) {
      const known = await length();
      throw known === undefined ? noActor(id, store.place) : notFound(`${id} has ${known} events, not ${seq}.`);
    }
    refuseErased(id, events, events.length, seq);
    if (after === 0 || events.some((event) => readBody(event)?.state !== undefined)) return events;
  }
};
