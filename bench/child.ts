import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");

export interface Started {
  readonly child: ChildProcess;
  readonly ready: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** Starts a program of ours on this Node and waits for its line `{"ready":true,…}`. */
export const start = async (args: readonly string[], options: { readonly cwd?: string } = {}): Promise<Started> => {
  const child = spawn(process.execPath, ["--conditions=troupe-source", ...args], {
    cwd: options.cwd ?? root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("{")) continue;
    const ready: unknown = JSON.parse(line);
    if (typeof ready !== "object" || ready === null) continue;
    return {
      child,
      ready: { ...ready },
      stop: async () => {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }
  throw new Error(`${args.join(" ")} ended before it was ready.`);
};

export const serve = (module: string, data: string, ...more: readonly string[]): Promise<Started> =>
  start([
    "bin/troupe.js",
    "serve",
    module,
    "--http",
    "127.0.0.1:0",
    "--data",
    data,
    "--json",
    "--log",
    "error",
    "--rate",
    "1000000",
    ...more,
  ]);
