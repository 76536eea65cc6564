// Owns: the interface through which actors and chains are read, states at any event, and the readers of an engine, a store and a cluster.
// Does not own: what is read there.
import { readBody, stateAt, stateFrom, type VersionedState } from "../../core/chain/index.ts";
import type { ActorId, ChainEvent, Damaged, DeadLetter, Engine, Row, Snapshot, Store } from "../../core/contract/index.ts";
import { counted, EventPages } from "../../core/contract/internal.ts";
import { noActor, notFound } from "./operation-error.ts";

/** An actor's last durable state. `owner` and `persistence` are absent if unknown. */
export type ActorState = Omit<Snapshot, "id" | "emit" | "owner" | "persistence"> & Partial<Pick<Snapshot, "owner" | "persistence">>;

/** Why an actor does not take messages, as far as this process knows. */
export interface ActorHealth {
  readonly crashes: readonly number[];
  readonly failure?: string;
}

/** Reads actors and their chains. Absent methods are not supported by the reader. */
export interface ActorReader extends Pick<Store, "list" | "events" | "event" | "caused"> {
  /** Undefined: there is no such actor. */
  state(id: ActorId): Promise<ActorState | undefined>;
  /** The actor's row: timers, pending replies, parent. */
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
 * The events that determine the state after event `seq`, from a whole state on. They are few and have few bytes, so they are read from the end:
 * a server that forks an actor need not hold all of a long chain, nor let others wait. `length`: the number of events, if there is no
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
      throw known === undefined ? noActor(id) : notFound(`${id} has ${counted(known, "event")}, not ${seq}.`);
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

/** The part of an engine that is used. Other engines than `LocalEngine` may lack the optional methods. */
export interface ReadableEngine extends Pick<Engine, "list" | "count" | "read" | "history" | "event" | "caused"> {
  row?(id: ActorId): Promise<Row | undefined>;
  children?(id: ActorId): Promise<readonly ActorId[]>;
  health?(id: ActorId): ActorHealth | undefined;
  letters?(limit?: number, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]>;
}

/**
 * The actors of a running engine, those in memory included. `engine` is called at each read, since development replaces it. `store`: the
 * one it was started with.
 */
export function engineReader(engine: () => ReadableEngine, store?: Store): ActorReader {
  const first = engine();
  const history = async (id: ActorId, afterSeq: number, limit: number): Promise<readonly ChainEvent[]> => {
    const events: ChainEvent[] = [];
    for await (const event of engine().history(id, afterSeq)) {
      events.push(event);
      if (events.length >= limit) break;
    }
    return events;
  };
  return {
    list: (query) => engine().list(query),
    count: (query) => engine().count(query),
    async events(id, afterSeq, limit) {
      const stored = (await store?.events(id, afterSeq, limit)) ?? [];
      // An actor in memory has its last event only, and the store has none of it.
      return stored.length > 0 ? stored : await history(id, afterSeq, limit);
    },
    event: (id) => engine().event(id),
    caused: (id) => engine().caused(id),
    state: (id) => engine().read(id),
    ...(first.row !== undefined && { row: async (id: ActorId) => engine().row?.(id) }),
    ...(first.children !== undefined && { children: async (id: ActorId) => (await engine().children?.(id)) ?? [] }),
    ...(first.health !== undefined && { health: (id: ActorId) => engine().health?.(id) }),
    ...(first.letters !== undefined && {
      letters: async (limit: number, _damaged?: Damaged, except?: ReadonlySet<string>) => (await engine().letters?.(limit, except)) ?? [],
    }),
    ...(store !== undefined && partsOf(store)),
  };
}

/** The actors of a store that no engine of this process writes to. */
export function storeReader(store: Store): ActorReader {
  return {
    list: (query, damaged) => store.list(query, damaged),
    count: (query) => store.count(query),
    events: (id, afterSeq, limit) => store.events(id, afterSeq, limit),
    event: (id) => store.event(id),
    caused: (id) => store.caused(id),
    async state(id) {
      const stored = await store.load(id);
      if (stored === undefined) return undefined;
      const { seq, head, row, tail } = stored;
      const { uid, status, version, createdAt, lastMessageAt, messageCount, owner } = row;
      const { state } = stateFrom(tail);
      const known: ActorState = { uid, seq, head, status, version, createdAt, lastMessageAt, messageCount, state, persistence: "disk" };
      return owner === undefined ? known : { ...known, owner };
    },
    row: async (id) => (await store.load(id))?.row,
    children: (id) => store.children(id),
    letters: (...query) => store.letters(...query),
    ...partsOf(store),
  };
}

const partsOf = (store: Store): Pick<ActorReader, "load" | "due" | "undelivered"> => ({
  load: (id) => store.load(id),
  due: (...query) => store.due(...query),
  undelivered: (...query) => store.undelivered(...query),
});

/** The part of a cluster's operator that is used: of `RestateOperator`. */
export interface ReadableCluster extends Pick<Store, "list" | "events" | "event" | "caused" | "letters"> {
  read(id: ActorId): Promise<Snapshot | undefined>;
}

/** The actors of a cluster, as its nodes report them. */
export function clusterReader(cluster: ReadableCluster): ActorReader {
  return {
    list: (query) => cluster.list(query),
    events: (id, afterSeq, limit) => cluster.events(id, afterSeq, limit),
    event: (id) => cluster.event(id),
    caused: (id) => cluster.caused(id),
    state: (id) => cluster.read(id),
    letters: (...query) => cluster.letters(...query),
  };
}
