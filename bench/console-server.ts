// A server with the console and a load. Arguments: the folder, the number of actors, and the token.
// `POST /measure?kind=plain-disk&changes=5000&calls=200&ms=10000` makes so many changes and MCP calls per second, and answers with the
// measurements.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { consoleFor, engineReader, recordLive } from "troupe/console";
import { type Behaviour, DEFAULT_POLICY, type HttpMount } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { cast } from "troupe/source";
import { sqliteStore } from "troupe/store";
import { connectInMemory, serveHttp } from "troupe/transport";
import counter from "../examples/counter/index.ts";
import { consoleFiles } from "../src/cli/console-parts.ts";
import { plain } from "./kinds/plain.ts";
import { callers } from "./load.ts";

const NANOSECONDS = 1e6;
const TICK_MS = 10;
/** The number of actors that change repeatedly. */
const CHANGING = 1_000;

const [folder = "", actors = "100", token = ""] = process.argv.slice(2);
await using store = sqliteStore({ directory: folder });
using live = recordLive();
const kinds: readonly Behaviour[] = (["disk", "memory"] as const).map((place) => {
  const { policy, ...rest } = plain(place);
  return { ...rest, policy: { ...DEFAULT_POLICY, ...policy } };
});
await using engine = await LocalEngine.start({ kinds: [...kinds, counter], store, observer: live.observer });
const source = cast({ engine, kinds: [counter] });
await using gateway = createGateway({ source, info: { name: "bench", version: "1" }, rateLimit: false, observer: live.observer });
const recorded = live.gateway(gateway, "http");
await using client = connectInMemory(recorded);

let next = 0;
const change = (kind: string) => (): Promise<unknown> => {
  next = (next + 7) % Math.min(CHANGING, Number(actors));
  return engine.call({ to: `${kind}/a${next}`, action: "add", args: {}, start: null });
};
const params = { name: "add", arguments: { by: 1 }, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
const call = (id: number): void => client.send(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }));

/** Makes changes and calls at a fixed rate. Follows the clock, since an iteration may take longer than a tick. */
const paced = async (kind: string, changes: number, calls: number, forMs: number) => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const started = performance.now();
  let [changed, called] = [0, 0];
  delay.enable();
  for (let past = 0; past < forMs; past = performance.now() - started) {
    for (; called < (calls * past) / 1_000; called += 1) call(called);
    const due = Math.min(Math.ceil((changes * past) / 1_000) - changed, changes / 10);
    changed += due;
    await Promise.all([setTimeout(TICK_MS), ...Array.from({ length: due }, change(kind))]);
  }
  delay.disable();
  const seconds = (performance.now() - started) / 1_000;
  return { blockedMs: delay.max / NANOSECONDS, changesPerSecond: changed / seconds };
};

const measure: HttpMount = {
  path: "/measure",
  verbs: ["POST"],
  async handle({ query }) {
    const given = new URLSearchParams(query);
    const number = (name: string): number => Number(given.get(name) ?? 0);
    const kind = given.get("kind") ?? "plain-disk";
    const body = given.has("callers")
      ? { turnsPerSecond: await callers(number("callers"), number("ms"), change(kind)) }
      : await paced(kind, number("changes"), number("calls"), number("ms"));
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  },
};
const assets = await consoleFiles((_, __, fields) => console.error(fields));
const endpoints = consoleFor({
  about: { name: "bench", version: "1", engine: "sqlite", development: false, docs: "docs" },
  reader: engineReader(() => engine, store),
  running: () => ({ engine, kinds: [...kinds, counter], indexes: [], source }),
  live,
  token,
  ...(assets === undefined ? {} : { assets }),
  now: () => Date.now(),
});
await using listener = await serveHttp({ gateway: recorded, endpoints: [...endpoints, measure] });
console.log(JSON.stringify({ ready: true, port: listener.port }));
const { promise: ended, resolve: end } = Promise.withResolvers<void>();
process.once("SIGTERM", () => end());
await ended;
