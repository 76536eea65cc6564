import { clusterReader } from "../bridges/operate/index.ts";
import { RestateOperator, type TransferOptions } from "../hosts/restate/index.ts";
import { RestateAdmin } from "./cluster/restate-admin.ts";
import { notFound } from "./exit-code.ts";
import type { Reader } from "./reading.ts";

/** Throws `RESTATE_AWAY`, and `NOT_FOUND` where no kinds are registered. */
export const openOperator = async (place: TransferOptions): Promise<RestateOperator> => {
  // Says in full what is wrong with an address.
  await new RestateAdmin(place.admin).get("/services");
  const operator = await RestateOperator.open(place);
  if (operator.kinds.length === 0)
    throw notFound(
      `The Restate server at ${place.ingress} knows no kinds of actors: start nodes, then run "troupe cluster register <url>".`,
    );
  return operator;
};

/** Asks the nodes, whichever they are. */
export const readCluster = async (place: TransferOptions): Promise<Reader> => {
  const operator = await openOperator(place);
  return {
    ...clusterReader(operator),
    letters: (limit, damaged) => operator.letters(limit, damaged),
    place: place.ingress,
    load: (id) => operator.read(id),
    [Symbol.asyncDispose]: async () => undefined,
  };
};
