import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

export const root = resolve(import.meta.dirname, "..");

export interface Ready {
  readonly http?: string;
  readonly meta?: string;
  readonly sse?: string;
  readonly tcp?: string;
  readonly data?: string;
  /** Packets over HTTP; `packetsTcp`: over TCP. */
  readonly packets?: string;
  readonly packetsTcp?: string;
}

/** A `troupe serve` in its own process, as users start it. */
export interface Served extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly ready: Ready;
  readonly data: string;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>;
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const readReady = (line: string): Ready => {
  const parsed: unknown = JSON.parse(line);
  if (typeof parsed !== "object" || parsed === null) throw new Error(`not a ready line: ${line}`);
  const fields: Readonly<Record<string, unknown>> = { ...parsed };
  return Object.fromEntries(
    ["http", "meta", "sse", "tcp", "data", "packets", "packetsTcp"].flatMap((name) =>
      text(fields[name]) === undefined ? [] : [[name, text(fields[name])]],
    ),
  );
};

/** Starts `troupe serve <args> --json` and waits until it is ready; HTTP on a free port unless the args name a listener. Retains `data` if it is given. */
export const serveChild = async (
  args: readonly string[],
  options: { readonly data?: string; readonly cwd?: string } = {},
): Promise<Served> => {
  const data = options.data ?? mkdtempSync(join(tmpdir(), "troupe-serve-"));
  const door = args.some((arg) => arg === "--http" || arg === "--tcp") ? [] : ["--http", "127.0.0.1:0"];
  const child = spawn(
    process.execPath,
    [join(root, "bin/troupe.js"), "serve", ...args, ...door, "--data", data, "--json", "--log", "error"],
    {
      cwd: options.cwd ?? root,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const ended = new Promise<number | string | null>((settle) => child.once("exit", (code, signal) => settle(signal ?? code)));
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([lines[Symbol.asyncIterator]().next(), ended.then(() => undefined)]);
  if (first === undefined || first.done === true) throw new Error(`troupe serve ${args.join(" ")} ended before it was ready`);
  return {
    child,
    ready: readReady(first.value),
    data,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      if (options.data === undefined) rmSync(data, { recursive: true, force: true });
    },
  };
};
