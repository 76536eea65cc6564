// One change told to all who listen, beside a bare server that writes the same frame to as many sockets, at once and in slices: how long
// until the last listener has it, what it costs the server, how long everything else waits meanwhile, and what is held where half do
// not read.
import { execFileSync, fork } from "node:child_process";
import { join } from "node:path";
import type { Asked } from "./asked.ts";
import { ours as dying } from "./leftovers.ts";
import { LOAD_CORE, onCore, SERVER_CORE } from "./pin.ts";
import { times } from "./statistics.ts";
import { note, print, type Row } from "./table.ts";
import { isTimeLeft } from "./time-left.ts";

/** Where a process has its objects in memory makes one a few hundredths quicker than the next, each time it is measured. */
const STARTS = 3;
const ROUNDS = 12;
const WARM_UP = 3;
const UNREAD_CHANGES = 20;
/** Descriptors that a process has beside its connections. */
const SPARE = 200;

type Answer = Readonly<Record<string, unknown>>;

/** A process that does what it is told, one thing at a time. */
class Told implements Disposable {
  readonly #child;

  constructor(core: number, module: string, ...args: readonly string[]) {
    const [execPath, execArgv] = onCore(core, process.execPath, ["--conditions=troupe-source"]);
    this.#child = dying(fork(join(import.meta.dirname, module), args, { execPath, execArgv: [...execArgv] }));
  }

  act(act: string, given: object = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const hear = (message: unknown): void => {
        const { answer, error } = Object(message);
        if (answer === undefined && error === undefined) return;
        this.#child.off("message", hear);
        if (error === undefined) resolve(answer);
        else reject(new Error(String(error)));
      };
      this.#child.on("message", hear);
      this.#child.send({ act, ...given });
    });
  }

  /** Settles when it says that it waits for what comes. */
  get ready(): Promise<void> {
    return new Promise((resolve) => {
      const hear = (message: unknown): void => {
        if (Object(message).ready !== true) return;
        this.#child.off("message", hear);
        resolve();
      };
      this.#child.on("message", hear);
    });
  }

  [Symbol.dispose](): void {
    this.#child.disconnect();
  }
}

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  readonly stallMs: number;
  readonly frame: string;
}

const KINDS = { get: "GET streams", listen: "subscriptions/listen" } as const;
type Kind = keyof typeof KINDS;

/** Whose change it is: a tool that is registered or removed, or an actor's. */
type Ours = "ours" | "world";
const WORDS: Readonly<Record<Ours, string>> = { ours: "one change", world: "an actor's change" };

/** A server, and those who listen to it. */
class House implements Disposable {
  readonly #server: Told;
  readonly #listeners = new Told(LOAD_CORE, "broadcast-listeners.ts");

  readonly #kind: Kind;

  constructor(whose: Ours | "bare", kind: Kind) {
    this.#kind = kind;
    this.#server = new Told(SERVER_CORE, "broadcast-server.ts", whose, kind === "get" ? "GET" : "POST");
  }

  async open(count: number): Promise<void> {
    const { port } = await this.#server.act("port");
    await this.#listeners.act("open", { port, count, kind: this.#kind });
  }

  /** One change, until the last who reads has heard of it: of once, or what it was meant to be told is not what it was. */
  async change(frame = "", how: "tell" | "tell in slices" = "tell"): Promise<Cost> {
    const { ready } = this.#listeners;
    const heard = this.#listeners.act("hear");
    await ready;
    const began = await this.#server.act(how, { frame });
    const { at, frame: told } = await heard;
    const { cpuMs, stallMs } = await this.#server.act("cost");
    const { most, least } = await this.#listeners.act("told");
    if (most !== 1 || least !== 1) throw new Error(`A listener was told ${String(least)} to ${String(most)} times, not once.`);
    return { ms: (Number(at) - Number(began["at"])) / 1_000_000, cpuMs: Number(cpuMs), stallMs: Number(stallMs), frame: String(told) };
  }

  async half(): Promise<void> {
    await this.#listeners.act("half");
  }

  async held(): Promise<number> {
    return Number((await this.#server.act("held"))["bytes"]);
  }

  async leave(): Promise<void> {
    await this.#listeners.act("leave");
  }

  [Symbol.dispose](): void {
    this.#server[Symbol.dispose]();
    this.#listeners[Symbol.dispose]();
  }
}

/** As many as are wanted, or as a process may have here. */
const atMost = (wanted: number): number => {
  const most = Number(execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }));
  return Math.min(wanted, Number.isNaN(most) ? wanted : most - SPARE);
};

interface Costs {
  readonly ours: readonly Cost[];
  readonly bare: readonly Cost[];
  readonly sliced: readonly Cost[];
}

/** By turns, of a start of each. */
const costs = async (ours: House, bare: House, rounds: number): Promise<Costs> => {
  const found = { ours: Array<Cost>(), bare: Array<Cost>(), sliced: Array<Cost>() };
  for (let round = -WARM_UP; round < rounds && (round < 3 || isTimeLeft()); round += 1) {
    const told = await ours.change();
    const [atOnce, sliced] = [await bare.change(told.frame), await bare.change(told.frame, "tell in slices")];
    if (round < 0) continue;
    found.ours.push(told);
    found.bare.push(atOnce);
    found.sliced.push(sliced);
  }
  return found;
};

const rows = async (whose: Ours, kind: Kind, count: number, quick: boolean): Promise<void> => {
  const what = `${WORDS[whose]} to ${count} ${KINDS[kind]}`;
  const row: Say = (of, measured, unit, target) => print({ what: `${what}, ${of}`, measured, unit, target });
  const starts = quick ? 1 : STARTS;
  const found: Costs[] = [];
  while (found.length < starts) {
    using ours = new House(whose, kind);
    using bare = new House("bare", kind);
    await Promise.all([ours.open(count), bare.open(count)]);
    found.push(await costs(ours, bare, quick ? ROUNDS / 2 : ROUNDS));
    // Those who do not read are the same objects, whoever's the change is.
    if (whose === "ours" && found.length === starts) await unreadRows(row, ours, count, quick);
    await Promise.all([ours.leave(), bare.leave()]);
  }
  const of = (whom: keyof Costs, part: Part): readonly number[] => found.flatMap((start) => start[whom].map((cost) => cost[part]));
  row("till the last has it, beside socket.write", times(of("ours", "ms"), of("bare", "ms")), "×", 1.15);
  row("socket.write in slices beside all at once, for comparison", times(of("sliced", "ms"), of("bare", "ms")), "×");
  row("server's CPU, beside that", times(of("ours", "cpuMs"), of("bare", "cpuMs")), "×", 1.15);
  row("till the last has it", of("ours", "ms"), "ms");
  row("longest stall of the event loop", of("ours", "stallMs"), "ms", 10);
  row("longest stall of the bare one, for comparison", of("bare", "stallMs"), "ms");
};

type Part = "ms" | "cpuMs" | "stallMs";
type Say = (of: string, measured: readonly number[], unit: Row["unit"], target?: number) => void;

const unreadRows = async (row: Say, ours: House, count: number, quick: boolean): Promise<void> => {
  await ours.half();
  const before = await ours.held();
  const unread: Cost[] = [];
  while (unread.length < (quick ? UNREAD_CHANGES / 4 : UNREAD_CHANGES)) unread.push(await ours.change());
  row(
    "half of whom do not read, till the last other has it",
    unread.map(({ ms }) => ms),
    "ms",
  );
  row(`held for each after ${unread.length} such changes`, [((await ours.held()) - before) / count], "bytes", 256);
};

export const run = async ({ quick }: Asked): Promise<void> => {
  const wanted = quick ? 5_000 : 10_000;
  const count = atMost(wanted);
  if (count < wanted) note(`${count} listeners: a process may have no more connections here (ulimit -n).`);
  await rows("ours", "get", count, quick);
  await rows("ours", "listen", count, quick);
  await rows("world", "get", count, quick);
};
