import { isBag, type OptionRule } from "../contract/index.ts";
import { isTexts } from "../contract/internal.ts";
import { hostName, isAddress } from "./address.ts";

/** Of the option `auth` of every door. */
export const AUTH: OptionRule = ["what authenticator(…) resolves to: `auth: await authenticator(…)`", isAuthenticator];

function isAuthenticator(value: unknown): boolean {
  if (!isBag(value)) return false;
  const { check, metadata, scopes, issuers }: Readonly<Record<string, unknown>> = value;
  return typeof check === "function" && typeof metadata === "function" && Array.isArray(scopes) && Array.isArray(issuers);
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
  'a list of origins, each of scheme and host as "https://app.example", or "*"',
  (value) => isTexts(value) && value.every((one) => one === "*" || ORIGIN.test(one)),
];

const ORIGIN = /^https?:\/\/[^/?#@]+\/?$/i;
