import type { Bag, Catalogue, Log, TroupeError } from "../../core/contract/index.ts";
import { Fault, faultOf, inLog } from "./errors.ts";

/** What should be in a list and is not: a sentence for each. */
const MISSING_META = "troupe/missing";

const logged = new WeakMap<Log, WeakSet<TroupeError>>();

// What no client could use is its author's concern: to a client it is not there.
const isFault = ({ code }: TroupeError): boolean => code !== "BAD_NAME";

/** Says in a result, and once in the log, that a list is not whole. Undefined: it is. */
export function tellMissing({ missing }: Catalogue, log: Log): Bag | undefined {
  if (missing === undefined) return undefined;
  const known = logged.get(log) ?? new WeakSet();
  logged.set(log, known);
  for (const fault of missing) {
    if (known.has(fault)) continue;
    known.add(fault);
    log("error", { event: "offers-missing", ...inLog(fault) });
  }
  const sentences = missing.filter(isFault).map((fault) => faultOf(fault).message);
  return sentences.length === 0 ? undefined : { [MISSING_META]: sentences };
}

/** What is not found may belong to a source that cannot be asked now: then it is not unknown, and its caller hears why. */
export function orMissing<T>({ missing }: Catalogue, find: () => T): T {
  try {
    return find();
  } catch (error) {
    const isUnknown = error instanceof Fault && (error.kind === "UNKNOWN_OFFER" || error.kind === "RESOURCE_NOT_FOUND");
    throw isUnknown ? (missing?.find(isFault) ?? error) : error;
  }
}
