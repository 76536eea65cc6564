// Owns: reading and operating on the actors of a cluster. Does not own: those of a data directory (open-store.ts, operations.ts).
import { clusterOperations, clusterReader } from "../bridges/operate/index.ts";
import { type Json, type JsonObject, StoreError } from "../core/contract/index.ts";
import { RestateOperator, type TransferOptions } from "../hosts/restate/index.ts";
import { SECRET_HINT } from "./actor-options.ts";
import { RestateAdmin } from "./cluster/restate-admin.ts";
import { rewordForCommands, notFound, usage } from "./command-error.ts";
import type { Reader } from "./open-store.ts";
import { textOrElse } from "./output.ts";

/** Throws `RESTATE_AWAY`, and `NOT_FOUND` where no kinds are registered. */
export const openOperator = async (place: TransferOptions): Promise<RestateOperator> => {
  // Explains what is wrong with an address better than the operator does.
  await new RestateAdmin(place.admin).get("/services");
  const operator = await RestateOperator.open(place);
  if (operator.kinds.length === 0)
    throw notFound(
      `The Restate server at ${place.ingress} knows no kinds of actors: start nodes, then run "troupe cluster register <url>".`,
    );
  return operator;
};

/** Reads the actors of a cluster through any of its nodes. */
export const openClusterReader = async (place: TransferOptions): Promise<Reader> => {
  const operator = await openOperator(place);
  return {
    ...clusterReader(operator),
    letters: (...query) => operator.letters(...query),
    place: place.ingress,
    load: (id) => operator.read(id),
    [Symbol.asyncDispose]: async () => undefined,
  };
};

/** One operation that writes, by the nodes of a cluster. */
export const runOnCluster = async (place: TransferOptions, operation: string, args: JsonObject): Promise<Json> => {
  if (operation === "fork" || operation === "revert" || operation === "checkpoint")
    throw usage(
      `"troupe ${operation}" is for a data directory: on a cluster, turns alone write chains. Export it, import that into a directory, and do it there.`,
    );
  // Only the kind's code knows which arguments are secret, and secrets must not be stored on the Restate server's disk.
  if (operation === "call" && place.secret === undefined)
    throw usage(
      "Arguments may be secret, so a call is sealed with what the nodes share: name it with --secret-file, or set TROUPE_CLUSTER_SECRET.",
    );
  const operator = await openOperator(place);
  try {
    return await clusterOperations(operator)(operation, args);
  } catch (error) {
    if (error instanceof StoreError && error.code === "STORE_CORRUPT" && place.secret === undefined)
      throw usage(`The letter cannot be read: ${SECRET_HINT}`);
    throw rewordForCommands(error, operation, textOrElse(args["actor"], ""));
  }
};
