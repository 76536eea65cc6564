import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { SimulatedClock } from "../../testing/index.ts";
import { OpenStreams } from "./open-streams.ts";
import { PeerCounts } from "./peer-counts.ts";

const from = (address: string): Socket => Object.defineProperty(new Socket(), "remoteAddress", { value: address });

test("connections of one network of IPv6 are those of one peer", () => {
  const peers = new PeerCounts(2);
  const first = from("2001:db8:1:2::1");
  assert.deepEqual(
    [first, from("2001:db8:1:2::2"), from("2001:db8:1:2::3")].map((socket) => peers.enter(socket)),
    [true, true, false],
  );
  assert.equal(peers.enter(from("2001:db8:1:3::1")), true);
  peers.leave(first);
  assert.equal(peers.enter(from("2001:db8:1:2::3")), true);
});

test("an address of IPv4 is one peer, however it is written, and this machine has no bound", () => {
  const peers = new PeerCounts(1);
  assert.deepEqual(
    ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"].map((address) => peers.enter(from(address))),
    [true, false, true],
  );
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
    for (let time = 0; time < 3; time += 1) assert.ok(peers.enter(from(address)));
});

test("streams of one network of IPv6 are those of one peer", () => {
  const streams = new OpenStreams({ streams: 10, streamsPerCaller: 2, keepAliveMs: 1_000 }, new SimulatedClock());
  const admitted = (peer: string): boolean => streams.admit({ scopes: [], peer }) !== undefined;
  assert.deepEqual(["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"].map(admitted), [true, true, false, true]);
});
