import assert from "node:assert/strict";
import { test } from "node:test";
import { peerOf } from "./peer.ts";

test("a peer is an address of IPv4, and of IPv6 the network it is in", () => {
  const same: readonly (readonly [address: string, peer: string])[] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:2:ffff::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["local", "local"],
    ["unix:/run/troupe.sock", "unix:/run/troupe.sock"],
  ];
  for (const [address, peer] of same) assert.equal(peerOf(address), peer, address);
  assert.notEqual(peerOf("2001:db8:1:2::1"), peerOf("2001:db8:1:3::1"));
  assert.equal(peerOf(undefined), "");
});
