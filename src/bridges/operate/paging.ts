// Owns: reading all actors, or all events of one, page by page. Does not own: what is made of them.

import type { ActorId, Change, ChainEvent, Damaged, Store } from "../../core/contract/index.ts";
import { EventPages, omitUndefined } from "../../core/contract/internal.ts";

const PAGE = 1_000;
const MOST_EVENTS = 100;

export interface Which {
  readonly kind?: string;
  /** Only actors after this one. */
  readonly after?: ActorId;
  /** The number of actors that are read at once. */
  readonly page?: number;
  /** Called for actors whose rows cannot be read. */
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

/** Between pages: stores answer synchronously, and a long read would block the event loop. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Every event after `afterSeq`, page by page. */
export async function* eventsOf(store: Pick<Store, "events">, id: ActorId, afterSeq = 0): AsyncGenerator<ChainEvent> {
  const pages = new EventPages(MOST_EVENTS);
  for (let after = afterSeq; ;) {
    const { size } = pages;
    const page = await store.events(id, after, size);
    yield* page;
    if (page.length < size) return;
    after += size;
    pages.read(page);
  }
}
