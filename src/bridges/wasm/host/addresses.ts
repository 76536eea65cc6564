import { BlockList, isIP } from "node:net";

const SUBNETS = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Teredo and its kin, documentation, 6to4: each may carry a private address of IPv4.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
];

const blocked = new BlockList();
for (const subnet of SUBNETS) {
  const [address = "", bits] = subnet.split("/");
  blocked.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
}
const global = new BlockList();
global.addSubnet("2000::", 3, "ipv6");

/** Whether it can be an address of the internet: not private, loopback, link-local, multicast, documentation or a way round to these. */
export function isPublic(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !blocked.check(address, "ipv4");
  // All that is in use of IPv6 is below 2000::/3; what is mapped or translated from IPv4 is outside it.
  return version === 6 && !address.includes("%") && global.check(address, "ipv6") && !blocked.check(address, "ipv6");
}
