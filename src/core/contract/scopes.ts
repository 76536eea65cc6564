import { TroupeError } from "./errors.ts";
import { type Bag, isBag } from "./json.ts";

/** In the `_meta` of an offer: what its caller's token must allow, beyond the offer's being there. */
const SCOPES = "troupe/scopes";

/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const NONE: readonly string[] = Object.freeze([]);
/** Of what is no list of scopes: no token has it, since it is none. Who meant to shut an offer has not opened it. */
const NOBODYS: readonly string[] = Object.freeze(["(its definition names none that can be had)"]);

export const isScope = (value: unknown): value is string => typeof value === "string" && SCOPE.test(value);

const areScopes = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isScope);

/** The `_meta` of an offer, with what its caller's token must allow. */
export const withScopes = (meta: Bag | undefined, scopes: readonly string[] | undefined): Bag | undefined =>
  scopes === undefined ? meta : { ...meta, [SCOPES]: scopes };

/** What an offer of that definition asks of its caller. */
export function scopesOf(definition: Bag): readonly string[] {
  const meta = definition["_meta"];
  if (!isBag(meta) || !Object.hasOwn(meta, SCOPES)) return NONE;
  const wanted: unknown = meta[SCOPES];
  return areScopes(wanted) ? [...new Set(wanted)] : NOBODYS;
}

/** Those of them that a caller lacks. */
export const lacking = (wanted: readonly string[], held: readonly string[]): readonly string[] =>
  wanted.length === 0 ? wanted : wanted.filter((one) => !held.includes(one));

/** What a caller without them is told. */
export const needsScopes = (scopes: readonly string[]): string => `This needs the scope ${scopes.join(" ")}; sign in again with it.`;

/** Throws `BAD_DEFINITION` where scopes are given and are none. */
export function checkScopes(meta: unknown, where: string): void {
  if (typeof meta !== "object" || meta === null || !Object.hasOwn(meta, SCOPES)) return;
  if (areScopes(Reflect.get(meta, SCOPES))) return;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where}: scopes are a list of texts without blanks, quotes and backslashes, as a token has them: ["admin"].`,
  );
}
