import { hostName, isAddress, isLoopback } from "./address.ts";
import { remembering } from "../../core/contract/internal.ts";

export interface GuardOptions {
  /** The address the server listens on. */
  readonly host: string;
  /** Further names clients may use, `name` or `name:port`; `*` for any. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call, `https://app.example`, of any scheme; `*` for any. */
  readonly allowedOrigins: readonly string[];
  /** Where clients know the server by, when that is another name. */
  readonly resource: string | undefined;
}

/**
 * Who may be talking, by the names the request carries. A page that rebinds its
 * own name to this machine still sends that name as `Host`, so names are refused
 * unless they are known here.
 */
export interface HttpGuard {
  /** True: the request names a host this server answers to. */
  host(value: string | undefined): boolean;
  /** True: no web page sent it, or one of an allowed origin. */
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

  const known = remembering(knows);

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
