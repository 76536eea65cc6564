// Owns: which claims of a token or an API key reach `viewer.claims`, and their bounds. Does not own: verifying tokens (verify-token.ts).
import { isJsonObject, type Json, type JsonObject, TroupeError } from "../../../core/contract/index.ts";
import { freezeDeep, isTexts, setOwn } from "../../../core/contract/internal.ts";

const CLAIMS_MAX = 32;
const NAME_MAX = 256;
const BYTES_MAX = 8_192;
const DEPTH_MAX = 16;

/** Too many claims, or too large or too deeply nested ones. */
export const EXCESSIVE = `are more than ${CLAIMS_MAX}, larger than ${BYTES_MAX} bytes or nested deeper than ${DEPTH_MAX}`;

/** Throws `BAD_OPTION` unless these can be names of claims. */
export function checkClaimNames(names: readonly string[]): void {
  if (isTexts(names) && names.length <= CLAIMS_MAX && names.every((name) => name !== "" && name.length <= NAME_MAX)) return;
  throw new TroupeError("BAD_OPTION", `claims names members of a token, at most ${CLAIMS_MAX}: claims: ["roles", "tenant"].`);
}

/** A frozen copy of the named claims. Undefined: there are none of them. "excessive": they exceed the bounds. */
export function claimsIn(payload: object, names: readonly string[]): JsonObject | undefined | "excessive" {
  const named: Record<string, unknown> = {};
  for (const name of names) if (Object.hasOwn(payload, name)) setOwn(named, name, Reflect.get(payload, name));
  if (Object.keys(named).length > CLAIMS_MAX || !isShallow(named, 0)) return "excessive";
  const text = JSON.stringify(named);
  if (Buffer.byteLength(text) > BYTES_MAX) return "excessive";
  const copy: Json = JSON.parse(text);
  return isJsonObject(copy) && Object.keys(copy).length > 0 ? freezeDeep(copy) : undefined;
}

/** Checked before the text is made, since that recurses. A cycle ends at the depth limit. */
function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth <= DEPTH_MAX && Object.values(value).every((item) => isShallow(item, depth + 1));
}
