import type { Viewer } from "../../core/contract/index.ts";

/**
 * The viewer as the SDK's `AuthInfo`; undefined: nobody was authenticated. `clientId` is the principal; `token` is empty, since
 * tokens end at the door.
 */
export function defaultAuthInfo({ principal, scopes }: Viewer): object | undefined {
  // A session of a client without a token is no identity.
  if (principal === undefined || principal.startsWith("session|")) return undefined;
  return { token: "", clientId: principal, scopes: [...scopes], extra: { principal } };
}
