import type { JsonObject, Json } from "../core/contract/index.ts";
import { LocalEngine } from "../core/engine/index.ts";
import { sqliteStore } from "../core/store/index.ts";
import type { DataDirectory } from "./data-directory.ts";
import { GuestHouse } from "./guest-house.ts";
import { notesLoss } from "./noted-loss.ts";
import { operate } from "./operate.ts";

/** One operation about guests, by an engine opened on the directory for just this. */
export const guestsHere = async (directory: DataDirectory, op: string, args: JsonObject): Promise<Json> => {
  await using house = new GuestHouse(directory.path, undefined, notesLoss);
  await using store = sqliteStore({ directory: directory.path, ...notesLoss });
  await using engine = await LocalEngine.start({ kinds: [house.guests.kind], store });
  house.open(engine, directory.path);
  return (
    (await house.operate(op, args)) ??
    (await operate({
      directory: directory.path,
      engine,
      kinds: [house.guests.kind],
      store,
      edit: true,
      erased: () => directory.dropSearch(),
    })(op, args))
  );
};
