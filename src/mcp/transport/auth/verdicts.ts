// Owns: the verdict on a token: its type, the claims that reach `viewer.claims` and their bounds, and the HTTP answer to a refused one.
// Does not own: reaching the verdict (authenticator.ts, verify-token.ts).
import { type Answer, type Caller, isJsonObject, type Json, type JsonObject, TroupeError } from "../../../core/contract/index.ts";
import { freezeDeep, isTexts, setOwn } from "../../../core/contract/internal.ts";
import type { Authenticator } from "./authenticator.ts";

/** The caller that a token identifies, and until when (milliseconds since 1970). */
export interface Verified {
  readonly caller: Caller;
  readonly expiresAt?: number;
}

/** `missing` no token · `invalid` not valid here · `scope` missing scopes · `unavailable` cannot be checked now · `limited` too many failures before. */
export interface Refused {
  readonly refused: "missing" | "invalid" | "scope" | "unavailable" | "limited";
  /** A sentence for the client; never a part of the token. */
  readonly why: string;
}

/** Who a caller is, or why it is refused. */
export type Verdict = Verified | Refused;

export const missing: Refused = { refused: "missing", why: "Send a token as Authorization: Bearer." };
export const invalid = (why: string): Refused => ({ refused: "invalid", why });
export const unavailable = (why: string): Refused => ({ refused: "unavailable", why });
export const limited = (waitS: number): Refused => ({
  refused: "limited",
  why: `Too many tokens from here were not good: try again in ${waitS} s.`,
});

const UNCHECKED = unavailable("The token cannot be checked now: try again.");

/** The verdict on a token. An authenticator of the application that throws counts as `unavailable`. */
export function verdictOn(
  auth: Authenticator,
  authorization: string | undefined,
  resource: string,
  peer?: string,
): Verdict | Promise<Verdict> {
  try {
    const verdict = auth.check(authorization, resource, peer);
    return verdict instanceof Promise ? verdict.catch(() => UNCHECKED) : verdict;
  } catch {
    return UNCHECKED;
  }
}

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

export interface ChallengeContext {
  /** Address of the metadata document; absent without an authorization server, and if the resource's address is not configured. */
  readonly metadataUrl?: string;
  readonly scopes: readonly string[];
}

const STATUS = { missing: 401, invalid: 401, scope: 403, unavailable: 503, limited: 429 } as const;
const ERROR = {
  missing: undefined,
  invalid: "invalid_token",
  scope: "insufficient_scope",
  unavailable: undefined,
  limited: undefined,
} as const;

const WITHOUT_CHALLENGE = {
  missing: "unauthorized",
  invalid: "unauthorized",
  scope: "unauthorized",
  unavailable: "temporarily_unavailable",
  limited: "slow_down",
} as const;

/** RFC 6750, section 3, and RFC 6749, section 5.2: descriptions, scopes and addresses must not contain quotes or backslashes, not even escaped. */
const plain = (text: string): string => text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, "?");
const quoted = (text: string): string => `"${plain(text)}"`;

/** The `WWW-Authenticate` value (RFC 6750, 3; RFC 9728, 5.1). It names no error if no token was sent. */
function challenge(refusal: Refused, { metadataUrl, scopes }: ChallengeContext): string {
  const error = ERROR[refusal.refused];
  const parts: string[] = [];
  if (error !== undefined) parts.push(`error=${quoted(error)}`, `error_description=${quoted(refusal.why)}`);
  if (scopes.length > 0) parts.push(`scope=${quoted(scopes.join(" "))}`);
  if (metadataUrl !== undefined) parts.push(`resource_metadata=${quoted(metadataUrl)}`);
  return parts.length === 0 ? "Bearer" : `Bearer ${parts.join(", ")}`;
}

export function challengeContext(auth: Authenticator | undefined, resource: string): ChallengeContext {
  const { scopes, issuers }: Pick<Authenticator, "scopes" | "issuers"> = auth ?? { scopes: [], issuers: [] };
  return issuers.length === 0 || resource === "" ? { scopes } : { scopes, metadataUrl: metadataUrlOf(resource) };
}

/** Adds the metadata address to the challenge of a handler, which does not know it. */
export function withMetadata(answer: Answer, { metadataUrl }: ChallengeContext): Answer {
  const challenged = answer.headers?.["www-authenticate"];
  if (challenged === undefined || metadataUrl === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, "www-authenticate": `${challenged}, resource_metadata=${quoted(metadataUrl)}` } };
}

/** The answer to a request whose token was refused. */
export function refuseToken(refusal: Refused, context: ChallengeContext): Answer {
  const status = STATUS[refusal.refused];
  const error = ERROR[refusal.refused] ?? WITHOUT_CHALLENGE[refusal.refused];
  const headers: Record<string, string> =
    status === 401 || status === 403 ? { "www-authenticate": challenge(refusal, context) } : { "retry-after": "5" };
  return {
    status,
    headers: { ...headers, "cache-control": "no-store" },
    body: JSON.stringify({ error, error_description: plain(refusal.why) }),
  };
}

/** The address of a resource's metadata: the well-known name precedes its path (RFC 9728, 3.1). */
export function metadataUrlOf(resource: string): string {
  const url = new URL(resource);
  return `${url.origin}/.well-known/oauth-protected-resource${url.pathname === "/" ? "" : url.pathname}`;
}
