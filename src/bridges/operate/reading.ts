// Owns: the interface through which actors and chains are read, and states at any event. Does not own: where they are read from (readers.ts).

import { readBody, stateAt, type VersionedState } from "../../core/chain/index.ts";
import type { ActorId, ChainEvent, Row, Snapshot, Store } from "../../core/contract/index.ts";
import { EventPages } from "../../core/contract/internal.ts";
import { noActor, notFound } from "./operation-error.ts";

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

const MOST_EVENTS = 100;

/**
 * The events that tell the state after event `seq`, from a whole state on. They are few and have few bytes, so they are read from the end:
 * a server that forks an actor need not hold all of a long chain, nor let others wait. `length`: how many there are, where there is no
 * such event.
 */
export async function eventsOfState(
  store: Pick<Store, "events">,
  id: ActorId,
  seq: number,
  length: () => Promise<number | undefined>,
): Promise<readonly ChainEvent[]> {
  const pages = new EventPages(MOST_EVENTS);
  let found: readonly ChainEvent[] = [];
  for (let end = seq; ;) {
    const from = Math.max(0, end - pages.size);
    const events = await store.events(id, from, end - from);
    if (events.length < end - from) {
      const known = await length();
      throw known === undefined ? noActor(id) : notFound(`${id} has ${known} events, not ${seq}.`);
    }
    if (found.length === 0 && events.at(-1)?.body === undefined)
      throw notFound(`The body of event ${seq} of ${id} was erased, and the state there with it: its chain shows what is left.`);
    const whole = events.findLastIndex((event) => event.body === undefined || readBody(event)?.state !== undefined);
    found = [...events.slice(Math.max(0, whole)), ...found];
    if (whole !== -1 || from === 0) return found;
    pages.read(events);
    end = from;
  }
}

/** The state after event `seq`. Throws `NOT_FOUND` where there is no such event, or its body was erased. */
export async function stateAfter(reader: Pick<ActorReader, "events" | "state">, id: ActorId, seq: number): Promise<VersionedState> {
  return stateAt(await eventsOfState(reader, id, seq, async () => (await reader.state(id))?.seq), seq);
}
