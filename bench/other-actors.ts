// A call, the start and the memory of an actor, compared with XState and the BEAM. Each has the same counter.
import { execFile, spawnSync } from "node:child_process";
import { LocalEngine } from "troupe/engine";
import * as z from "zod";
import type { BenchOptions } from "./options.ts";
import { exposeGc, heapSize } from "./heap-size.ts";
import { plain } from "./kinds/plain.ts";
import { killAtExit } from "./cleanup.ts";
import { installPeers } from "./peers.ts";
import { times } from "./statistics.ts";
import { each, note, print, rounds } from "./table.ts";

interface Size {
  readonly rounds: number;
  readonly calls: number;
  readonly actors: number;
}

/** Figures of one system by round: µs, µs, bytes. */
interface Figures {
  readonly call: readonly number[];
  readonly spawn: readonly number[];
  readonly bytes: readonly number[];
}

const isFunction = (value: unknown): boolean => typeof value === "function";
const shape = z.object({
  begin: z.custom<() => unknown>(isFunction),
  add: z.custom<(actor: unknown, by: number) => number>(isFunction),
});

const check = (reply: unknown, expected: number): void => {
  if (reply !== expected) throw new Error(`Bad answer: ${JSON.stringify(reply)} is not ${expected}.`);
};

/** Measures ours and XState in alternation, in this process. */
const inProcess = async (size: Size): Promise<readonly [Figures, Figures]> => {
  await exposeGc();
  const path = "./peers/xstate.js";
  const module: unknown = await import(path);
  const xstate = shape.parse({ ...Object(module) });
  await using engine = await LocalEngine.start({ kinds: [plain("memory")] });
  const [ours, theirs] = [empty(), empty()];
  const add = async (to: `plain/${string}`): Promise<unknown> => {
    const reply = await engine.call({ to, action: "add", args: { by: 1 }, start: null });
    return "ok" in reply ? reply.ok : reply;
  };
  const one = xstate.begin();
  let [ourCount, xstateCount] = [0, 0];
  let started = 0;
  const retained: unknown[] = [];
  const [call = [], sent = []] = await rounds(
    size.rounds,
    () => each(size.calls, async () => check(await add("plain/main"), (ourCount += 1))),
    () => each(size.calls, () => check(xstate.add(one, 1), (xstateCount += 1))),
  );
  for (let round = -1; round < size.rounds; round += 1) {
    const before = heapSize();
    const spawn = await each(size.actors, async () => check(await add(`plain/a${(started += 1)}`), 1));
    const between = heapSize();
    const began = await each(size.actors, () => {
      const actor = xstate.begin();
      check(xstate.add(actor, 1), 1);
      retained.push(actor);
    });
    const after = heapSize();
    // Released here, so that they are not collected while ours are measured.
    retained.length = 0;
    if (round < 0) continue;
    ours.spawn.push(spawn);
    ours.bytes.push((between - before) / size.actors);
    theirs.spawn.push(began);
    theirs.bytes.push((after - between) / size.actors);
  }
  return [
    { ...ours, call },
    { ...theirs, call: sent },
  ];
};

const empty = () => ({ call: Array<number>(), spawn: Array<number>(), bytes: Array<number>() });

const line = z.object({ call: z.number(), spawn: z.number(), bytes: z.number() });

/** Measures the BEAM on all cores. Returns undefined if Elixir is not installed. */
const onBeam = async (size: Size): Promise<Figures | undefined> => {
  if (spawnSync("elixir", ["--version"]).status !== 0) return undefined;
  const args = ["bench/peers/counter.exs", ...[size.rounds, size.calls, size.actors].map(String)];
  const output = await new Promise<string>((resolve, reject) => {
    killAtExit(execFile("elixir", args, (error, text) => (error === null ? resolve(text) : reject(error))));
  });
  const figures = output
    .trim()
    .split("\n")
    .map((text) => line.parse(JSON.parse(text)));
  return {
    call: figures.map(({ call }) => call),
    spawn: figures.map(({ spawn }) => spawn),
    bytes: figures.map(({ bytes }) => bytes),
  };
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  await installPeers();
  const size: Size = quick ? { rounds: 3, calls: 50_000, actors: 10_000 } : { rounds: 7, calls: 200_000, actors: 50_000 };
  const [ours, xstate] = await inProcess(size);
  const beam = await onBeam(size);
  if (beam === undefined) note("elixir is not installed here (Debian: apt-get install elixir): there is no comparison with the BEAM.");
  const all = { ours: ours, XState: xstate, ...(beam === undefined ? {} : { "the BEAM (GenServer)": beam }) };
  for (const [name, { call, spawn, bytes }] of Object.entries(all)) {
    print({ what: `an actor in memory, called one by one: ${name}`, measured: call, unit: "µs" });
    print({ what: `an actor begun and called once: ${name}`, measured: spawn, unit: "µs" });
    print({ what: `a live actor that was called once: ${name}`, measured: bytes, unit: "bytes" });
  }
  for (const [name, peer] of Object.entries(all)) {
    if (name === "ours") continue;
    print({ what: `an actor in memory, called one by one: ${name} takes, of ours`, measured: times(peer.call, ours.call), unit: "×" });
    print({ what: `an actor begun and called once: ${name} takes, of ours`, measured: times(peer.spawn, ours.spawn), unit: "×" });
  }
};
