// Owns: how the suite of stores opens a store for each test. Does not own: the tests (store-suite.ts).
import type { ChainEvent, Clock, Store } from "../../core/contract/index.ts";

/** A place where actors are stored, which a test can open repeatedly. */
export interface StorePlace extends Disposable {
  open(clock: Clock): Store | Promise<Store>;
}

/** The store that the suite tests. */
export interface StoreSuiteOptions {
  /** What was committed is there when the place is opened again. */
  readonly durable: boolean;
  readonly place: () => StorePlace;
}

/** A clock that a test advances. */
export class StillClock implements Clock {
  #now = 10_000;
  now(): number {
    return this.#now;
  }
  after(): () => void {
    return () => undefined;
  }
  pass(ms: number): void {
    this.#now += ms;
  }
}

export const ids = (events: readonly ChainEvent[]): readonly string[] => events.map((event) => event.id);
export const conflict = { name: "StoreError", code: "STORE_CONFLICT" };

/** Registers a test with a store of its own. */
export interface StoreTests {
  readonly it: (title: string, run: (store: Store, clock: StillClock) => Promise<void>) => void;
  /** The second function gets the store opened again, if it is durable. */
  readonly survives: (title: string, before: (store: Store) => Promise<void>, after: (store: Store) => Promise<void>) => void;
}

export function storeTests(options: StoreSuiteOptions): StoreTests {
  const { test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (store: Store, clock: StillClock) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      const clock = new StillClock();
      await using store = await place.open(clock);
      await run(store, clock);
    });
  };
  const survives = (title: string, before: (store: Store) => Promise<void>, after: (store: Store) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      const clock = new StillClock();
      {
        await using store = await place.open(clock);
        await before(store);
        if (!options.durable) return await after(store);
      }
      await using store = await place.open(clock);
      await after(store);
    });
  };
  return { it, survives };
}
