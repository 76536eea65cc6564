// Owns: who is behind a token: API keys, remembered verdicts, limits on failures. Does not own: signed tokens (verify-token.ts).
import { hash, timingSafeEqual } from "node:crypto";
import {
  type Caller,
  checkOptions,
  type Clock,
  isJsonObject,
  type Json,
  type JsonObject,
  type OptionRule,
  type OptionTable,
  type Rate,
  systemClock,
  TEXTS,
  TokenBuckets,
  TroupeError,
} from "../../../core/contract/index.ts";
import { hasOwn, isLocal, isScope, OBJECT, peerOf, TEXT } from "../../../core/contract/internal.ts";
import { checkClaimNames, claimsIn, EXCESSIVE, invalid, limited, missing, type Verdict } from "./verdicts.ts";
import type { IssuerRing, TrustedIssuer } from "./verify-token.ts";

/** A static bearer token and its principal. Only its hash is stored. */
export interface ApiKey {
  /** The principal of its callers. */
  readonly name: string;
  /** SHA-256 of the key, 64 hex digits, as `hashApiKey` gives it. */
  readonly sha256: string;
  readonly scopes?: readonly string[];
  /** The `viewer.claims` of its callers: at most 32, 8 KB as JSON. */
  readonly claims?: JsonObject;
  /** Milliseconds since 1970. Absent: never. */
  readonly expiresAt?: number;
}

/** The stored form of a key: SHA-256 as hex. Keys are random, at least 128 bits, so no salt is needed. */
export const hashApiKey = (key: string): string => hash("sha256", key, "hex");

// The principal of an issuer's token is `issuer|subject`. Names of keys cannot contain the bar, so they cannot imitate one.
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/;

interface HeldKey extends Pick<ApiKey, "expiresAt"> {
  readonly caller: Caller;
  readonly digest: Buffer;
}

interface ApiKeyRing {
  readonly size: number;
  find(token: string): HeldKey | undefined;
}

/** Looks up a key in constant time: it depends on the number of keys, not on how similar they are. */
function apiKeyRing(keys: readonly ApiKey[]): ApiKeyRing {
  const held = keys.map((key) => {
    if (!NAME.test(key.name)) {
      throw new TroupeError(
        "BAD_OPTION",
        `"${key.name}" cannot name an API key: begin with a letter or digit and go on with those and . _ @ + -, at most 128 in all.`,
      );
    }
    if (!/^[0-9a-f]{64}$/i.test(key.sha256)) {
      throw new TroupeError("BAD_OPTION", `The API key "${key.name}" needs its SHA-256 as 64 hex digits: give it as hashApiKey(key) does.`);
    }
    const claims = key.claims === undefined ? undefined : claimsIn(key.claims, Object.keys(key.claims));
    if (claims === "excessive") throw new TroupeError("BAD_OPTION", `The claims of the API key "${key.name}" ${EXCESSIVE}: give fewer.`);
    const caller: Caller = { principal: key.name, scopes: key.scopes ?? [], ...(claims === undefined ? {} : { claims }) };
    return { caller, digest: Buffer.from(key.sha256, "hex"), ...(key.expiresAt === undefined ? {} : { expiresAt: key.expiresAt }) };
  });
  return {
    size: held.length,
    find(token) {
      const digest = hash("sha256", token, "buffer");
      let found: HeldKey | undefined;
      for (const one of held) if (timingSafeEqual(one.digest, digest)) found ??= one;
      return found;
    },
  };
}

/** How callers authenticate: static keys, tokens of authorization servers, or both. */
export interface AuthOptions {
  /** Static tokens. */
  readonly keys?: readonly ApiKey[];
  /** Authorization servers whose tokens are accepted. */
  readonly issuers?: readonly TrustedIssuer[];
  /** The address by which clients know this server, and the `aud` of its tokens. Default: the address of `serveHttp`; all other transports need it, or each issuer's `audience`. */
  readonly resource?: string;
  /** Every token must have all of these. */
  readonly scopes?: readonly string[];
  /**
   * The claims of tokens that reach `viewer.claims`, by name, at most 32; no other does. A token whose named claims are larger than 8 KB is
   * refused. Default: none. Claims of API keys are their own.
   */
  readonly claims?: readonly string[];
  /** For people, in the protected-resource metadata. */
  readonly name?: string;
  readonly documentation?: string;
  readonly clock?: Clock;
}

/** Finds the caller of a token. One is shared by all transports. */
export interface Authenticator {
  readonly resource?: string;
  readonly scopes: readonly string[];
  /** The authorization servers; without any there is no metadata document. */
  readonly issuers: readonly string[];
  /** Some issuer's tokens have this server's address as audience, so the address must be configured. */
  readonly needsResource: boolean;
  /**
   * `authorization` as in the header: `Bearer …`; `resource` from the configuration, or empty. Synchronous for keys and for tokens
   * verified recently. `peer`: the caller's address, whose failures are rate-limited.
   */
  check(authorization: string | undefined, resource: string, peer?: string): Verdict | Promise<Verdict>;
  /** The protected-resource metadata document (RFC 9728). */
  metadata(resource: string): Json;
}

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

// Verifying a signature costs more than a call, so a verdict is cached by the token's hash, for at most a minute.
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 4_096;

/** How many tokens with bad signatures one peer may send: verifying one costs more than most calls. */
const FAILURES: Rate = { perSecond: 10, burst: 100 };
/** Local peers may be a proxy with many clients. */
const LOCAL_FAILURES: Rate = { perSecond: 200, burst: 1_000 };

const NO_ISSUERS: IssuerRing = { issuers: [], verify: () => Promise.resolve(invalid("The token is not known here.")) };

/** The code for signed tokens is loaded only if there is an issuer. */
const issuerRing = async (trusted: readonly TrustedIssuer[], claims: readonly string[], clock: Clock): Promise<IssuerRing> =>
  trusted.length === 0 ? NO_ISSUERS : (await import("./verify-token.ts")).issuerRing(trusted, claims, clock);

const OPTIONS: OptionTable<AuthOptions> = {
  keys: true,
  issuers: true,
  resource: TEXT,
  scopes: TEXTS,
  claims: true,
  name: TEXT,
  documentation: TEXT,
  clock: true,
};

const KEY: OptionTable<ApiKey> = { name: TEXT, sha256: TEXT, scopes: TEXTS, claims: OBJECT, expiresAt: true };

const ISSUER: OptionTable<TrustedIssuer> = {
  issuer: TEXT,
  keys: true,
  audience: true,
  algorithms: TEXTS,
  typ: TEXT,
  scopesClaim: TEXT,
};

/** Accepts API keys and tokens of issuers. No part of a token is ever logged or passed on. */
export async function authenticator(options: AuthOptions): Promise<Authenticator> {
  checkOptions("authenticator", options, OPTIONS);
  for (const key of options.keys ?? []) checkOptions("An API key", key, KEY);
  for (const issuer of options.issuers ?? []) checkOptions("An issuer", issuer, ISSUER);
  const { resource, clock = systemClock, scopes = [], claims = [] } = options;
  checkClaimNames(claims);
  const ring = apiKeyRing(options.keys ?? []);
  const issuers = await issuerRing(options.issuers ?? [], claims, clock);
  if (ring.size === 0 && issuers.issuers.length === 0) {
    throw new TroupeError("BAD_OPTION", "Authentication needs at least one API key or one issuer: otherwise no caller could authenticate.");
  }
  if (!scopes.every(isScope))
    throw new TroupeError("BAD_OPTION", "A scope is a text without blanks, quotes and backslashes, as tokens have it: mend scopes.");
  if (resource !== undefined && !URL.canParse(resource)) {
    throw new TroupeError("BAD_OPTION", `"${resource}" is not an address: give the resource as clients reach it, https://host/mcp.`);
  }
  const remembered = new Map<string, { readonly verdict: Verdict; readonly until: number }>();

  const scoped = (verdict: Verdict): Verdict => {
    if (hasOwn(verdict, "refused") || scopes.every((scope) => verdict.caller.scopes.includes(scope))) return verdict;
    return { refused: "scope", why: `This needs the scope ${scopes.join(" ")}.` };
  };

  const byKey = (token: string): Verdict | undefined => {
    const key = ring.find(token);
    if (key === undefined) return undefined;
    const { caller, expiresAt } = key;
    if (expiresAt !== undefined && expiresAt <= clock.now()) return invalid("The API key has expired.");
    return scoped(expiresAt === undefined ? { caller } : { caller, expiresAt });
  };

  const failures = new TokenBuckets(clock);

  const byIssuer = async (token: string, expected: string, name: string, peer: string): Promise<Verdict> => {
    // Taken before the verification, so that parallel ones are limited too.
    const waitS = failures.take(peer, isLocal(peer) ? LOCAL_FAILURES : FAILURES);
    if (waitS > 0) return limited(waitS);
    const verdict = scoped(await issuers.verify(token, expected, clock.now()));
    if (!hasOwn(verdict, "refused") || verdict.refused !== "invalid") failures.giveBack(peer);
    if (!hasOwn(verdict, "refused")) {
      const oldest = remembered.size >= REMEMBERED_MAX ? remembered.keys().next().value : undefined;
      if (oldest !== undefined) remembered.delete(oldest);
      const until = Math.min(verdict.expiresAt ?? Infinity, clock.now() + REMEMBERED_MS);
      remembered.set(name, { verdict, until });
    }
    return verdict;
  };

  return {
    ...(resource === undefined ? {} : { resource }),
    scopes,
    issuers: issuers.issuers,
    needsResource: resource === undefined && (options.issuers ?? []).some((issuer) => issuer.audience === undefined),
    check(authorization, at, peer) {
      if (authorization === undefined) return missing;
      const token = BEARER.exec(authorization)?.[1];
      if (token === undefined) return /^Bearer\b/i.test(authorization) ? invalid("The token is not well formed.") : missing;
      const known = ring.size === 0 ? undefined : byKey(token);
      if (known !== undefined) return known;
      if (issuers.issuers.length === 0 || !JWT.test(token)) return invalid("The token is not known here.");
      const expected = resource ?? at;
      const name = hash("sha256", `${expected}\n${token}`, "base64");
      const before = remembered.get(name);
      if (before !== undefined && before.until > clock.now()) return before.verdict;
      remembered.delete(name);
      return byIssuer(token, expected, name, peerOf(peer ?? "local"));
    },
    metadata: (at) => ({
      resource: resource ?? at,
      authorization_servers: [...issuers.issuers],
      bearer_methods_supported: ["header"],
      ...(scopes.length === 0 ? {} : { scopes_supported: [...scopes] }),
      ...(options.name === undefined ? {} : { resource_name: options.name }),
      ...(options.documentation === undefined ? {} : { resource_documentation: options.documentation }),
    }),
  };
}

/** The rule for the option `auth` of every transport. */
export const AUTH: OptionRule = ["what authenticator(…) resolves to: `auth: await authenticator(…)`", isAuthenticator];

function isAuthenticator(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { check, metadata, scopes, issuers }: Readonly<Record<string, unknown>> = value;
  return typeof check === "function" && typeof metadata === "function" && Array.isArray(scopes) && Array.isArray(issuers);
}

/** The audience of tokens must be configured, or be the listening address; a client cannot choose it. Throws `BAD_OPTION`. */
export function refuseUnaddressed(transport: string, auth: Authenticator | undefined): void {
  if (auth?.needsResource !== true) return;
  throw new TroupeError(
    "BAD_OPTION",
    `Tokens of an issuer over ${transport} need the resource or audience they are made for: give the authenticator one (--resource or --audience).`,
  );
}
