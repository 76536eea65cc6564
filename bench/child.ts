import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ours } from "./leftovers.ts";
import { onCore, SERVER_CORE } from "./pin.ts";

export const root = join(import.meta.dirname, "..");

export interface Started {
  readonly child: ChildProcess;
  readonly ready: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly cwd?: string;
  /** Absent: where it likes. */
  readonly core?: number;
}

/** What a line says that is JSON. */
const saidIn = (line: string): Started["ready"] | undefined => {
  const said: unknown = line.startsWith("{") ? JSON.parse(line) : undefined;
  return typeof said === "object" && said !== null ? { ...said } : undefined;
};

/** Starts a program of ours on this Node and waits for its line `{"ready":true,…}`. */
export const start = (args: readonly string[], options: StartOptions = {}): Promise<Started> =>
  startProgram(process.execPath, nodeArgs(args), options);

/** The same of any program whose first line that is JSON says that it is ready, and where. */
export const startProgram = async (program: string, args: readonly string[], { cwd = root, core }: StartOptions = {}): Promise<Started> => {
  const [file, all] = core === undefined ? [program, args] : onCore(core, program, args);
  const child = ours(spawn(file, all, { cwd, stdio: ["ignore", "pipe", "inherit"] }));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  for await (const line of createInterface({ input: child.stdout })) {
    const ready = saidIn(line);
    if (ready === undefined) continue;
    return {
      child,
      ready,
      stop: async () => {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }
  throw new Error(`${args.join(" ")} ended before it was ready.`);
};

/** Servers that end with the scope that started them, whichever of them did start. */
export class Servers implements AsyncDisposable {
  readonly #started: Started[] = [];

  async add(starting: Promise<Started>): Promise<Started> {
    const server = await starting;
    this.#started.push(server);
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map((server) => server.stop()));
  }
}

/** This Node, with what it takes to run our sources. */
const nodeArgs = (args: readonly string[]): readonly string[] => ["--conditions=troupe-source", ...args];

/** A program of ours on the server's core, which talks by its standard input and output. What else it says is passed on, but that it is ready. */
export const piped = (args: readonly string[]): ChildProcess => {
  const [program, all] = onCore(SERVER_CORE, process.execPath, nodeArgs(args));
  const child = ours(spawn(program, all, { cwd: root, stdio: ["pipe", "pipe", "pipe"] }));
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (saidIn(line)?.["ready"] !== true) console.error(line);
  });
  return child;
};

/** What `troupe serve` needs so that nothing but its work is measured. */
export const SERVE = ["--log", "error", "--rate", "1000000"] as const;

/** A server of ours, on the server's core. */
export const serve = (module: string, data: string, ...more: readonly string[]): Promise<Started> =>
  start(["bin/troupe.js", "serve", module, "--http", "127.0.0.1:0", "--data", data, "--json", ...SERVE, ...more], { core: SERVER_CORE });

/** Linux counts a process's time in these, whatever the machine. */
const TICK_US = 10_000;

/** Milliseconds that a process could have run and had no core, its own other threads included; NaN where the system does not say. */
export const keptOffMsOf = (pid: number | undefined): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return Number.NaN;
  }
};

/** Processor time a process has had, in microseconds, all its threads; NaN where the system does not say. */
export const cpuUsOf = (pid: number | undefined): number => {
  try {
    // The name may hold blanks and brackets; what comes after it begins with field 3.
    const [, fields = ""] = /\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const [user, system] = fields.split(" ").slice(11, 13);
    return (Number(user) + Number(system)) * TICK_US;
  } catch {
    return Number.NaN;
  }
};
