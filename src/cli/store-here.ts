import type { JsonObject, Json } from "../core/contract/index.ts";
import { sqliteStore } from "../core/store/index.ts";
import type { DataDirectory } from "./data-directory.ts";
import { noActor } from "./exit-code.ts";
import { notesLoss } from "./noted-loss.ts";
import { openWhenFree } from "./open-when-free.ts";
import { operateOnStore } from "./operate.ts";

/** One operation that needs no module, by the store alone: no code of an actor is loaded, and nothing that waits is delivered. */
export const storeHere = async (directory: DataDirectory, op: string, args: JsonObject): Promise<Json> => {
  await using store = await openWhenFree(() => sqliteStore({ directory: directory.path, ...notesLoss }), directory.control);
  const perform = operateOnStore({
    directory: directory.path,
    engine: {
      async append(id, make) {
        const stored = await store.load(id);
        if (stored === undefined) throw noActor(id, directory.path);
        const entry = make(stored);
        await store.commit(id, entry);
        return entry;
      },
      letter: (id, fate) => store.letter(id, fate),
    },
    store,
    erased: () => directory.dropSearch(),
  });
  return await perform(op, args);
};
