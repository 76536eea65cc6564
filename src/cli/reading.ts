import type { ActorId, Change, ChainEvent, Damaged, Snapshot, Store } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import type { Place } from "./cluster-place.ts";
import { DataDirectory } from "./data-directory.ts";
import { noActor, notFound } from "./exit-code.ts";
import { notesLoss } from "./noted-loss.ts";
import { transferOf } from "./transfer-options.ts";

const PAGE = 1_000;

type ActorState = Omit<Snapshot, "id" | "emit" | "owner" | "persistence">;

/** What there is to read of actors, wherever they are. */
export interface Reader extends Pick<Store, "list" | "events" | "event" | "caused" | "letters">, AsyncDisposable {
  /** Undefined: there is no such actor. */
  /** Where it reads: a directory, or a server's address. */
  readonly place?: string;
  load(id: ActorId): Promise<object | undefined>;
  state(id: ActorId): Promise<ActorState | undefined>;
}

/** To read only: works beside running servers. `directory`: there the actors are, if not on a Restate server. */
export const openToRead = async (place: Place): Promise<{ readonly store: Reader; readonly directory?: DataDirectory }> => {
  const engine = transferOf(place);
  if (engine !== undefined) return { store: await (await import("./cluster-reader.ts")).clusterReader(engine) };
  const directory = new DataDirectory(place.data);
  directory.refuseLoss();
  if (!directory.holdsActors()) throw directory.noActors();
  const { sqliteStore } = await import("../core/store/index.ts");
  const store = sqliteStore({
    directory: directory.path,
    readOnly: true,
    ...notesLoss,
  });
  return { store: Object.assign(store, { state: stateIn(store), place: directory.path }), directory };
};

const stateIn =
  (store: Pick<Store, "load">): Reader["state"] =>
  async (id) => {
    const stored = await store.load(id);
    if (stored === undefined) return undefined;
    const { stateFrom } = await import("../core/chain/index.ts");
    const { seq, head, row } = stored;
    const { uid, status, version, createdAt, lastMessageAt, messageCount } = row;
    return { uid, seq, head, status, version, createdAt, lastMessageAt, messageCount, state: stateFrom(stored.tail).state ?? null };
  };

export interface Which {
  readonly kind?: string;
  /** Only those that come later in that order. */
  readonly after?: ActorId;
  /** As many are asked for at once. */
  readonly page?: number;
  /** Told of those whose rows cannot be read. */
  readonly damaged?: Damaged;
}

/** Every actor, page by page, in the order of kinds, then of keys. */
export async function* actorsOf(
  store: Pick<Store, "list">,
  { kind, after, page: size = PAGE, damaged }: Which = {},
): AsyncGenerator<Change> {
  for (;;) {
    const query = { limit: size, ...omitUndefined({ kind, after }) };
    const page = await store.list(query, damaged);
    yield* page;
    after = page.at(-1)?.id;
    if (page.length < size) return;
  }
}

/** Every event after `afterSeq`, page by page. */
export async function* eventsOf(store: Pick<Store, "events">, id: ActorId, afterSeq = 0): AsyncGenerator<ChainEvent> {
  let after = afterSeq;
  for (;;) {
    const page = await store.events(id, after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after += page.length;
  }
}

/** The chain up to `seq` (default: all). Throws when there is none. */
export const chainOf = async (
  store: Pick<Reader, "events" | "place">,
  id: ActorId,
  seq = Number.POSITIVE_INFINITY,
): Promise<readonly ChainEvent[]> => {
  const events: ChainEvent[] = [];
  for await (const event of eventsOf(store, id)) {
    if (events.length >= seq) break;
    events.push(event);
  }
  if (events.length === 0) throw noActor(id, store.place);
  return events;
};

/** Throws where what an event left behind, the one at that place of them, was erased on purpose: nothing is corrupt. */
export const refuseErased = (id: ActorId, events: readonly ChainEvent[], place: number, seq = place): void => {
  if (events[place - 1]?.body !== undefined) return;
  throw notFound(`The body of event ${seq} of ${id} was erased, and the state there with it: "troupe chain ${id}" shows what is left.`);
};
