// Owns: what operators may ask of a cluster, by name and arguments. Does not own: how it is reached (hosts/restate).

import {
  type ActorId,
  type Engine,
  type Json,
  type JsonObject,
  type Outgoing,
  type Reply,
  type Snapshot,
  type StoredIndex,
} from "../../core/contract/index.ts";
import { kindOf } from "../../core/contract/internal.ts";
import { badUsage, notFound } from "./operation-error.ts";
import { actorIn, messageIn, type Operate, operatorIn, refuseUnstarted, settleLetter, textIn } from "./operations.ts";

/** The part of a cluster's operator that is used: of `RestateOperator`. */
export interface OperableCluster extends Pick<Engine, "stop" | "restart"> {
  /** The kinds that its nodes serve. */
  readonly kinds: readonly string[];
  read(id: ActorId): Promise<Snapshot | undefined>;
  call(message: Outgoing): Promise<Reply>;
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean>;
  /** The indexes that nodes have declared. */
  indexes(): Promise<readonly StoredIndex[]>;
  /** Done by a node, which has the code. */
  index(name: string, operation: "rebuild" | "verify"): Promise<Json>;
}

/** The operations of a cluster, done by its nodes. */
export const clusterOperations =
  (cluster: OperableCluster): Operate =>
  async (operation, args) => {
    if (operation === "letter") return await settleLetter(cluster, args);
    if (operation === "index-rebuild") return await onIndex(cluster, "rebuild", args);
    if (operation === "index-verify") return await onIndex(cluster, "verify", args);
    return await onActor(cluster, operation, args);
  };

async function onIndex(cluster: OperableCluster, operation: "rebuild" | "verify", args: JsonObject): Promise<Json> {
  const name = textIn(args, "index");
  if (!(await cluster.indexes()).some((index) => index.name === name))
    throw notFound(`There is no index ${name} on this cluster: nodes make those that their modules export.`);
  return await cluster.index(name, operation);
}

async function onActor(cluster: OperableCluster, operation: string, args: JsonObject): Promise<Json> {
  const id = actorIn(args);
  const kind = kindOf(id);
  if (!cluster.kinds.includes(kind))
    throw notFound(`No node that is registered serves the kind "${kind}": there are ${cluster.kinds.join(", ")}.`);
  // A node that is away is noticed here: what is sent to it would wait for its return.
  const found = await cluster.read(id);
  switch (operation) {
    case "call":
      if (args["start"] === undefined) refuseUnstarted(id, found);
      return { ...(await cluster.call(messageIn(args))) };
    case "stop":
      await cluster.stop(id, textIn(args, "reason"), operatorIn(args));
      return null;
    case "restart":
      await cluster.restart(id);
      return null;
    default:
      throw badUsage(`A cluster has no operation "${operation}".`);
  }
}
