import { isBag, type OptionRule, TroupeError } from "../../core/contract/index.ts";
import { isTexts } from "../../core/contract/internal.ts";
import { hostName, isAddress } from "./address.ts";
import type { Authenticator } from "./auth/index.ts";

/** Of the option `auth` of every door. */
export const AUTH: OptionRule = ["what authenticator(…) resolves to: `auth: await authenticator(…)`", isAuthenticator];

function isAuthenticator(value: unknown): boolean {
  if (!isBag(value)) return false;
  const { check, metadata, scopes, issuers }: Readonly<Record<string, unknown>> = value;
  return typeof check === "function" && typeof metadata === "function" && Array.isArray(scopes) && Array.isArray(issuers);
}

/** The audience of tokens is configured, or the address where we listen. What a client sends cannot say it: throws `DOOR_OPTION`. */
export function refuseUnaddressed(transport: string, auth: Authenticator | undefined): void {
  if (auth?.needsResource !== true) return;
  throw new TroupeError(
    "DOOR_OPTION",
    `Tokens of an issuer over ${transport} need the resource or audience they are made for: give the authenticator one (--resource or --audience).`,
  );
}

// What no Host can be would be allowed in vain: a URL, or a pattern.
const isHost = (text: string): boolean => text === "*" || isAddress(text) || (!text.includes("*") && hostName(text) !== undefined);

/** Of `allowedHosts`. */
export const HOSTS: OptionRule = [
  'a list of hosts, each a name as "mcp.example", with a port where that one alone counts, or "*"',
  (value) => isTexts(value) && value.every(isHost),
];

/** Of `allowedOrigins`. */
export const ORIGINS: OptionRule = [
  'a list of origins, each of scheme and host as "https://app.example" or "chrome-extension://<id>", or "*"',
  (value) => isTexts(value) && value.every((one) => one === "*" || ORIGIN.test(one)),
];

// RFC 6454, 6.2: any scheme. `null` is left out: pages of every site can have it. A pattern would be allowed in vain.
const ORIGIN = /^(?:https?:\/\/[^/?#@*\s]+|(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s]*)\/?$/i;
