import { StoreError, type ActorId, type Ended, type EndedPage, type Store } from "../contract/index.ts";

/** How long keyed replies are given again, where nobody says. */
export const KEY_MS = 24 * 3_600_000;

/** Which actors that have ended are pruned. */
export interface Pruning {
  /** Ended earlier than this, in milliseconds since 1970. */
  readonly before: number;
  readonly kind?: string;
  /** Where the page before this one said to go on. */
  readonly after?: string;
  /** So many that have ended are looked at. Default 200. */
  readonly limit?: number;
}

export interface Pruned extends EndedPage {
  /** Those whose rows cannot be read: they stay. */
  readonly damaged: readonly ActorId[];
}

/** What is pruned of one page. */
export interface PruneHost {
  readonly store: Pick<Store, "ended" | "children">;
  readonly now: number;
  /** For so long a keyed call's reply is given again. Default 24 h. */
  readonly keyMs?: number;
  /** False: it has not ended with that event any more. Absent: nothing is removed. */
  readonly remove?: (ended: Ended) => Promise<boolean>;
}

/**
 * Takes actors away that ended long ago, or, without `remove`, tells which. C4: one whose replies may still be asked for stays;
 * and so does one whose children live, since its end is not over.
 */
export async function prune(
  { store, now, keyMs = KEY_MS, remove }: PruneHost,
  { before, limit = 200, ...which }: Pruning,
): Promise<Pruned> {
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
