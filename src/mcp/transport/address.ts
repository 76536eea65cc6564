import { isIP, isIPv4 } from "node:net";

/** The name part of `name:port`, lower-case, without brackets and the root's dot. Undefined: not a host. */
export function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\\?#\s]+))(?::(\d{1,5}))?$/i.exec(host);
  const name = match?.[1] ?? match?.[2];
  return name?.toLowerCase().replace(/\.$/, "");
}

export const isAddress = (name: string): boolean => isIP(name) !== 0;

/** A name or address that only this machine reaches. */
export function isLoopback(name: string): boolean {
  const bare = name.toLowerCase().replace(/^\[|\]$/g, "");
  if (bare === "localhost" || bare === "::1" || bare === "0:0:0:0:0:0:0:1") return true;
  const v4 = bare.startsWith("::ffff:") ? bare.slice(7) : bare;
  return isIPv4(v4) && v4.startsWith("127.");
}

/** `host:port`, an IPv6 address in brackets. */
export const authority = (host: string, port: number): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;
