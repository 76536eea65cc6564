// Owns: readers of the actors of a running engine, of a store that is only read, and of a cluster. Does not own: what is read there.

import { stateFrom } from "../../core/chain/index.ts";
import type { ActorId, ChainEvent, DeadLetter, Engine, Row, Snapshot, Store } from "../../core/contract/index.ts";
import type { ActorHealth, ActorReader, ActorState } from "./reading.ts";

/** An engine; `LocalEngine` has what other engines may not. */
export interface ReadableEngine extends Pick<Engine, "list" | "count" | "read" | "history" | "event" | "caused"> {
  row?(id: ActorId): Promise<Row | undefined>;
  children?(id: ActorId): Promise<readonly ActorId[]>;
  health?(id: ActorId): ActorHealth | undefined;
  letters?(limit?: number): Promise<readonly DeadLetter[]>;
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
    ...(first.letters !== undefined && { letters: async (limit: number) => (await engine().letters?.(limit)) ?? [] }),
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
    letters: (limit, damaged) => store.letters(limit, damaged),
    ...partsOf(store),
  };
}

const partsOf = (store: Store): Pick<ActorReader, "load" | "due" | "undelivered"> => ({
  load: (id) => store.load(id),
  due: (...query) => store.due(...query),
  undelivered: (...query) => store.undelivered(...query),
});

/** What an operator of a cluster can read: `RestateOperator`. */
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
    letters: (limit, damaged) => cluster.letters(limit, damaged),
  };
}
