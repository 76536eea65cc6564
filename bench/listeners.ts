// A call that changes the content of a resource, with 10,000 sessions that listen to list changes, compared with one session.
import { setImmediate } from "node:timers/promises";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { cast } from "troupe/source";
import { connectInMemory } from "troupe/transport";
import type { BenchOptions } from "./options.ts";
import { visibleCounter } from "./kinds/visible-counter.ts";
import { INITIALIZE, INITIALIZED } from "./mcp-requests.ts";
import { times } from "./statistics.ts";
import { each, print, rounds } from "./table.ts";

const MANY = 10_000;

/** An engine with one actor, `listeners` sessions, and a function that makes calls of the first session. */
const serveListeners = async (listeners: number) => {
  const engine = await LocalEngine.start({ kinds: [visibleCounter] });
  const gateway = createGateway({
    source: cast({ engine, kinds: [visibleCounter] }),
    info: { name: "bench", version: "1" },
    rateLimit: false,
    log: () => undefined,
  });
  const clients = Array.from({ length: listeners }, () => connectInMemory(gateway, { scopes: [] }));
  for (const client of clients) {
    client.send(INITIALIZE);
    client.send(INITIALIZED);
  }
  await setImmediate();
  const [caller] = clients;
  if (caller === undefined) throw new Error("There are no listeners.");
  let answered: (text: string) => void = () => undefined;
  caller.onMessage((text) => answered(text));
  let count = 0;
  const call = async (): Promise<void> => {
    count += 1;
    const { promise, resolve } = Promise.withResolvers<string>();
    answered = resolve;
    caller.send({ jsonrpc: "2.0", id: count, method: "tools/call", params: { name: "add", arguments: {} } });
    const reply = await promise;
    const wanted = JSON.stringify({ jsonrpc: "2.0", id: count, result: { content: [{ type: "text", text: String(count) }] } });
    if (reply !== wanted) throw new Error(`Bad answer: ${reply} is not ${wanted}.`);
  };
  const end = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
    await gateway[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  };
  return { call, [Symbol.asyncDispose]: end };
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  const calls = quick ? 500 : 2_000;
  await using one = await serveListeners(1);
  await using many = await serveListeners(MANY);
  const [alone = [], among = []] = await rounds(
    quick ? 5 : 31,
    () => each(calls, one.call),
    () => each(calls, many.call),
  );
  const what = `a call that changes a resource, ${MANY} sessions listen to lists`;
  print({ what, measured: among, unit: "µs" });
  print({ what: `${what}, beside one`, measured: times(among, alone), unit: "×", target: 1.5 });
};
