import type { Caller } from "../../../core/contract/index.ts";
import type { Authenticator } from "./authenticator.ts";

/** Who a token stands for, and until when (milliseconds since 1970). */
export interface Verified {
  readonly caller: Caller;
  readonly expiresAt?: number;
}

/** `missing` none was sent · `invalid` it is not good here · `scope` it allows too little · `unavailable` nobody can say now · `limited` too many failed before. */
export interface Refused {
  readonly refused: "missing" | "invalid" | "scope" | "unavailable" | "limited";
  /** A sentence for the client; never a part of the token. */
  readonly why: string;
}

export type Verdict = Verified | Refused;

export const missing: Refused = { refused: "missing", why: "Send a token as Authorization: Bearer." };
export const invalid = (why: string): Refused => ({ refused: "invalid", why });
export const unavailable = (why: string): Refused => ({ refused: "unavailable", why });
export const limited = (waitS: number): Refused => ({
  refused: "limited",
  why: `Too many tokens from here were not good: try again in ${waitS} s.`,
});

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
