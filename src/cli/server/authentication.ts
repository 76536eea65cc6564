// Owns: who may call a server: keys, tokens, and the callers of development. Does not own: checking tokens (mcp/transport).
import { existsSync } from "node:fs";
import { type Caller, type Clock, isJsonObject, type Json, systemClock } from "../../core/contract/index.ts";
import { isTexts, omitUndefined, tryParseJson } from "../../core/contract/internal.ts";
import { base64urlOf, fromBase64, hmacSha256, sameBytes, secretBytes, textOf, utf8Of } from "../../core/platform/index.ts";
import type { ApiKey, Authenticator, KeySource, TrustedIssuer } from "../../mcp/transport/index.ts";
import { isLoopback } from "../../mcp/transport/listen.ts";
import { usage } from "../command-error.ts";
import { readTextFile } from "../files.ts";
import { type HostPort, parseUtcTime } from "../option-parsers.ts";
import type { ServeOptions } from "../serve-options.ts";

const readJson = (file: string, option: string): Json => {
  const text = readTextFile(file, option);
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    // The parser's own message quotes the file, which may contain secrets.
    throw usage(`${option}: ${file} is no JSON.`);
  }
};

const keySource = (place: string): KeySource => {
  if (!existsSync(place)) return place;
  const set = readJson(place, "--jwks");
  const keys = isJsonObject(set) ? set["keys"] : undefined;
  if (!Array.isArray(keys)) throw usage(`--jwks: ${place} is no JSON Web Key Set; it needs "keys".`);
  return { keys: keys.filter(isJsonObject) };
};

/** The authenticator that the options describe; undefined if callers need not authenticate. */
export const createAuthenticator = async (options: ServeOptions): Promise<Authenticator | undefined> => {
  if ((options.jwks === undefined) !== (options.issuer === undefined))
    throw usage("--jwks and --issuer go together: the keys, and the iss of the tokens they sign.");
  if (options.jwks === undefined && options.apiKeys === undefined) return undefined;
  const issuers: readonly TrustedIssuer[] =
    options.jwks !== undefined && options.issuer !== undefined
      ? [
          {
            issuer: options.issuer,
            keys: keySource(options.jwks),
            ...omitUndefined({ audience: options.audience, typ: options.tokenType, scopesClaim: options.scopesClaim }),
          },
        ]
      : [];
  const { authenticator } = await import("../../mcp/transport/index.ts");
  return await authenticator({
    issuers,
    ...(options.apiKeys === undefined ? {} : { keys: parseApiKeys(readJson(options.apiKeys, "--api-keys"), options.apiKeys) }),
    ...omitUndefined({ resource: options.resource, scopes: options.requireScope, claims: options.claims }),
  });
};

const MEMBERS = new Set(["sha256", "scopes", "claims", "expiresAt"]);

/** The keys of an `--api-keys` file: name → SHA-256, or an object. Refuses unknown members, which may be meant to restrict the key. */
export const parseApiKeys = (listed: Json, file: string): readonly ApiKey[] => {
  if (!isJsonObject(listed)) throw usage(`--api-keys: ${file} must be an object of name → SHA-256 (hex) of the key.`);
  return Object.entries(listed).map(([name, value]): ApiKey => {
    const about = isJsonObject(value) ? value : { sha256: value };
    const odd = Object.keys(about).find((member) => !MEMBERS.has(member));
    if (odd !== undefined)
      throw usage(`--api-keys: the key "${name}" has "${odd}", which nobody reads: it may have ${[...MEMBERS].join(", ")}.`);
    const { sha256, scopes = [], claims, expiresAt } = about;
    if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/i.test(sha256))
      throw usage(`--api-keys: the key "${name}" needs its SHA-256 as 64 hex digits: printf %s KEY | sha256sum.`);
    if (!isTexts(scopes)) throw usage(`--api-keys: the scopes of "${name}" must be a list of texts.`);
    if (claims !== undefined && !isJsonObject(claims))
      throw usage(`--api-keys: the claims of "${name}" must be an object, such as {"roles": ["responder"]}.`);
    return {
      name,
      sha256,
      scopes,
      ...(claims === undefined ? {} : { claims }),
      ...(expiresAt === undefined ? {} : { expiresAt: timeOf(expiresAt, name) }),
    };
  });
};

const timeOf = (value: Json, name: string): number => {
  const time = typeof value === "string" ? parseUtcTime(value) : value;
  if (typeof time === "number" && Number.isFinite(time)) return time;
  throw usage(`--api-keys: "expiresAt" of "${name}" must be a time, such as "2027-01-31T12:00Z", or milliseconds since 1970.`);
};

/**
 * In development every caller over HTTP is the principal of `--as`, whatever its token. Undefined without `--as`. Throws a `CommandError`
 * for an address beyond this machine.
 */
export const developmentCaller = ({
  as: principal,
  scope = [],
  http,
}: Pick<ServeOptions, "as" | "scope" | "http">): Authenticator | undefined => {
  if (principal === undefined) return undefined;
  if (http !== undefined && !isLoopback(http.host))
    throw usage(
      `--as makes every caller over HTTP ${JSON.stringify(principal)} without a key, so it is for this machine alone: give --http 127.0.0.1:${http.port}, or --api-keys instead of --as.`,
    );
  const verdict = { caller: { principal, scopes: scope } };
  return { scopes: [], issuers: [], needsResource: false, check: () => verdict, metadata: () => ({}) };
};

const LIFETIME_MS = 60 * 60_000;
const TOKEN = /^Bearer +troupe-viewer\.([\w-]+)\.([\w-]{43}) *$/i;

type Verdict = Awaited<ReturnType<Authenticator["check"]>>;

const ANONYMOUS: Verdict = { caller: { scopes: [] } };

/** Tokens with which the console of `troupe dev` connects to MCP as any viewer. Signed, not stored, with a key of this process. */
export class ViewerTokens {
  readonly #key = secretBytes(32);
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  issue({ principal, scopes, claims }: Caller): { readonly token: string; readonly expiresAt: number } {
    const expiresAt = this.#clock.now() + LIFETIME_MS;
    const body = base64urlOf(utf8Of(JSON.stringify({ expiresAt, scopes, ...omitUndefined({ principal, claims }) })));
    return { token: `troupe-viewer.${body}.${this.#sign(body)}`, expiresAt };
  }

  /** Accepts these tokens, and leaves other callers to `next`; without it they are anonymous. */
  wrap(next: Authenticator | undefined): Authenticator {
    const rest = next ?? { scopes: [], issuers: [], needsResource: false, check: () => ANONYMOUS, metadata: () => ({}) };
    return {
      ...rest,
      check: (authorization, resource, peer) => this.#check(authorization) ?? rest.check(authorization, resource, peer),
    };
  }

  /** Undefined for another token, or none. */
  #check(authorization: string | undefined): Verdict | undefined {
    const [, body = "", signature = ""] = TOKEN.exec(authorization ?? "") ?? [];
    if (body === "") return undefined;
    const value = sameBytes(utf8Of(signature), utf8Of(this.#sign(body))) ? tryParseJson(textOf(fromBase64(body)) ?? "") : undefined;
    if (!isJsonObject(value)) return { refused: "invalid", why: "The server has restarted since this viewer connected: connect again." };
    const { expiresAt, principal, scopes, claims } = value;
    if (typeof expiresAt !== "number" || expiresAt <= this.#clock.now())
      return { refused: "invalid", why: "The token of this viewer has expired: connect again." };
    const caller: Caller = {
      scopes: isTexts(scopes) ? scopes : [],
      ...(typeof principal === "string" && { principal }),
      ...(isJsonObject(claims) && { claims }),
    };
    return { caller, expiresAt };
  }

  #sign(body: string): string {
    return base64urlOf(hmacSha256(this.#key, body));
  }
}

/** Undefined if other machines can reach the server: then callers need keys of their own. */
export function viewerTokens(at: HostPort | undefined): ViewerTokens | undefined {
  return at !== undefined && isLoopback(at.host) ? new ViewerTokens() : undefined;
}
