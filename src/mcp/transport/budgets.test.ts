import assert from "node:assert/strict";
import * as fc from "fast-check";
import { describe, test } from "node:test";
import { SimulatedClock } from "../../testing/index.ts";
import { type Upload, FREE_BYTES, UploadBudget, type NoRoom, ConnectionsPerPeer } from "./budgets.ts";
import { Socket } from "node:net";
import { OpenStreams } from "./open-streams.ts";

const STEP = 65_536;
const MOST = 10 * STEP;
const stepsOf = (size: number): number => Math.ceil(size / STEP) * STEP;

function uploadBudget(bytes = MOST, longest = 4 * STEP) {
  const clock = new SimulatedClock(0);
  let full = 0;
  const uploads = new UploadBudget({ bytes, longest, clock, onFull: () => (full += 1) });
  const given: [name: string, why: NoRoom][] = [];
  const begin = (name: string, from?: string): Upload => uploads.begin(from, (why) => given.push([name, why]));
  return { clock, uploads, given, begin, fullEvents: () => full };
}

interface Message {
  readonly name: string;
  readonly arriving: Upload;
  size: number;
  grownAt: number;
  over: boolean;
}

type Step = { readonly do: "begin" | "grow" | "end" | "wait"; readonly which: number; readonly bytes: number };

const steps = fc.array(
  fc.record({
    do: fc.constantFrom<Step["do"]>("begin", "begin", "grow", "grow", "grow", "end", "wait"),
    which: fc.nat({ max: 1_000 }),
    bytes: fc.integer({ min: 1, max: 3 * STEP }),
  }),
  { maxLength: 80 },
);

describe("uploads of one transport", () => {
  test("never exceed the budget; room is returned once; stalled or newest uploads are evicted", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (script) => {
        const { clock, uploads, given, begin } = uploadBudget();
        const live: Message[] = [];
        const all: Message[] = [];
        const grow = (message: Message, bytes: number): void => {
          const before = given.length;
          message.size += bytes;
          const takes = stepsOf(message.size) > stepsOf(message.size - bytes);
          if (takes) message.grownAt = clock.now();
          const held = message.arriving.holds(message.size);
          for (const [name, why] of given.slice(before)) {
            const disconnected = live.find((one) => one.name === name);
            assert.ok(disconnected !== undefined, "an upload is evicted at most once, and not after its end");
            const stalled = live.filter((one) => clock.now() - one.grownAt >= 5_000);
            if (why === "stalled") assert.ok(stalled.includes(disconnected));
            else assert.deepEqual([stalled, disconnected], [[], live.at(-1)]);
            disconnected.over = true;
            live.splice(live.indexOf(disconnected), 1);
          }
          assert.equal(held, !message.over);
          if (!takes) assert.equal(given.length, before);
        };
        for (const step of script) {
          const message = live[step.which % live.length];
          if (step.do === "wait") await clock.advance(step.which * 5);
          else if (step.do === "begin") {
            const name = `m${all.length}`;
            const begun = { name, arriving: begin(name), size: 0, grownAt: 0, over: false };
            all.push(begun);
            live.push(begun);
            grow(begun, Math.max(FREE_BYTES + 1, step.bytes));
          } else if (message !== undefined && step.do === "grow") grow(message, step.bytes);
          else if (message !== undefined) {
            live.splice(live.indexOf(message), 1);
            message.over = true;
            message.arriving.end();
          }
          assert.equal(
            uploads.held,
            live.reduce((sum, { size }) => sum + stepsOf(size), 0),
          );
          assert.ok(uploads.held <= MOST);
        }
        for (const { arriving } of all) {
          arriving.end();
          arriving.end();
          assert.equal(arriving.holds(1), false);
        }
        assert.equal(uploads.held, 0);
      }),
    );
  });

  test("an older upload continues, even if newer ones use the whole budget", () => {
    const { given, begin } = uploadBudget(4 * STEP);
    const [first, second, third] = [begin("first"), begin("second"), begin("third")];
    assert.deepEqual([first.holds(STEP), second.holds(STEP), third.holds(2 * STEP)], [true, true, true]);
    assert.equal(first.holds(3 * STEP), true);
    assert.equal(second.holds(STEP), true);
    assert.deepEqual(given, [["third", "full"]]);
    assert.equal(first.holds(4 * STEP), true);
    assert.deepEqual(given.slice(1), [["second", "full"]]);
    assert.equal(begin("fourth").holds(FREE_BYTES + 1), false);
    assert.deepEqual(given.slice(2), [["fourth", "full"]]);
  });

  test("a single message always fits, whatever the budget", () => {
    const { uploads, begin } = uploadBudget(0, 100_000);
    const one = begin("one");
    assert.equal(one.holds(100_000), true);
    assert.equal(begin("other").holds(20_000), false);
    one.end();
    assert.equal(uploads.held, 0);
  });

  test("of the peer that uses most, the newest are evicted first", () => {
    const { uploads, begin, given } = uploadBudget();
    const greedy = ["a", "b", "c", "d"].map((name) => begin(name, "2001:db8::1"));
    for (const one of greedy) assert.equal(one.holds(2 * STEP), true);
    const another = begin("another", "2001:db8::2");
    assert.equal(another.holds(2 * STEP), true);
    // Of one network of IPv6: it took most.
    assert.equal(begin("e", "2001:db8::3").holds(STEP), false);
    assert.equal(begin("others", "192.0.2.1").holds(3 * STEP), true);
    assert.deepEqual(given, [
      ["e", "full"],
      ["another", "full"],
      ["d", "full"],
    ]);
    assert.equal(uploads.held, 9 * STEP);
  });

  test("a full budget is reported once, not for each eviction", async () => {
    const { clock, begin, fullEvents } = uploadBudget(STEP, STEP);
    begin("one").holds(STEP);
    for (let n = 0; n < 100; n += 1) begin(`more ${n}`).holds(STEP);
    assert.equal(fullEvents(), 1);
    await clock.advance(5_000);
    begin("another").holds(STEP);
    assert.equal(fullEvents(), 2);
  });
});

const from = (address: string): Socket => Object.defineProperty(new Socket(), "remoteAddress", { value: address });

test("connections of one IPv6 network count as one peer", () => {
  const peers = new ConnectionsPerPeer(2);
  const first = from("2001:db8:1:2::1");
  assert.deepEqual(
    [first, from("2001:db8:1:2::2"), from("2001:db8:1:2::3")].map((socket) => peers.enter(socket)),
    [true, true, false],
  );
  assert.equal(peers.enter(from("2001:db8:1:3::1")), true);
  peers.leave(first);
  assert.equal(peers.enter(from("2001:db8:1:2::3")), true);
});

test("an IPv4 address is one peer in any notation, and loopback is not limited", () => {
  const peers = new ConnectionsPerPeer(1);
  assert.deepEqual(
    ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"].map((address) => peers.enter(from(address))),
    [true, false, true],
  );
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
    for (let time = 0; time < 3; time += 1) assert.ok(peers.enter(from(address)));
});

test("streams of one IPv6 network count as one peer", () => {
  const streams = new OpenStreams({ streams: 10, streamsPerCaller: 2, keepAliveMs: 1_000 }, new SimulatedClock());
  const admitted = (peer: string): boolean => streams.admit({ scopes: [], peer }) !== undefined;
  assert.deepEqual(["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"].map(admitted), [true, true, false, true]);
});
