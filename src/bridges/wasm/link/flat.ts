import { codecOf } from "../abi/compile.ts";
import type { CoreSignature } from "../binary/core-types.ts";
import type { WitFunction } from "../wit.ts";

/** Of the canonical ABI: with more core values than these, they go by memory. */
const MAX_PARAMS = 16;
const MAX_RESULTS = 1;

function flat({ params, result }: WitFunction): CoreSignature {
  const values = Object.values(params).flatMap((type) => codecOf(type).flat);
  return { params: values.length > MAX_PARAMS ? ["i32"] : values, results: result === undefined ? [] : codecOf(result).flat };
}

/** Of the core function that a component exports as this one. */
export function liftedSignature(type: WitFunction): CoreSignature {
  const { params, results } = flat(type);
  return { params, results: results.length > MAX_RESULTS ? ["i32"] : results };
}

/** Of the core function that a component imports for this one: what is more than one result goes where its last parameter points. */
export function loweredSignature(type: WitFunction): CoreSignature {
  const { params, results } = flat(type);
  return results.length > MAX_RESULTS ? { params: [...params, "i32"], results: [] } : { params, results };
}

export const sameCoreSignature = (one: CoreSignature, other: CoreSignature | undefined): boolean =>
  other !== undefined && one.params.join() === other.params.join() && one.results.join() === other.results.join();
