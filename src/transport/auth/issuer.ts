import { decodeJwt, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import { type Clock, TroupeError } from "../../contract/index.ts";
import { type KeySource, keySet } from "./jwks.ts";
import { invalid, unavailable, type Verdict } from "./verdict.ts";

/** An authorization server whose tokens are taken. */
export interface TrustedIssuer {
  /** Exactly as in the token's `iss`. */
  readonly issuer: string;
  readonly keys: KeySource;
  /** Instead of the resource's address, where the authorization server writes another `aud`. */
  readonly audience?: string | readonly string[];
  /** Default: all with a public key. */
  readonly algorithms?: readonly string[];
}

const ASYMMETRIC = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
const TOLERANCE_S = 5;
const SUBJECT_MAX = 1_024;
const SCOPES_MAX = 256;

export interface IssuerRing {
  readonly issuers: readonly string[];
  /** For a token that looks like a JWT. `now` in milliseconds. */
  verify(token: string, resource: string, now: number): Promise<Verdict>;
}

function scopesOf(payload: JWTPayload): readonly string[] {
  const claim = payload.scope ?? payload.scp;
  const list = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  return list.filter((scope): scope is string => typeof scope === "string" && scope !== "").slice(0, SCOPES_MAX);
}

function refusal(error: unknown): Verdict {
  if (error instanceof errors.JWTExpired) return invalid("The token has expired.");
  if (error instanceof errors.JWTClaimValidationFailed) return invalid(`The token's "${error.claim}" does not fit this server.`);
  if (error instanceof errors.JWKSTimeout) return unavailable("The keys of the token's issuer did not arrive in time.");
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed) {
    return invalid("The token was not signed by a key of its issuer.");
  }
  if (error instanceof errors.JOSEError && error.code !== "ERR_JOSE_GENERIC" && !(error instanceof errors.JWKSInvalid)) {
    return invalid("The token cannot be verified.");
  }
  return unavailable("The keys of the token's issuer cannot be had now.");
}

/** Verifies tokens of the issuers that are trusted: signature, `iss`, `aud`, `exp`, `nbf`, and a subject. */
export async function issuerRing(trusted: readonly TrustedIssuer[], clock: Clock): Promise<IssuerRing> {
  const keys = new Map<string, JWTVerifyGetKey>();
  for (const { issuer, keys: source } of trusted) {
    if (issuer === "" || issuer.includes("|"))
      throw new TroupeError("DOOR_OPTION", `"${issuer}" cannot be an issuer: give the token's "iss", without a bar.`);
    if (keys.has(issuer)) throw new TroupeError("DOOR_OPTION", `The issuer ${issuer} is given twice: give it once with all its keys.`);
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
      const audience = issuer.audience ?? [resource, resource.endsWith("/") ? resource.slice(0, -1) : `${resource}/`];
      try {
        const { payload } = await jwtVerify(token, key, {
          issuer: issuer.issuer,
          audience: typeof audience === "string" ? audience : [...audience],
          algorithms: [...(issuer.algorithms ?? ASYMMETRIC)],
          requiredClaims: ["exp", "sub"],
          clockTolerance: TOLERANCE_S,
          currentDate: new Date(now),
        });
        // The library says that it is text, and does not look.
        const { sub, exp = 0 }: { readonly sub?: unknown; readonly exp?: number } = payload;
        if (typeof sub !== "string" || sub === "" || sub.length > SUBJECT_MAX)
          return invalid('The token\'s "sub" does not fit this server.');
        return {
          caller: { principal: `${issuer.issuer}|${sub}`, scopes: scopesOf(payload) },
          expiresAt: (exp + TOLERANCE_S) * 1_000,
        };
      } catch (error) {
        return refusal(error);
      }
    },
  };
}
