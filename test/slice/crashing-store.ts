import type { Store } from "../../src/core/contract/index.ts";
import { StoreError } from "../../src/core/contract/index.ts";

/** What happens to a store at its nth write. */
export interface StoreFault {
  readonly at: number;
  /** `dies`: the process ends, before or after the write. `fails`: an error, and nothing is stored. */
  readonly how: "dies before" | "dies after" | "fails";
}

export interface CrashingStore {
  readonly store: Store;
  readonly died: Promise<"died">;
  /** Ends the process now. */
  readonly kill: () => void;
}

/** The store of a process that may die: after that, no request is ever answered. */
export function crashingStore(store: Store, fates: readonly StoreFault[]): CrashingStore {
  let writes = 0;
  let dead = false;
  const { promise: died, resolve: die } = Promise.withResolvers<"died">();
  const never = new Promise<never>(() => undefined);
  const kill = (): Promise<never> => {
    dead = true;
    die("died");
    return never;
  };
  const writing = async <T>(write: () => Promise<T>): Promise<T> => {
    if (dead) return never;
    writes += 1;
    const fate = fates.find(({ at }) => at === writes);
    if (fate?.how === "dies before") return kill();
    if (fate?.how === "fails") throw new StoreError("STORE_IO", "The disk failed.");
    const result = await write();
    if (fate?.how === "dies after") return kill();
    return dead ? never : result;
  };
  const reading = async <T>(read: () => Promise<T>): Promise<T> => {
    if (dead) return never;
    const result = await read();
    return dead ? never : result;
  };
  return {
    died,
    kill: () => void kill(),
    store: {
      load: (id) => reading(() => store.load(id)),
      commit: (id, entry) => writing(() => store.commit(id, entry)),
      enqueue: (message) => writing(() => store.enqueue(message)),
      settle: (id, how, more) => writing(() => store.settle(id, how, more)),
      remembered: (id, key) => reading(() => store.remembered(id, key)),
      claimants: (key) => reading(() => store.claimants(key)),
      events: (id, after, limit) => reading(() => store.events(id, after, limit)),
      event: (id) => reading(() => store.event(id)),
      caused: (id) => reading(() => store.caused(id)),
      erase: (id, before) => writing(() => store.erase(id, before)),
      due: (...args) => reading(() => store.due(...args)),
      undelivered: (...args) => reading(() => store.undelivered(...args)),
      letters: (limit, damaged) => reading(() => store.letters(limit, damaged)),
      letter: (id, fate) => writing(() => store.letter(id, fate)),
      children: (id) => reading(() => store.children(id)),
      list: (query) => reading(() => store.list(query)),
      count: (query) => reading(() => store.count(query)),
      find: (uid) => reading(() => store.find(uid)),
      ended: (query) => reading(() => store.ended(query)),
      remove: (ended) => writing(() => store.remove(ended)),
      async [Symbol.asyncDispose]() {},
    },
  };
}
