// LocalEngine passes the suite of indexes, over both stores.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineIndexSuite, type IndexedKinds, type OpenedIndexes } from "../../testing/conformance/index.ts";
import type { Store } from "../contract/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { LocalEngine } from "./index.ts";

/** Opens and closes the store of one engine after the other. */
interface Place {
  open(): Store;
  close(store: Store): Promise<void>;
  end(): void;
}

async function opened(kinds: IndexedKinds, place: Place): Promise<OpenedIndexes> {
  const start = async (given: IndexedKinds) => {
    const store = place.open();
    return { store, engine: await LocalEngine.start({ ...given, store, onFault: () => undefined }) };
  };
  let current = await start(kinds);
  const close = async (): Promise<void> => {
    await current.engine.close();
    await place.close(current.store);
  };
  return {
    engine: current.engine,
    async reopen(other) {
      await close();
      current = await start(other);
      return current.engine;
    },
    async [Symbol.asyncDispose]() {
      await close();
      place.end();
    },
  };
}

engineIndexSuite("indexes of LocalEngine on SQLite", (kinds) => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-indexes-"));
  return opened(kinds, {
    open: () => sqliteStore({ directory }),
    close: async (store) => store[Symbol.asyncDispose](),
    end: () => rmSync(directory, { recursive: true, force: true }),
  });
});

engineIndexSuite("indexes of LocalEngine on a memory store", (kinds) => {
  const store = memoryStore();
  // Its actors end with it.
  return opened(kinds, { open: () => store, close: async () => undefined, end: () => undefined });
});
