// Owns: which Host and Origin headers a server accepts, and the options that say so. Does not own: the answer to others (http-checks.ts).
import { isIP } from "node:net";
import type { OptionRule } from "../../core/contract/index.ts";
import { isTexts, memoizeByString } from "../../core/contract/internal.ts";
import { isLoopback } from "./listen.ts";

/** The name part of `name:port`, lower-case, without brackets and the root's dot. Undefined: not a host. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\\?#\s]+))(?::(\d{1,5}))?$/i.exec(host);
  const name = match?.[1] ?? match?.[2];
  return name?.toLowerCase().replace(/\.$/, "");
}

const isAddress = (name: string): boolean => isIP(name) !== 0;

export interface GuardOptions {
  /** The address the server listens on. */
  readonly host: string;
  /** Further names clients may use, `name` or `name:port`; `*` for any. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call, `https://app.example`, of any scheme; `*` for any. */
  readonly allowedOrigins: readonly string[];
  /** The address by which clients know the server, if it is another one. */
  readonly resource: string | undefined;
}

/**
 * Host and Origin checks against DNS rebinding: a page that rebinds its own name to this machine still sends that name as `Host`,
 * so only known names are accepted.
 */
export interface HttpGuard {
  /** True: the request names a host this server answers to. */
  host(value: string | undefined): boolean;
  /** True: it was not sent by a web page, or by one of an allowed origin. */
  origin(value: string | undefined, host: string): boolean;
  /** True: pages of that origin may read answers. */
  cors(value: string | undefined): value is string;
}

export function httpGuard({ host, allowedHosts, allowedOrigins, resource }: GuardOptions): HttpGuard {
  const bound = hostName(host.includes(":") ? `[${host}]` : host);
  const local = isLoopback(host);
  const hosts = new Set(allowedHosts.map((entry) => entry.toLowerCase()));
  const origins = new Set(allowedOrigins.map((entry) => entry.toLowerCase().replace(/(?<!\/)\/$/, "")));
  if (resource !== undefined && URL.canParse(resource)) hosts.add(new URL(resource).hostname);

  const knows = (value: string): boolean => {
    const name = hostName(value);
    if (name === undefined) return false;
    if (hosts.has("*") || hosts.has(name) || hosts.has(value.toLowerCase())) return true;
    if (isLoopback(name)) return true;
    // Beyond loopback an address is safe too: rebinding needs a name.
    return !local && (name === bound || isAddress(name));
  };

  const known = memoizeByString(knows);

  const listed = (value: string): boolean => origins.has("*") || origins.has(value.toLowerCase());

  return {
    host: (value) => value !== undefined && known(value),
    origin(value, hostHeader) {
      if (value === undefined || listed(value)) return true;
      const match = /^https?:\/\/([^/?#@]+)$/i.exec(value);
      if (match?.[1] === undefined) return false;
      const name = hostName(match[1]);
      if (local && name !== undefined && isLoopback(name)) return true;
      return match[1].toLowerCase() === hostHeader.toLowerCase();
    },
    cors: (value): value is string => value !== undefined && listed(value),
  };
}

// URLs and patterns are refused: no Host header could match them.
const isHost = (text: string): boolean => text === "*" || isAddress(text) || (!text.includes("*") && hostName(text) !== undefined);

/** The rule for `allowedHosts`. */
export const HOSTS: OptionRule = [
  'a list of hosts, each a name as "mcp.example", with a port where that one alone counts, or "*"',
  (value) => isTexts(value) && value.every(isHost),
];

/** The rule for `allowedOrigins`. */
export const ORIGINS: OptionRule = [
  'a list of origins, each of scheme and host as "https://app.example" or "chrome-extension://<id>", or "*"',
  (value) => isTexts(value) && value.every((one) => one === "*" || ORIGIN.test(one)),
];

// RFC 6454, 6.2: any scheme. Not `null`, which pages of every site can have, and no patterns, which would match nothing.
const ORIGIN = /^(?:https?:\/\/[^/?#@*\s]+|(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s]*)\/?$/i;
