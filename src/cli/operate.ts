import type { ActorId, Behaviour, Json, JsonObject, Store } from "../core/contract/index.ts";
import type { LocalEngine } from "../core/engine/index.ts";
import { editsOff, engineOperations, type Operate, storeOperations, type StoreOperatingOptions } from "../bridges/operate/index.ts";
import type { ControlHandler } from "./control.ts";
import { prunedJson, pruningIn } from "./prune-pages.ts";
import { textOr } from "./text-or.ts";
import { inCommandWords } from "./command-words.ts";
import { signingKeyIn } from "./signing-key.ts";

export interface Operating {
  /** The data directory, for messages. */
  readonly directory?: string;
  readonly engine: LocalEngine;
  /** Those that the engine runs. */
  readonly kinds: readonly Pick<Behaviour, "kind" | "policy" | "misfits">[];
  readonly store: Store;
  /** States may be edited. */
  readonly edit: boolean;
  /** Bodies of these actors were erased, or they were removed: what was made of their chains is to follow. */
  readonly erased: (ids: readonly ActorId[]) => void;
}

/** What commands may ask of the process that holds the directory. */
export const operate = (operating: Operating): ControlHandler => {
  const operations = engineOperations({ ...operating, signingKey: signingKeyIn });
  return spoken(operating.directory, async (operation, args) => {
    if (operation === "edit" && !operating.edit) throw editsOff();
    if (operation !== "prune") return await operations(operation, args);
    const pruned = await operating.engine.prune(pruningIn(args));
    operating.erased(pruned.ended.map(({ id }) => id));
    return prunedJson(pruned);
  });
};

interface OperatingOnStore extends Omit<StoreOperatingOptions, "signingKey"> {
  readonly directory: string;
}

/** The operations that need no module. */
export const operateOnStore = (operating: OperatingOnStore): ControlHandler =>
  spoken(operating.directory, storeOperations({ ...operating, signingKey: signingKeyIn }));

/** Failures use the words of commands. */
const spoken =
  (directory: string | undefined, operations: Operate): ControlHandler =>
  async (operation: string, args: JsonObject): Promise<Json> => {
    try {
      return await operations(operation, args);
    } catch (error) {
      throw inCommandWords(error, operation, textOr(args["actor"], ""), directory);
    }
  };
