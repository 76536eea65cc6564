// What the console costs: recording alone, and an open page while many actors change; and how long it blocks the event loop.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { consoleFor, engineReader, recordLive } from "troupe/console";
import { DEFAULT_POLICY, type Behaviour, type Gateway } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { cast } from "troupe/source";
import { sqliteStore } from "troupe/store";
import { connectInMemory, serveHttp } from "troupe/transport";
import counter from "../examples/counter/index.ts";
import type { Asked } from "./asked.ts";
import { filled } from "./filled.ts";
import { plain } from "./kinds/plain.ts";
import { temporaryFolder } from "./leftovers.ts";
import { callers } from "./load.ts";
import { times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

const TOKEN = "t".repeat(43);
const CALLS = 20_000;
const CHANGES_A_SECOND = 5_000;
const NANOSECONDS = 1e6;

/** Calls a second of one client that sends them all at once. */
const pipelined = async (gateway: Gateway): Promise<number> => {
  await using client = connectInMemory(gateway);
  let answered = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  client.onMessage(() => {
    answered += 1;
    if (answered === CALLS) resolve();
  });
  const params = { name: "add", arguments: { by: 1 }, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
  const started = performance.now();
  for (let id = 0; id < CALLS; id += 1) client.send(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }));
  await promise;
  return (CALLS * 1_000) / (performance.now() - started);
};

const recording = async (quick: boolean): Promise<void> => {
  using live = recordLive();
  await using engine = await LocalEngine.start({ kinds: [counter] });
  const source = cast({ engine, kinds: [counter] });
  await using gateway = createGateway({ source, info: { name: "bench", version: "1" }, rateLimit: false });
  const recorded = live.gateway(gateway, "memory");
  const [bare = [], watched = []] = await rounds(
    quick ? 5 : 21,
    () => pipelined(gateway),
    () => pipelined(recorded),
  );
  const what = "pipelined calls a second, in memory, through a gateway that is recorded, of the same unrecorded";
  print({ what, measured: times(watched, bare), unit: "×", least: 0.98 });
};

/** Reads a stream until it is aborted. */
const read = async (url: string, signal: AbortSignal): Promise<void> => {
  try {
    const response = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` }, signal });
    await response.text();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

/** So many turns a second, of many actors in turn. Returns how long the loop was blocked at most, in milliseconds. */
const blocked = async (engine: LocalEngine, actors: number, forMs: number): Promise<number> => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let next = 0;
  delay.enable();
  for (const end = performance.now() + forMs; performance.now() < end; await setTimeout(10))
    await Promise.all(
      Array.from({ length: CHANGES_A_SECOND / 100 }, () => {
        next = (next + 7) % actors;
        return engine.call({ to: `plain-disk/a${next}`, action: "add", args: {}, start: null });
      }),
    );
  delay.disable();
  return delay.max / NANOSECONDS;
};

const page = async (quick: boolean): Promise<void> => {
  const actors = quick ? 2_000 : 100_000;
  using folder = temporaryFolder();
  await filled(folder.path, actors);
  await using store = sqliteStore({ directory: folder.path });
  using live = recordLive();
  const { policy, ...rest } = plain("disk");
  const kind: Behaviour = { ...rest, policy: { ...DEFAULT_POLICY, ...policy } };
  await using engine = await LocalEngine.start({ kinds: [kind], store, observer: live.observer });
  const source = cast({ engine, kinds: [] });
  await using gateway = createGateway({ source, info: { name: "bench", version: "1" }, observer: live.observer });
  const endpoints = consoleFor({
    about: { name: "bench", version: "1", engine: "sqlite", development: false, docs: "docs" },
    reader: engineReader(() => engine, store),
    running: () => ({ engine, kinds: [kind], indexes: [], source }),
    live,
    token: TOKEN,
    now: () => Date.now(),
  });
  await using listener = await serveHttp({ gateway: live.gateway(gateway, "http"), endpoints });
  const url = `http://127.0.0.1:${listener.port}/console/api/stream?watch=figures,changes,traffic`;
  const forMs = quick ? 1_000 : 10_000;
  await blocked(engine, actors, 1_000);
  const [shutMs, openMs, shut, open]: number[][] = [[], [], [], []];
  const burst = (): Promise<number> =>
    callers(64, quick ? 200 : 1_000, (caller) => engine.call({ to: `plain-disk/a${caller}`, action: "add", args: {}, start: null }));
  for (let round = 0; round < 3; round += 1) {
    shutMs?.push(await blocked(engine, actors, forMs));
    shut?.push(await burst());
    const closed = new AbortController();
    const reading = read(url, closed.signal);
    openMs?.push(await blocked(engine, actors, forMs));
    open?.push(await burst());
    closed.abort();
    await reading;
  }
  const among = `${actors} actors, ${CHANGES_A_SECOND} changes a second`;
  print({ what: `longest wait of the event loop without a page, ${among}`, measured: shutMs ?? [], unit: "ms" });
  print({
    what: `with a page that reads figures, changes and traffic, ${among}`,
    measured: openMs ?? [],
    unit: "ms",
    target: 20,
    best: true,
  });
  print({
    what: "turns on disk a second with that page, of the same without it",
    measured: times(open ?? [], shut ?? []),
    unit: "×",
    least: 0.98,
  });
};

export const run = async ({ quick }: Asked): Promise<void> => {
  await recording(quick);
  await page(quick);
};
