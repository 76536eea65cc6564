// One change notified to all subscribers, compared with a bare server that writes the same frame to as many sockets, at once and in slices:
// the time until the last subscriber has it, processor time of the server, stalls of the event loop, and memory if half of the subscribers
// do not read.
import { execFileSync, fork } from "node:child_process";
import { join } from "node:path";
import type { BenchOptions } from "./options.ts";
import { killAtExit } from "./cleanup.ts";
import { LOAD_CORE, onCore, SERVER_CORE } from "./cpu-pinning.ts";
import { times } from "./statistics.ts";
import { note, print, type Row } from "./table.ts";
import { isTimeLeft } from "./time-left.ts";

/** Processes differ by a few per cent because of memory layout, so several are measured. */
const STARTS = 3;
const ROUNDS = 12;
const WARM_UP = 3;
const UNREAD_CHANGES = 20;
/** File descriptors that a process uses in addition to its connections. */
const SPARE = 200;

type Answer = Readonly<Record<string, unknown>>;

/** A child process that executes one command at a time. */
class CommandProcess implements Disposable {
  readonly #child;

  constructor(core: number, module: string, ...args: readonly string[]) {
    const [execPath, execArgv] = onCore(core, process.execPath, ["--conditions=troupe-source"]);
    this.#child = killAtExit(fork(join(import.meta.dirname, module), args, { execPath, execArgv: [...execArgv] }));
  }

  act(act: string, given: object = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onMessage = (message: unknown): void => {
        const { answer, error } = Object(message);
        if (answer === undefined && error === undefined) return;
        this.#child.off("message", onMessage);
        if (error === undefined) resolve(answer);
        else reject(new Error(String(error)));
      };
      this.#child.on("message", onMessage);
      this.#child.send({ act, ...given });
    });
  }

  /** Resolves when the child reports that it is ready. */
  get ready(): Promise<void> {
    return new Promise((resolve) => {
      const onMessage = (message: unknown): void => {
        if (Object(message).ready !== true) return;
        this.#child.off("message", onMessage);
        resolve();
      };
      this.#child.on("message", onMessage);
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

/** The change: a tool is registered or removed, or an actor changes its state. */
type Change = "ours" | "world";
const WORDS: Readonly<Record<Change, string>> = { ours: "one change", world: "an actor's change" };

/** A server and its subscribers. */
class Broadcast implements Disposable {
  readonly #server: CommandProcess;
  readonly #subscribers = new CommandProcess(LOAD_CORE, "broadcast-subscribers.ts");

  readonly #kind: Kind;

  constructor(whose: Change | "bare", kind: Kind) {
    this.#kind = kind;
    this.#server = new CommandProcess(SERVER_CORE, "broadcast-server.ts", whose, kind === "get" ? "GET" : "POST");
  }

  async open(count: number): Promise<void> {
    const { port } = await this.#server.act("port");
    await this.#subscribers.act("open", { port, count, kind: this.#kind });
  }

  /** Makes one change and waits until all reading subscribers are notified. Throws if one was not notified exactly once. */
  async change(frame = "", command: "notify" | "notify in slices" = "notify"): Promise<Cost> {
    const { ready } = this.#subscribers;
    const received = this.#subscribers.act("await change");
    await ready;
    const began = await this.#server.act(command, { frame });
    const { at, frame: receivedFrame } = await received;
    const { cpuMs, stallMs } = await this.#server.act("cost");
    const { most, least } = await this.#subscribers.act("notification counts");
    if (most !== 1 || least !== 1) throw new Error(`A subscriber was notified ${String(least)} to ${String(most)} times, not once.`);
    return {
      ms: (Number(at) - Number(began["at"])) / 1_000_000,
      cpuMs: Number(cpuMs),
      stallMs: Number(stallMs),
      frame: String(receivedFrame),
    };
  }

  async half(): Promise<void> {
    await this.#subscribers.act("half");
  }

  async held(): Promise<number> {
    return Number((await this.#server.act("held"))["bytes"]);
  }

  async leave(): Promise<void> {
    await this.#subscribers.act("leave");
  }

  [Symbol.dispose](): void {
    this.#server[Symbol.dispose]();
    this.#subscribers[Symbol.dispose]();
  }
}

/** The wanted number of connections, or the most that the limit of file descriptors allows. */
const atMost = (wanted: number): number => {
  const most = Number(execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }));
  return Math.min(wanted, Number.isNaN(most) ? wanted : most - SPARE);
};

interface Costs {
  readonly ours: readonly Cost[];
  readonly bare: readonly Cost[];
  readonly sliced: readonly Cost[];
}

/** Measures both servers in alternation. */
const costs = async (ours: Broadcast, bare: Broadcast, rounds: number): Promise<Costs> => {
  const found = { ours: Array<Cost>(), bare: Array<Cost>(), sliced: Array<Cost>() };
  for (let round = -WARM_UP; round < rounds && (round < 3 || isTimeLeft()); round += 1) {
    const cost = await ours.change();
    const [atOnce, sliced] = [await bare.change(cost.frame), await bare.change(cost.frame, "notify in slices")];
    if (round < 0) continue;
    found.ours.push(cost);
    found.bare.push(atOnce);
    found.sliced.push(sliced);
  }
  return found;
};

const rows = async (whose: Change, kind: Kind, count: number, quick: boolean): Promise<void> => {
  const what = `${WORDS[whose]} to ${count} ${KINDS[kind]}`;
  const row: PrintRow = (of, measured, unit, target) => print({ what: `${what}, ${of}`, measured, unit, target });
  const starts = quick ? 1 : STARTS;
  const found: Costs[] = [];
  while (found.length < starts) {
    using ours = new Broadcast(whose, kind);
    using bare = new Broadcast("bare", kind);
    await Promise.all([ours.open(count), bare.open(count)]);
    found.push(await costs(ours, bare, quick ? ROUNDS / 2 : ROUNDS));
    // Measured for one kind of change only: subscribers that do not read cost the same for both.
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
type PrintRow = (of: string, measured: readonly number[], unit: Row["unit"], target?: number) => void;

const unreadRows = async (row: PrintRow, ours: Broadcast, count: number, quick: boolean): Promise<void> => {
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

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  const wanted = quick ? 5_000 : 10_000;
  const count = atMost(wanted);
  if (count < wanted) note(`${count} listeners: a process may have no more connections here (ulimit -n).`);
  await rows("ours", "get", count, quick);
  await rows("ours", "listen", count, quick);
  await rows("world", "get", count, quick);
};
