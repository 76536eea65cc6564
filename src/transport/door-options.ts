import { boundsOf, checkOptions, FUNCTION, isBag, type OptionRule, TEXTS, TroupeError } from "../contract/index.ts";
import { onlyOptions } from "../contract/internal.ts";
import { hostName, isAddress } from "./address.ts";
import type { Authenticator } from "./auth/index.ts";

const AUTH: OptionRule = ["what authenticator(…) resolves to: `auth: await authenticator(…)`", isAuthenticator];

function isAuthenticator(value: unknown): boolean {
  if (!isBag(value)) return false;
  const { check, metadata, scopes, issuers }: Readonly<Record<string, unknown>> = value;
  return typeof check === "function" && typeof metadata === "function" && Array.isArray(scopes) && Array.isArray(issuers);
}

// What no Host can be would be allowed in vain: a URL, or a pattern.
const isHost = (text: string): boolean => isAddress(text) || (!text.includes("*") && hostName(text) !== undefined);

interface DoorOptions {
  readonly auth?: Authenticator;
  readonly allowedHosts?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly limits?: object;
}

/** The names of a door's options: each of them, and no other. */
export type OptionNames<O> = Readonly<Record<keyof O, true>>;

/** What doors check alike before they open: `door` is what has these options, all of which are `known`. Throws `DOOR_OPTION`. */
export function checkDoor(door: string, options: DoorOptions, known: object, limits: object): void {
  onlyOptions(door, options, known);
  checkOptions(options, {
    auth: AUTH,
    allowedHosts: TEXTS,
    allowedOrigins: TEXTS,
    limits: boundsOf(limits),
    ready: FUNCTION,
    log: FUNCTION,
  });
  for (const host of options.allowedHosts ?? [])
    if (host !== "*" && !isHost(host))
      throw new TroupeError("DOOR_OPTION", `"${host}" is not a host: give its name, mcp.example, with a port where that one alone counts.`);
  for (const origin of options.allowedOrigins ?? [])
    if (origin !== "*" && !/^https?:\/\/[^/?#@]+\/?$/i.test(origin))
      throw new TroupeError("DOOR_OPTION", `"${origin}" is not an origin: give scheme and host, https://app.example.`);
}
