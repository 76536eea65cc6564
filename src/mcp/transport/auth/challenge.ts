import type { Answer } from "../../../core/contract/index.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Refused } from "./verdict.ts";

export interface ChallengeContext {
  /** Address of the metadata document; absent where there is no authorization server to go to, and where the resource's address is not configured. */
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

/** RFC 6750, section 3, and RFC 6749, section 5.2: descriptions, scopes and addresses hold neither quotes nor backslashes, escaped or not. */
const plain = (text: string): string => text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, "?");
const quoted = (text: string): string => `"${plain(text)}"`;

/** The `WWW-Authenticate` value (RFC 6750, 3; RFC 9728, 5.1). Without a token sent it names no error. */
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

/** A challenge of somebody's who does not know where one signs in. */
export function withMetadata(answer: Answer, { metadataUrl }: ChallengeContext): Answer {
  const challenged = answer.headers?.["www-authenticate"];
  if (challenged === undefined || metadataUrl === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, "www-authenticate": `${challenged}, resource_metadata=${quoted(metadataUrl)}` } };
}

/** A refused request's whole answer. */
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

/** Where the metadata of a resource is: the well-known name goes before its path (RFC 9728, 3.1). */
export function metadataUrlOf(resource: string): string {
  const url = new URL(resource);
  return `${url.origin}/.well-known/oauth-protected-resource${url.pathname === "/" ? "" : url.pathname}`;
}
