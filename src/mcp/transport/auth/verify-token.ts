// Owns: signed tokens: the keys of issuers, and the verification of a token. Does not own: API keys and caching (authenticator.ts).
import { readFile } from "node:fs/promises";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyGetKey,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
} from "jose";
import { type Clock, isJsonObject, TroupeError } from "../../../core/contract/index.ts";
import { stripBom } from "../../../core/contract/internal.ts";
import { isLoopback } from "../listen.ts";
import { claimsIn, EXCESSIVE, invalid, unavailable, type Verdict } from "./verdicts.ts";

/** An issuer's public keys: an `https:` address, a file's path, or the set itself. */
export type KeySource = string | { readonly keys: readonly Readonly<Record<string, unknown>>[] };

/** The keys of one issuer. */
export interface KeySet {
  readonly find: JWTVerifyGetKey;
  /** Fetches a remote set again, at most every 30 s. False: it was not fetched. */
  refresh(): Promise<boolean>;
}

const FETCH_MS = 5_000;
const ANSWER_BYTES = 262_144;
const REMEMBERED_MS = 600_000;
const COOLDOWN_MS = 30_000;
const FAILED_MS = 5_000;

const isKey = (value: unknown): value is JWK => isJsonObject(value) && typeof value["kty"] === "string";

function checkedSet(value: unknown, what: string): JSONWebKeySet {
  if (isJsonObject(value) && Array.isArray(value["keys"])) {
    const keys: unknown[] = structuredClone(value["keys"]);
    if (keys.length > 0 && keys.every(isKey)) return { keys };
  }
  throw new TroupeError("BAD_OPTION", `${what} is not a JSON Web Key Set: it needs {"keys":[{"kty":…}]}.`);
}

/** Reads at most `ANSWER_BYTES` and follows no redirect, since the server is not trusted. */
async function fetchBounded(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, { ...init, redirect: "error" });
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.byteLength;
    if (size > ANSWER_BYTES) throw new TroupeError("BAD_OPTION", `The key set at ${url} is larger than ${ANSWER_BYTES} bytes.`);
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  if (answer.status !== 200 || !holdsKeys(bytes)) throw new TroupeError("BAD_OPTION", `There is no key set at ${url} now.`);
  return new Response(bytes, { headers: answer.headers });
}

function holdsKeys(bytes: Buffer): boolean {
  try {
    const set: unknown = JSON.parse(stripBom(bytes.toString()));
    return isJsonObject(set) && Array.isArray(set["keys"]) && set["keys"].every((key) => isJsonObject(key));
  } catch {
    return false;
  }
}

/** Repeats an error for a while without a request: otherwise each token of an unauthenticated client would cause one. */
function fetchPatiently(clock: Clock): typeof fetchBounded {
  let failed: { readonly error: unknown; readonly at: number } | undefined;
  return async (url, init) => {
    const since = failed === undefined ? Infinity : clock.now() - failed.at;
    if (failed !== undefined && since >= 0 && since < FAILED_MS) throw failed.error;
    try {
      return await fetchBounded(url, init);
    } catch (error) {
      failed = { error, at: clock.now() };
      throw error;
    }
  };
}

const localSet = (set: JSONWebKeySet): KeySet => ({ find: createLocalJWKSet(set), refresh: () => Promise.resolve(false) });

/** A remote set is fetched for the first token, and again for an unknown key, at most every 30 s; after a failure every 5 s. */
export async function keySet(source: KeySource, clock: Clock): Promise<KeySet> {
  if (typeof source !== "string") return localSet(checkedSet(source, "The key set given"));
  if (!/^https?:/i.test(source)) {
    const text = await readFile(source, "utf8").catch((cause: unknown) => {
      throw new TroupeError("BAD_OPTION", `The key set ${source} cannot be read: give an https address or a file's path.`, { cause });
    });
    let parsed: unknown;
    try {
      parsed = JSON.parse(stripBom(text));
    } catch (cause) {
      throw new TroupeError("BAD_OPTION", `The key set ${source} is not JSON.`, { cause });
    }
    return localSet(checkedSet(parsed, `The key set ${source}`));
  }
  const url = new URL(source);
  if (url.protocol !== "https:" && !isLoopback(url.hostname)) {
    throw new TroupeError(
      "BAD_OPTION",
      `The key set ${source} must be fetched over https: anyone who can change it can authenticate as any principal.`,
    );
  }
  const find = createRemoteJWKSet(url, {
    timeoutDuration: FETCH_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: REMEMBERED_MS,
    [customFetch]: fetchPatiently(clock),
  });
  return {
    find,
    async refresh() {
      if (find.coolingDown) return false;
      await find.reload();
      return true;
    },
  };
}

/** An authorization server whose tokens are accepted. */
export interface TrustedIssuer {
  /** Exactly as in the token's `iss`. */
  readonly issuer: string;
  readonly keys: KeySource;
  /** The `aud` of its tokens, if that is not the resource's address. */
  readonly audience?: string | readonly string[];
  /** Default: all with a public key. */
  readonly algorithms?: readonly string[];
  /** The `typ` each token's header must have: `at+jwt` (RFC 9068). Default: none, `JWT` or `at+jwt`. */
  readonly typ?: string;
  /** The claim that holds the scopes, as a list or as text separated by spaces. Default: `scope`, or `scp` if that is missing or empty. */
  readonly scopesClaim?: string;
}

const ASYMMETRIC = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
const TOLERANCE_S = 5;
const SUBJECT_MAX = 1_024;
const SCOPES_MAX = 256;
const KEYS_TRIED_MAX = 16;

export interface IssuerRing {
  readonly issuers: readonly string[];
  /** For a token that looks like a JWT. `now` in milliseconds. */
  verify(token: string, resource: string, now: number): Promise<Verdict>;
}

const DEFAULT_SCOPE_CLAIMS = ["scope", "scp"];
/** Claims that only ID tokens and logout tokens have (OpenID Connect Core, 2 and 3.3.2.11; Back-Channel Logout, 2.4). */
const NOT_OF_ACCESS_TOKENS = ["nonce", "at_hash", "c_hash", "s_hash", "events"];
/** Claims that name a token's purpose at some authorization servers, with the values of tokens that are not access tokens. */
const OTHER_USES: Readonly<Record<string, readonly string[]>> = {
  typ: ["id", "refresh", "offline", "logout"],
  token_use: ["id", "refresh"],
};

function scopesIn(claim: unknown): readonly string[] {
  const list: readonly unknown[] = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  return list.filter((scope): scope is string => typeof scope === "string" && scope !== "").slice(0, SCOPES_MAX);
}

function scopesOf(payload: JWTPayload, named: string | undefined): readonly string[] {
  for (const claim of named === undefined ? DEFAULT_SCOPE_CLAIMS : [named]) {
    const scopes = Object.hasOwn(payload, claim) ? scopesIn(payload[claim]) : [];
    if (scopes.length > 0) return scopes;
  }
  return [];
}

/** Why a valid token of a trusted issuer is not a bearer access token. */
function otherUse(payload: JWTPayload, { typ }: Pick<JWTHeaderParameters, "typ">): string | undefined {
  if (Object.hasOwn(payload, "cnf"))
    return "The token is bound to a key of its holder (cnf), which is not checked here: ask for a bearer token.";
  const named = Object.entries(OTHER_USES).some(([claim, values]) => {
    const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
    return typeof value === "string" && values.includes(value.toLowerCase());
  });
  // Explicit typing (RFC 8725, 3.11).
  const typed = typ !== undefined && /\+jwt$/i.test(typ) && !/^(?:application\/)?at\+jwt$/i.test(typ);
  if (named || typed || NOT_OF_ACCESS_TOKENS.some((claim) => Object.hasOwn(payload, claim)))
    return "This is not an access token: send the access token that the issuer gave with it.";
  return undefined;
}

function refusal(error: unknown): Verdict {
  if (error instanceof errors.JWTExpired) return invalid("The token has expired.");
  if (error instanceof errors.JWTClaimValidationFailed) return invalid(`The token's ${error.claim} does not fit this server.`);
  if (error instanceof errors.JWKSTimeout) return unavailable("The keys of the token's issuer did not arrive in time.");
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed) {
    return invalid("The token was not signed by a key of its issuer.");
  }
  if (error instanceof errors.JOSEError && error.code !== "ERR_JOSE_GENERIC" && !(error instanceof errors.JWKSInvalid)) {
    return invalid("The token cannot be verified.");
  }
  return unavailable("The keys of the token's issuer cannot be had now.");
}

type Verification = Awaited<ReturnType<typeof jwtVerify>>;

/**
 * Verifies with the key that the token names, or with every suitable one where it names none or several have that name
 * (RFC 7515, 4.1.4; RFC 7517, 4.5). Their number is bounded: each costs a verification.
 */
async function verifiedBy(keys: KeySet, token: string, options: JWTVerifyOptions): Promise<Verification> {
  try {
    return await verifiedByAny(keys, token, options);
  } catch (error) {
    // Without a `kid`, an unknown key looks like a bad signature.
    if (!(error instanceof errors.JWSSignatureVerificationFailed) || decodeProtectedHeader(token).kid !== undefined) throw error;
    if (!(await keys.refresh())) throw error;
    return verifiedByAny(keys, token, options);
  }
}

async function verifiedByAny({ find }: KeySet, token: string, options: JWTVerifyOptions): Promise<Verification> {
  try {
    return await jwtVerify(token, find, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      tried += 1;
      try {
        return await jwtVerify(token, key, options);
      } catch (failure) {
        // One unusable key, for example one that is too short, does not mean that the others do not fit.
        if (failure instanceof errors.JOSEError && !(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        if (tried === KEYS_TRIED_MAX) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Verifies tokens of trusted issuers: signature, `iss`, `aud`, `exp`, `nbf`, and a subject. `claimNames`: the claims that callers get. */
export async function issuerRing(trusted: readonly TrustedIssuer[], claimNames: readonly string[], clock: Clock): Promise<IssuerRing> {
  const keys = new Map<string, KeySet>();
  for (const { issuer, keys: source } of trusted) {
    if (issuer === "" || issuer.includes("|"))
      throw new TroupeError("BAD_OPTION", `"${issuer}" cannot be an issuer: give the token's "iss", without a bar.`);
    if (keys.has(issuer)) throw new TroupeError("BAD_OPTION", `The issuer ${issuer} is given twice: give it once with all its keys.`);
    keys.set(issuer, await keySet(source, clock));
  }
  return {
    issuers: trusted.map((one) => one.issuer),
    async verify(token, resource, now) {
      let claimed: unknown;
      try {
        claimed = decodeJwt(token).iss;
      } catch {
        return invalid("The token cannot be verified.");
      }
      const issuer = trusted.find((one) => one.issuer === claimed);
      const key = issuer === undefined ? undefined : keys.get(issuer.issuer);
      if (issuer === undefined || key === undefined) return invalid("The token's issuer is not one of this server.");
      if (issuer.audience === undefined && resource === "")
        return invalid("The token's aud cannot be checked: this server has no address.");
      const audience = issuer.audience ?? [resource, resource.endsWith("/") ? resource.slice(0, -1) : `${resource}/`];
      try {
        const { payload, protectedHeader } = await verifiedBy(key, token, {
          issuer: issuer.issuer,
          audience: typeof audience === "string" ? audience : [...audience],
          algorithms: [...(issuer.algorithms ?? ASYMMETRIC)],
          requiredClaims: ["exp", "sub"],
          clockTolerance: TOLERANCE_S,
          currentDate: new Date(now),
          ...(issuer.typ === undefined ? {} : { typ: issuer.typ }),
        });
        const other = otherUse(payload, protectedHeader);
        if (other !== undefined) return invalid(other);
        // The type says that it is a text, but the library does not check it.
        const { sub, exp = 0 }: { readonly sub?: unknown; readonly exp?: number } = payload;
        if (typeof sub !== "string" || sub === "" || sub.length > SUBJECT_MAX) return invalid("The token's sub does not fit this server.");
        const claims = claimNames.length === 0 ? undefined : claimsIn(payload, claimNames);
        if (claims === "excessive") return invalid(`The claims of the token that this server reads ${EXCESSIVE}: get a smaller token.`);
        return {
          caller: {
            principal: `${issuer.issuer}|${sub}`,
            scopes: scopesOf(payload, issuer.scopesClaim),
            ...(claims === undefined ? {} : { claims }),
          },
          expiresAt: (exp + TOLERANCE_S) * 1_000,
        };
      } catch (error) {
        return refusal(error);
      }
    },
  };
}
