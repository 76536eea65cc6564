import { hash } from "node:crypto";
import { type Clock, type Json, type Rate, systemClock, TokenBuckets, TroupeError } from "../../../core/contract/index.ts";
import { hasOwn, isLocal, isScope, peerOf } from "../../../core/contract/internal.ts";
import { type ApiKey, apiKeyRing } from "./api-key.ts";
import type { IssuerRing, TrustedIssuer } from "./issuer.ts";
import { invalid, limited, missing, type Verdict } from "./verdict.ts";

export interface AuthOptions {
  /** Static tokens. */
  readonly keys?: readonly ApiKey[];
  /** Authorization servers whose tokens are taken. */
  readonly issuers?: readonly TrustedIssuer[];
  /** The address clients know this server by, and the `aud` of its tokens. Default: where `serveHttp` listens; everything else needs it, or each issuer's `audience`. */
  readonly resource?: string;
  /** Every token must carry all of them. */
  readonly scopes?: readonly string[];
  /** For people, in the protected-resource metadata. */
  readonly name?: string;
  readonly documentation?: string;
  readonly clock?: Clock;
}

/** Finds out who is behind a token. One is shared by all doors. */
export interface Authenticator {
  readonly resource?: string;
  readonly scopes: readonly string[];
  /** There is an authorization server a client can go to; without one there is no metadata. */
  readonly issuers: readonly string[];
  /** Tokens of some issuer are made for this server's address, so a door that has none must be told one. */
  readonly needsResource: boolean;
  /**
   * `authorization` as in the header: `Bearer …`; `resource` from configuration, empty where there is none. Synchronous for keys and
   * for tokens seen a moment ago. `peer`: the caller's address, whose failures are rate-limited.
   */
  check(authorization: string | undefined, resource: string, peer?: string): Verdict | Promise<Verdict>;
  /** The protected-resource metadata document (RFC 9728). */
  metadata(resource: string): Json;
}

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

// Verifying a signature costs more than the call it guards: a verdict is remembered, by the token's hash, for a minute at most.
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 4_096;

/** Tokens of one peer whose signatures turned out not to be good: to verify one costs more than most calls. */
const FAILURES: Rate = { perSecond: 10, burst: 100 };
/** Several on this machine may be all the clients of a proxy. */
const LOCAL_FAILURES: Rate = { perSecond: 200, burst: 1_000 };

const NO_ISSUERS: IssuerRing = { issuers: [], verify: () => Promise.resolve(invalid("The token is not known here.")) };

/** What reads signed tokens is loaded where there is an issuer. */
const issuerRing = async (trusted: readonly TrustedIssuer[], clock: Clock): Promise<IssuerRing> =>
  trusted.length === 0 ? NO_ISSUERS : (await import("./issuer.ts")).issuerRing(trusted, clock);

/** Tokens of keys and issuers. Neither a token nor a part of one leaves here. */
export async function authenticator(options: AuthOptions): Promise<Authenticator> {
  const { resource, clock = systemClock, scopes = [] } = options;
  const ring = apiKeyRing(options.keys ?? []);
  const issuers = await issuerRing(options.issuers ?? [], clock);
  if (ring.size === 0 && issuers.issuers.length === 0) {
    throw new TroupeError("DOOR_OPTION", "Authentication needs at least one API key or one issuer: nobody could come in.");
  }
  if (!scopes.every(isScope))
    throw new TroupeError("DOOR_OPTION", "A scope is a text without blanks, quotes and backslashes, as tokens have it: mend scopes.");
  if (resource !== undefined && !URL.canParse(resource)) {
    throw new TroupeError("DOOR_OPTION", `"${resource}" is not an address: give the resource as clients reach it, https://host/mcp.`);
  }
  const remembered = new Map<string, { readonly verdict: Verdict; readonly until: number }>();

  const scoped = (verdict: Verdict): Verdict => {
    if (hasOwn(verdict, "refused") || scopes.every((scope) => verdict.caller.scopes.includes(scope))) return verdict;
    return { refused: "scope", why: `This needs the scope ${scopes.join(" ")}.` };
  };

  const byKey = (token: string): Verdict | undefined => {
    const key = ring.find(token);
    if (key === undefined) return undefined;
    if (key.expiresAt !== undefined && key.expiresAt <= clock.now()) return invalid("The API key has expired.");
    const caller = { principal: key.name, scopes: key.scopes ?? [] };
    return scoped(key.expiresAt === undefined ? { caller } : { caller, expiresAt: key.expiresAt });
  };

  const failures = new TokenBuckets(clock);

  const byIssuer = async (token: string, expected: string, name: string, peer: string): Promise<Verdict> => {
    // Taken before, so that not very many at once are verified either.
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
