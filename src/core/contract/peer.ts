import { remembering } from "./remembering.ts";

const GROUPS = 8;
/** Of those, what a network is given; the rest it gives to whom it likes. */
const NETWORK = 4;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const IPV6 = /^[0-9a-f:]*:[0-9a-f:]*$/i;

const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));

const network = remembering((address): string => {
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [bare = ""] = address.split("%");
  if (!IPV6.test(bare)) return address;
  const [head = "", tail = ""] = bare.split("::");
  const [before, after] = [groups(head), groups(tail)];
  const between = Array.from({ length: Math.max(0, GROUPS - before.length - after.length) }, () => "0");
  const first = [...before, ...between, ...after].slice(0, NETWORK);
  return `${first.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
});

/** Who is to be counted for an address: whoever has one of IPv6 has 2^64 of them, so all of its network is one. Empty: nobody knows. */
export const peerOf = (address: string | undefined): string => (address === undefined ? "" : network(address));
