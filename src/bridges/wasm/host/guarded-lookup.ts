import { lookup as systemLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { isPublic } from "./addresses.ts";
import type { HttpLimits } from "./http-limits.ts";

export const blockedError = (host: string): Error =>
  new Error(`${host} is a private, loopback or reserved address: guests reach public addresses only.`);

/** The connection goes to an address that was checked: nothing is asked a second time. */
export function guarded({ allowPrivate = false, lookup = systemLookup }: HttpLimits): LookupFunction {
  return (hostname, options, callback) => {
    const all: LookupOptions = { ...options, all: true };
    const found = (error: NodeJS.ErrnoException | null, given: string | LookupAddress[]): void => {
      if (error) return callback(error, "");
      const addresses = typeof given === "string" ? [{ address: given, family: isIP(given) }] : given;
      const open = allowPrivate ? addresses : addresses.filter(({ address }) => isPublic(address));
      const [first] = open;
      if (first === undefined) return callback(blockedError(hostname), "");
      if (options.all === true) callback(null, open);
      else callback(null, first.address, first.family);
    };
    lookup(hostname, all, found);
  };
}
