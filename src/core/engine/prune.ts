// Owns: which actors that stopped long ago are removed. Does not own: removing one (core/store/purge.ts).
import { type ActorId, type Ended, type EndedPage, type Store, StoreError } from "../contract/index.ts";
import { checkWholeNumber } from "../contract/internal.ts";

/** How long keyed replies are remembered by default. */
export const KEY_MS = 24 * 3_600_000;

/** Which stopped actors are pruned. */
export interface Pruning {
  /** Those that stopped before this time, in milliseconds since 1970. */
  readonly before: number;
  readonly kind?: string;
  /** `next` of the page before this one. */
  readonly after?: string;
  /** How many stopped actors are examined. Default 200. */
  readonly limit?: number;
}

/** What `prune` removed, or would remove. */
export interface Pruned extends EndedPage {
  /** Actors whose rows cannot be read. They are not removed. */
  readonly damaged: readonly ActorId[];
}

/** What `prune` works on. */
export interface PruneHost {
  readonly store: Pick<Store, "ended" | "children">;
  readonly now: number;
  /** How long a keyed call's reply is remembered. Default 24 h. */
  readonly keyMs?: number;
  /** Returns false if that event is no longer the actor's last. Absent: nothing is removed. */
  readonly remove?: (ended: Ended) => Promise<boolean>;
}

/**
 * Removes actors that stopped long ago or, without `remove`, lists them. Actors whose keyed replies may still be requested stay (C4),
 * and so do those with living children, since their stop is not complete.
 */
export async function prune(
  { store, now, keyMs = KEY_MS, remove }: PruneHost,
  { before, limit = 200, ...which }: Pruning,
): Promise<Pruned> {
  checkWholeNumber("limit", limit);
  const page = await store.ended({ ...which, before: Math.min(before, now - keyMs), limit });
  const ended: Ended[] = [];
  const damaged: ActorId[] = [];
  for (const one of page.ended)
    try {
      if ((await store.children(one.id)).length === 0 && (remove === undefined || (await remove(one)))) ended.push(one);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "STORE_CORRUPT") throw error;
      damaged.push(one.id);
    }
  return { ended, damaged, ...(page.next === undefined ? {} : { next: page.next }) };
}
