import type { ActorId, Change, ChainEvent, Store } from "../contract/index.ts";
import { DataDirectory } from "./data-directory.ts";
import { notFound } from "./exit-code.ts";

const PAGE = 1_000;

/** The store, to read only: works beside a running server. */
export const openToRead = async (data: string): Promise<{ readonly store: Store; readonly directory: DataDirectory }> => {
  const directory = new DataDirectory(data);
  if (!directory.holdsActors()) throw directory.noActors();
  const { sqliteStore } = await import("../store/index.ts");
  return { store: sqliteStore({ directory: directory.path, readOnly: true }), directory };
};

/** Every actor, page by page, in the order of kinds, then of keys. */
export async function* actorsOf(store: Store, kind?: string): AsyncGenerator<Change> {
  let after: ActorId | undefined;
  for (;;) {
    const page = await store.list({
      limit: PAGE,
      ...(kind === undefined ? {} : { kind }),
      ...(after === undefined ? {} : { after }),
    });
    yield* page;
    after = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}

/** Every event after `afterSeq`, page by page. */
export async function* eventsOf(store: Store, id: ActorId, afterSeq = 0): AsyncGenerator<ChainEvent> {
  let after = afterSeq;
  for (;;) {
    const page = await store.events(id, after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after += page.length;
  }
}

/** The chain up to `seq` (default: all). Throws when there is none. */
export const chainOf = async (store: Store, id: ActorId, seq = Number.POSITIVE_INFINITY): Promise<readonly ChainEvent[]> => {
  const events: ChainEvent[] = [];
  for await (const event of eventsOf(store, id)) {
    if (events.length >= seq) break;
    events.push(event);
  }
  if (events.length === 0) throw notFound(`There is no actor ${id}; "troupe actors" lists them.`);
  return events;
};
