import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { killAtExit } from "./cleanup.ts";
import { onCore, SERVER_CORE } from "./cpu-pinning.ts";

export const root = join(import.meta.dirname, "..");

export interface Started {
  readonly child: ChildProcess;
  readonly ready: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly cwd?: string;
  /** The processor core to run on. Absent: any. */
  readonly core?: number;
}

/** The object in a line of JSON; undefined for other lines. */
const objectIn = (line: string): Started["ready"] | undefined => {
  const value: unknown = line.startsWith("{") ? JSON.parse(line) : undefined;
  return typeof value === "object" && value !== null ? { ...value } : undefined;
};

/** Starts a program of ours on this Node and waits for its line `{"ready":true,…}`. */
export const start = (args: readonly string[], options: StartOptions = {}): Promise<Started> =>
  startProgram(process.execPath, nodeArgs(args), options);

/** Starts any program, and waits for its first line of JSON, which has its port or URL. */
export const startProgram = async (program: string, args: readonly string[], { cwd = root, core }: StartOptions = {}): Promise<Started> => {
  const [file, all] = core === undefined ? [program, args] : onCore(core, program, args);
  const child = killAtExit(spawn(file, all, { cwd, stdio: ["ignore", "pipe", "inherit"] }));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  for await (const line of createInterface({ input: child.stdout })) {
    const ready = objectIn(line);
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

/** The servers of a scope. Disposing stops those that have started. */
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

/** Arguments for Node to run our sources. */
const nodeArgs = (args: readonly string[]): readonly string[] => ["--conditions=troupe-source", ...args];

/** Starts a program of ours on the server's core with pipes for standard input and output. Its standard error is passed on, without the ready line. */
export const piped = (args: readonly string[]): ChildProcess => {
  const [program, all] = onCore(SERVER_CORE, process.execPath, nodeArgs(args));
  const child = killAtExit(spawn(program, all, { cwd: root, stdio: ["pipe", "pipe", "pipe"] }));
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (objectIn(line)?.["ready"] !== true) console.error(line);
  });
  return child;
};

/** Options of `troupe serve` that turn off logs and the rate limit. */
export const SERVE = ["--log", "error", "--rate", "1000000"] as const;

/** Runs `troupe serve` on the server's core. */
export const serve = (module: string, data: string, ...more: readonly string[]): Promise<Started> =>
  start(["bin/troupe.js", "serve", module, "--http", "127.0.0.1:0", "--data", data, "--json", ...SERVE, ...more], { core: SERVER_CORE });

/** Linux reports processor times in ticks of this length (USER_HZ is 100 on all machines). */
const TICK_US = 10_000;

/** Milliseconds that a process was runnable and waited for a core. NaN if the system does not report it. */
export const runQueueMsOf = (pid: number | undefined): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return Number.NaN;
  }
};

/** Processor time of all threads of a process, in microseconds. NaN if the system does not report it. */
export const cpuUsOf = (pid: number | undefined): number => {
  try {
    // The name may contain spaces and brackets. The text after it begins with field 3.
    const [, fields = ""] = /\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const [user, system] = fields.split(" ").slice(11, 13);
    return (Number(user) + Number(system)) * TICK_US;
  } catch {
    return Number.NaN;
  }
};
