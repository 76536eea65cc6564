import { type JsonObject, type Json, StoreError } from "../core/contract/index.ts";
import { kindOf, omitUndefined } from "../core/contract/internal.ts";
import type { RestateOperator, TransferOptions } from "../hosts/restate/index.ts";
import { actorId } from "./actor-id.ts";
import { textOr } from "./text-or.ts";
import { NAME_SECRET } from "./cluster-place.ts";
import { openOperator } from "./cluster-reader.ts";
import { inCommandWords } from "./command-words.ts";
import { notFound, usage } from "./exit-code.ts";
import { refuseUnstarted, scopesIn } from "./operate.ts";

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
  if (args["claims"] !== undefined)
    throw usage("--claim is for a data directory: only the code of the actor's kind knows its roles. Call a node that serves it instead.");
  const operator = await openOperator(place);
  const actor = textOr(args["actor"], "");
  try {
    return operation === "letter" ? await settle(operator, args) : await act(operator, operation, args);
  } catch (error) {
    if (error instanceof StoreError && error.code === "STORE_CORRUPT" && place.secret === undefined)
      throw usage(`The letter cannot be read: ${NAME_SECRET}`);
    throw inCommandWords(error, operation, actor);
  }
};

const settle = async (operator: RestateOperator, args: JsonObject): Promise<null> => {
  const id = textOr(args["id"], "");
  if (!(await operator.letter(id, args["fate"] === "replay" ? "replay" : "drop")))
    throw notFound(`There is no dead letter ${id}; "troupe letters" lists them.`);
  return null;
};

const act = async (operator: RestateOperator, operation: string, args: JsonObject): Promise<Json> => {
  const id = actorId(textOr(args["actor"], ""));
  const kind = kindOf(id);
  if (!operator.kinds.includes(kind))
    throw notFound(`No node that is registered serves the kind "${kind}": there are ${operator.kinds.join(", ")}.`);
  // A node that is away is noticed here: what is sent to it would wait for its return.
  const found = await operator.read(id);
  switch (operation) {
    case "call": {
      const start = args["start"];
      if (start === undefined) refuseUnstarted(id, found);
      return {
        ...(await operator.call({
          to: id,
          action: textOr(args["action"], ""),
          args: args["args"] ?? {},
          viewer: { principal: textOr(args["as"], "local"), self: id, scopes: scopesIn(args) },
          ...omitUndefined({ start }),
        })),
      };
    }
    case "stop":
      await operator.stop(id, textOr(args["reason"], ""));
      return null;
    case "restart":
      await operator.restart(id);
      return null;
    default:
      throw usage(`A cluster has no operation "${operation}".`);
  }
};
