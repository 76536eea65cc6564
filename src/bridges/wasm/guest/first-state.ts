import { isJsonObject } from "../../../core/contract/index.ts";
import { jsonOf } from "../host/json-text.ts";

/** The state a guest begins from: its manifest's, and what its starter gave over it. */
export function firstState(base: Uint8Array | undefined, given: Uint8Array | undefined): Uint8Array | undefined {
  if (base === undefined || given === undefined) return given ?? base;
  const [under, over] = [jsonOf(base), jsonOf(given)];
  return isJsonObject(under) && isJsonObject(over) ? new Uint8Array(Buffer.from(JSON.stringify({ ...under, ...over }))) : given;
}
