// C8 with many listeners: each is notified once, in slices, whatever happens to the others.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { registry, type Registry } from "../source/index.ts";
import { ENVELOPE, exchangeOf, gatewayOf, type ReadChannel, quiet } from "./kit.fixture.ts";

const MANY = 1_000;
const CHANGED = "notifications/tools/list_changed";

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Listener {
  readonly channel: ReadChannel;
  readonly leave: () => void;
  /** How often it was notified of its tools. */
  notifications(): number;
}

interface Hall extends AsyncDisposable {
  readonly source: Registry;
  readonly logged: unknown[];
  readonly gateway: ReturnType<typeof gatewayOf>;
  /** Opens one more listener of that era. */
  join(era: "legacy" | "modern"): Promise<Listener>;
}

function hall(): Hall {
  const source = registry({ tools: { look: { description: "Look.", work: () => "Here." } } });
  const logged: unknown[] = [];
  const gateway = gatewayOf(source, { rateLimit: false, log: (_level, data) => void logged.push(data) });
  const legacy = async (): Promise<Parameters<typeof exchangeOf>> => {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const begun = await gateway.exchange(exchangeOf("POST", {}, { jsonrpc: "2.0", id: 0, method: "initialize", params }).exchange);
    const headers = { "mcp-session-id": begun.headers?.["mcp-session-id"] ?? assert.fail() };
    await gateway.exchange(exchangeOf("POST", headers, { jsonrpc: "2.0", method: "notifications/initialized" }).exchange);
    return ["GET", headers];
  };
  const modern = (): Parameters<typeof exchangeOf> => {
    const params = { notifications: { toolsListChanged: true }, _meta: ENVELOPE };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
    return ["POST", headers, { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params }];
  };
  return {
    source,
    logged,
    gateway,
    async join(era) {
      const { channel, exchange, leave } = exchangeOf(...(era === "legacy" ? await legacy() : modern()));
      assert.equal((await gateway.exchange(exchange)).open, true);
      return { channel, leave, notifications: () => channel.messages.filter(({ method }) => method === CHANGED).length };
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

const joined = async (at: Hall, era: "legacy" | "modern", count: number): Promise<readonly Listener[]> => {
  const all: Listener[] = [];
  while (all.length < count) all.push(await at.join(era));
  await quiet();
  return all;
};

const countsOf = (all: readonly Listener[]): readonly number[] => [...new Set(all.map((one) => one.notifications()))];
const change = ({ source }: Hall, name = "door"): void =>
  void source.add({ tools: { [name]: { description: "A door.", work: () => "Open." } } });

for (const era of ["legacy", "modern"] as const)
  describe(`C8 a change notified to ${MANY} listeners, ${era}`, () => {
    test("is sent to each once, over several rounds of the event loop", async () => {
      await using at = hall();
      const all = await joined(at, era, MANY);
      change(at);
      await round();
      const first = all.filter((one) => one.notifications() > 0).length;
      assert.ok(first > 0 && first < MANY / 4, String(first));
      await quiet();
      assert.deepEqual(countsOf(all), [1]);
    });

    test("is sent to the others if a client leaves, throws or does not read", async () => {
      await using at = hall();
      const all = await joined(at, era, 400);
      const [left, broken, slow] = [all[0], all[1], all[2]];
      assert.ok(left !== undefined && broken !== undefined && slow !== undefined);
      slow.channel.block();
      broken.channel.send = () => {
        throw new Error("the socket");
      };
      for (const name of ["door", "window", "gate"]) change(at, name);
      left.leave();
      await quiet();
      assert.deepEqual(countsOf(all.slice(3)), [1]);
      assert.deepEqual([left.notifications(), slow.notifications()], [0, 0]);
      assert.match(JSON.stringify(at.logged), /notify-failed/);
      slow.channel.unblock();
      await quiet();
      assert.deepEqual(countsOf(all.slice(2)), [1]);
    });

    test("is sent to those that remain if some leave between two slices", async () => {
      await using at = hall();
      const all = await joined(at, era, 400);
      change(at);
      await round();
      const leaving = all.slice(-100);
      assert.deepEqual(countsOf(leaving), [0]);
      for (const one of leaving) one.leave();
      const newcomer = await at.join(era);
      await quiet();
      assert.deepEqual([countsOf(all.slice(0, -100)), countsOf(leaving), newcomer.notifications()], [[1], [0], 0]);
      at.source.remove("tools/door");
      await quiet();
      assert.deepEqual([countsOf(all.slice(0, -100)), countsOf(leaving), newcomer.notifications()], [[2], [0], 1]);
    });

    test("that is followed by another between two slices is sent once", async () => {
      await using at = hall();
      const all = await joined(at, era, 400);
      change(at);
      await round();
      const early = all.filter((one) => one.notifications() === 1);
      at.source.remove("tools/door");
      await quiet();
      assert.deepEqual(countsOf(early), [2]);
      // The lists are again those they saw last.
      assert.deepEqual(countsOf(all.filter((one) => !early.includes(one))), [0]);
    });

    test("does not keep a drain from ending all, though one cannot be ended", async () => {
      await using at = hall();
      const all = await joined(at, era, 3);
      const [broken] = all;
      assert.ok(broken !== undefined);
      broken.channel.send = broken.channel.close = () => {
        throw new Error("the socket");
      };
      await at.gateway.drain(0);
      assert.deepEqual(
        all.slice(1).map(({ channel }) => channel.ended),
        [true, true],
      );
      assert.match(JSON.stringify(at.logged), /end-failed/);
    });

    test("does not fail if the server drains between two slices", async () => {
      await using at = hall();
      const all = await joined(at, era, 400);
      change(at);
      await round();
      await at.gateway.drain(0);
      await quiet();
      for (const one of all) assert.ok(one.notifications() <= 1);
      assert.deepEqual(
        all.filter((one) => era === "legacy" && !one.channel.ended),
        [],
      );
    });
  });
