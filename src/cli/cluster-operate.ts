import { type JsonObject, type Json, StoreError } from "../core/contract/index.ts";
import { clusterOperations } from "../bridges/operate/index.ts";
import type { TransferOptions } from "../hosts/restate/index.ts";
import { textOr } from "./text-or.ts";
import { NAME_SECRET } from "./cluster-place.ts";
import { openOperator } from "./cluster-reader.ts";
import { inCommandWords } from "./command-words.ts";
import { usage } from "./exit-code.ts";

/** One operation that writes, by the nodes of a cluster. */
export const operateCluster = async (place: TransferOptions, operation: string, args: JsonObject): Promise<Json> => {
  if (operation === "fork" || operation === "revert" || operation === "checkpoint")
    throw usage(
      `"troupe ${operation}" is for a data directory: on a cluster, turns alone write chains. Export it, import that into a directory, and do it there.`,
    );
  // Only the kind's code knows whether they are, and then they must not lie on the server's disk.
  if (operation === "call" && place.secret === undefined)
    throw usage(
      "Arguments may be secret, so a call is sealed with what the nodes share: name it with --secret-file, or set TROUPE_CLUSTER_SECRET.",
    );
  const operator = await openOperator(place);
  try {
    return await clusterOperations(operator)(operation, args);
  } catch (error) {
    if (error instanceof StoreError && error.code === "STORE_CORRUPT" && place.secret === undefined)
      throw usage(`The letter cannot be read: ${NAME_SECRET}`);
    throw inCommandWords(error, operation, textOr(args["actor"], ""));
  }
};
