import type { ActorId } from "./actor.ts";
import type { Entry, Store } from "./store.ts";

/** Whoever waits for a commit: told once what became of it, and never before what handed it over has returned. Neither throws. */
export interface CommitEnds {
  kept(): void;
  lost(error: unknown): void;
}

/** A commit without a promise. */
export type HandOver = (id: ActorId, entry: Entry, ends: CommitEnds) => void;

// By the function, not by a member of the store: whoever wraps a store and gives it another `commit` is asked by that one.
const handingOver = new WeakMap<object, HandOver>();

/** A store's `commit`, made of a way that promises nothing. Gives it back. */
export function promising(handOver: HandOver): Store["commit"] {
  const commit: Store["commit"] = (id, entry) =>
    new Promise((kept, lost) => {
      handOver(id, entry, { kept, lost });
    });
  handingOver.set(commit, handOver);
  return commit;
}

/** How to hand an entry over to that store. */
export function handOverTo(store: Pick<Store, "commit">): HandOver {
  return (
    handingOver.get(store.commit) ??
    ((id, entry, ends) => {
      let committed: Promise<void>;
      try {
        committed = store.commit(id, entry);
      } catch (error) {
        committed = Promise.reject(error instanceof Error ? error : new Error(String(error)));
      }
      committed.then(
        () => ends.kept(),
        (error: unknown) => ends.lost(error),
      );
    })
  );
}
