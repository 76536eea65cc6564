import type { ActorId } from "../core/contract/index.ts";
import type { ActorReader } from "../bridges/operate/index.ts";
import type { Place } from "./cluster-place.ts";
import { DataDirectory } from "./data-directory.ts";
import { notesLoss } from "./noted-loss.ts";
import { transferOf } from "./transfer-options.ts";

/** What there is to read of actors, wherever they are. */
export interface Reader extends Pick<ActorReader, "list" | "events" | "event" | "caused" | "state">, AsyncDisposable {
  readonly letters: NonNullable<ActorReader["letters"]>;
  /** Where it reads: a directory, or a server's address. */
  readonly place?: string;
  /** Undefined: there is no such actor. */
  load(id: ActorId): Promise<object | undefined>;
}

/** To read only: works beside running servers. `directory`: there the actors are, if not on a Restate server. */
export const openToRead = async (place: Place): Promise<{ readonly store: Reader; readonly directory?: DataDirectory }> => {
  const engine = transferOf(place);
  if (engine !== undefined) return { store: await (await import("./cluster-reader.ts")).readCluster(engine) };
  const directory = new DataDirectory(place.data);
  directory.requireActors();
  const { sqliteStore } = await import("../core/store/index.ts");
  const store = sqliteStore({
    directory: directory.path,
    readOnly: true,
    ...notesLoss,
  });
  // What reads chains is loaded when a state is read: a list needs none of it.
  const state: Reader["state"] = async (id) => (await import("../bridges/operate/index.ts")).storeReader(store).state(id);
  return { store: Object.assign(store, { state, place: directory.path }), directory };
};
