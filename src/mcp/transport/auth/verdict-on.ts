import type { Authenticator } from "./authenticator.ts";
import { unavailable, type Verdict } from "./verdict.ts";

const UNCHECKED = unavailable("The token cannot be checked now: try again.");

/** What a token is worth. Whatever an application's own way to find that out throws, the door has an answer. */
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
