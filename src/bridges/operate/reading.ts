// Owns: the interface through which actors and chains are read, and states at any event. Does not own: where they are read from (readers.ts).

import { readBody, stateAt, type VersionedState } from "../../core/chain/index.ts";
import type { ActorId, ChainEvent, Row, Snapshot, Store } from "../../core/contract/index.ts";
import { noActor, notFound } from "./operation-error.ts";
import { eventsOf } from "./paging.ts";

/** An actor's last durable state. `owner` and `persistence` where they are known. */
export type ActorState = Omit<Snapshot, "id" | "emit" | "owner" | "persistence"> & Partial<Pick<Snapshot, "owner" | "persistence">>;

/** Why an actor does not take messages, as far as this process knows. */
export interface ActorHealth {
  readonly crashes: readonly number[];
  readonly failure?: string;
}

/** Actors and their chains, to read. What is absent cannot be read here. */
export interface ActorReader extends Pick<Store, "list" | "events" | "event" | "caused"> {
  /** Undefined: there is no such actor. */
  state(id: ActorId): Promise<ActorState | undefined>;
  /** What it has beyond its state: timers, pending replies, parent. */
  readonly row?: (id: ActorId) => Promise<Row | undefined>;
  readonly health?: (id: ActorId) => ActorHealth | undefined;
  readonly children?: Store["children"];
  readonly load?: Store["load"];
  readonly letters?: Store["letters"];
  readonly due?: Store["due"];
  readonly undelivered?: Store["undelivered"];
  readonly count?: Store["count"];
}

/** At most 256 events come after a whole state. Where others wrote more, twice as many are looked at next. */
const PIECE = 512;

/**
 * The events that tell the state after event `seq`, from a whole state on. Of a long chain these are few: a server that forks one need
 * not hold all of it, nor let others wait. `length`: how many there are, where there is no such event.
 */
export async function eventsOfState(
  store: Pick<Store, "events">,
  id: ActorId,
  seq: number,
  length: () => Promise<number | undefined>,
): Promise<readonly ChainEvent[]> {
  for (let piece = PIECE; ; piece *= 2) {
    const after = Math.max(0, seq - piece);
    const events: ChainEvent[] = [];
    for await (const event of eventsOf(store, id, after)) {
      if (events.length === seq - after) break;
      events.push(event);
    }
    if (events.length < seq - after) {
      const known = await length();
      throw known === undefined ? noActor(id) : notFound(`${id} has ${known} events, not ${seq}.`);
    }
    if (events.at(-1)?.body === undefined)
      throw notFound(`The body of event ${seq} of ${id} was erased, and the state there with it: its chain shows what is left.`);
    if (after === 0 || events.some((event) => readBody(event)?.state !== undefined)) return events;
  }
}

/** The state after event `seq`. Throws `NOT_FOUND` where there is no such event, or its body was erased. */
export async function stateAfter(reader: Pick<ActorReader, "events" | "state">, id: ActorId, seq: number): Promise<VersionedState> {
  return stateAt(await eventsOfState(reader, id, seq, async () => (await reader.state(id))?.seq), seq);
}
