import type { TransferOptions } from "../hosts/restate/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import type { Place } from "./cluster-place.ts";
import { clusterSecretIfAny } from "./cluster/secret.ts";

/** Undefined: actors are in a data directory. Throws `USAGE`. */
export const transferOf = ({ engine, secretFile }: Place): TransferOptions | undefined => {
  if (engine === undefined) return undefined;
  const secret = clusterSecretIfAny(process.env, secretFile);
  return { ...engine, ...omitUndefined({ secret }) };
};
