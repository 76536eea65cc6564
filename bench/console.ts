// The cost of the console: recording alone, and an open page while many actors change. Also the frame rate and memory of that page.
import { recordLive } from "troupe/console";
import type { Gateway } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { cast } from "troupe/source";
import { connectInMemory } from "troupe/transport";
import * as z from "zod";
import counter from "../examples/counter/index.ts";
import { launchBrowser } from "../test/browser/playwright.ts";
import type { BenchOptions } from "./options.ts";
import { Servers, start } from "./server-process.ts";
import { fillStore } from "./filled-store.ts";
import { temporaryFolder } from "./cleanup.ts";
import { pinLoad } from "./cpu-pinning.ts";
import { times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

const TOKEN = "t".repeat(43);
const CALLS = 40_000;
const CHANGES_A_SECOND = 5_000;
const CALLS_A_SECOND = 200;

/** Calls per second of CPU time, of one client that pipelines all calls. */
const pipelined = async (gateway: Gateway): Promise<number> => {
  await using client = connectInMemory(gateway);
  let answered = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  client.onMessage(() => {
    answered += 1;
    if (answered === CALLS) resolve();
  });
  const params = { name: "add", arguments: { by: 1 }, _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
  const started = process.cpuUsage();
  for (let id = 0; id < CALLS; id += 1) client.send(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }));
  await promise;
  const { user, system } = process.cpuUsage(started);
  return (CALLS * 1e6) / (user + system);
};

const recording = async (quick: boolean): Promise<void> => {
  using _load = pinLoad();
  using live = recordLive();
  await using engine = await LocalEngine.start({ kinds: [counter] });
  const source = cast({ engine, kinds: [counter] });
  await using gateway = createGateway({ source, info: { name: "bench", version: "1" }, rateLimit: false });
  const recorded = live.gateway(gateway, "memory");
  const [bare = [], watched = []] = await rounds(
    quick ? 5 : 31,
    () => pipelined(gateway),
    () => pipelined(recorded),
  );
  const what = "pipelined calls in a second of CPU time, in memory, through a gateway that is recorded, of the same unrecorded";
  print({ what, measured: times(watched, bare), unit: "×", least: 0.98 });
};

const measured = z.object({ blockedMs: z.number(), changesPerSecond: z.number() });
const burst = z.object({ turnsPerSecond: z.number() });

/** A client of console-server.ts, which makes the load and measures. */
class Load {
  readonly #url: string;

  constructor(port: unknown) {
    this.#url = `http://127.0.0.1:${Number(port)}`;
  }

  async #post(query: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/measure?${query}`, { method: "POST" });
    return await response.json();
  }

  async run(ms: number, kind = "plain-disk"): Promise<z.infer<typeof measured>> {
    return measured.parse(await this.#post(`kind=${kind}&changes=${CHANGES_A_SECOND}&calls=${CALLS_A_SECOND}&ms=${ms}`));
  }

  /** Turns per second. */
  async burst(ms: number): Promise<number> {
    return burst.parse(await this.#post(`callers=64&ms=${ms}`)).turnsPerSecond;
  }

  /** Reads the same streams as a page while `act` runs. */
  async following<T>(act: () => Promise<T>): Promise<T> {
    const closed = new AbortController();
    const url = `${this.#url}/console/api/stream?watch=figures,changes,traffic`;
    const reading = fetch(url, { headers: { authorization: `Bearer ${TOKEN}` }, signal: closed.signal })
      .then((response) => response.text())
      .catch(() => undefined);
    const result = await act();
    closed.abort();
    await reading;
    return result;
  }

  page(path: string): string {
    return `${this.#url}/console${path}#token=${TOKEN}`;
  }
}

const seen = z.object({ slowest: z.number(), heapBytes: z.number() });

/** A script that returns the frames of the slowest second, and the memory in use at the end. */
const frameScript = (ms: number): string => `new Promise((resolve) => {
  const seconds = [];
  const began = performance.now();
  const frame = (at) => {
    const second = Math.floor((at - began) / 1000);
    if (second >= 0) seconds[second] = (seconds[second] ?? 0) + 1;
    if (at - began < ${ms}) requestAnimationFrame(frame);
    else resolve({ slowest: Math.min(...Array.from(seconds.slice(0, -1), (count) => count ?? 0)), heapBytes: performance.memory.usedJSHeapSize });
  };
  requestAnimationFrame(frame);
})`;

const PAGES = { overview: "/", actors: "/actors", history: "/actors/plain-disk/a7/history", traffic: "/traffic" };

const page = async (quick: boolean): Promise<void> => {
  const [actors, events] = quick ? [2_000, 2] : [100_000, 10];
  const forMs = quick ? 2_000 : 10_000;
  using folder = temporaryFolder();
  await using servers = new Servers();
  // Not in the server process, where collecting the garbage would block the event loop.
  await fillStore(folder.path, actors, events);
  const args = ["bench/console-server.ts", folder.path, String(actors), TOKEN];
  const server = await servers.add(start(args));
  const load = new Load(server.ready["port"]);
  const among = `${actors} actors, ${actors * events} events, ${CHANGES_A_SECOND} changes and ${CALLS_A_SECOND} calls a second`;
  await load.run(2_000);

  const [alone, followed]: [number[], number[]] = [[], []];
  const [turns, turnsFollowed]: [number[], number[]] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    // In memory, since a commit to disk blocks the event loop for longer than this limit.
    alone.push((await load.run(forMs, "plain")).blockedMs);
    followed.push((await load.following(() => load.run(forMs, "plain"))).blockedMs);
  }
  for (let round = 0; round < (quick ? 3 : 15); round += 1) {
    turns.push(await load.burst(forMs / 10));
    turnsFollowed.push(await load.following(() => load.burst(forMs / 10)));
  }
  print({
    what: `longest wait of the event loop with a page that reads figures, changes and traffic, ${among}`,
    measured: followed,
    unit: "ms",
    target: 20,
    floor: alone,
  });
  print({
    what: "turns on disk a second with that page, of the same without it",
    measured: times(turnsFollowed, turns),
    unit: "×",
    least: 0.98,
  });

  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      colorScheme: "light",
      reducedMotion: "no-preference",
    });
    const tab = await context.newPage();
    for (const [name, path] of Object.entries(PAGES)) {
      await tab.goto("about:blank");
      await tab.goto(load.page(path));
      await tab.locator("main h1").first().waitFor();
      const frames: number[] = [];
      const heaps: number[] = [];
      const paces: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const [{ changesPerSecond }, raw] = await Promise.all([load.run(forMs), tab.evaluate(frameScript(forMs))]);
        const { slowest, heapBytes } = seen.parse(raw);
        frames.push(slowest);
        heaps.push(heapBytes);
        paces.push(changesPerSecond);
      }
      print({ what: `frames in the slowest second of the page ${name}, at that load`, measured: frames, unit: "/s", least: 30 });
      print({ what: `memory of the page ${name} after these seconds`, measured: heaps, unit: "bytes", target: 200 * 1_048_576 });
      print({ what: `changes a second while ${name} was open`, measured: paces, unit: "/s", least: CHANGES_A_SECOND * 0.9 });
    }
  } finally {
    await browser.close();
  }
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  await recording(quick);
  await page(quick);
};
