import { type Bag, type Caller, isBag, type Json } from "../../core/contract/index.ts";

/**
 * Who calls, as an authorizer of the gateway's says: a JWT or Cognito authorizer (principal `iss|sub`, scopes of the token),
 * IAM (the caller's ARN, no scopes), a Lambda authorizer (`principalId`, and `scope` where it gave one). Undefined where none did.
 */
export function authorizedCaller(authorizer: Bag): Caller | undefined {
  const { jwt, claims, iam, lambda } = authorizer;
  if (isBag(jwt) && isBag(jwt["claims"])) return ofClaims(jwt["claims"]);
  if (isBag(claims)) return ofClaims(claims);
  if (isBag(iam)) return ofName(iam["userArn"], undefined);
  const own = isBag(lambda) ? lambda : authorizer;
  return ofName(own["principalId"], own["scope"]);
}

/** What a route asked for, which the gateway tells beside the claims, is not what the token allows. */
function ofClaims(claims: Bag): Caller | undefined {
  const { iss, sub } = claims;
  if (typeof iss !== "string" || typeof sub !== "string" || iss === "" || sub === "") return undefined;
  return { principal: `${iss}|${sub}`, scopes: scopesOf(claims["scope"] ?? claims["scp"]) };
}

function ofName(name: Json | undefined, granted: Json | undefined): Caller | undefined {
  return typeof name === "string" && name !== "" ? { principal: name, scopes: scopesOf(granted) } : undefined;
}

function scopesOf(granted: Json | undefined): readonly string[] {
  if (Array.isArray(granted)) return granted.filter((scope): scope is string => typeof scope === "string");
  // A claim that was a list has become text: `[read write]`.
  const listed = typeof granted === "string" ? (/^\[(.*)\]$/.exec(granted)?.[1] ?? granted) : "";
  return listed.split(" ").filter((scope) => scope !== "");
}
