import { type ChildProcess, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "../serve-child.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One command of `troupe`, to its end. */
export const troupe = (...args: readonly string[]): Promise<Ran> =>
  new Promise((settle) => {
    execFile(process.execPath, [join(root, "bin/troupe.js"), ...args], { cwd: root, timeout: 60_000 }, (error, stdout, stderr) => {
      settle({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });

export const lines = (text: string): readonly unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));

export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<number | null>;
  /** Settles when that was written. */
  said(pattern: RegExp): Promise<void>;
}

/** One command of `troupe` that goes on until it is told to end. `env` is added to this process's own. */
export const runningIn = (env: Readonly<Record<string, string>>, ...args: readonly string[]): Running =>
  runningScript({ env, args: [join(root, "bin/troupe.js"), ...args] });

const SAID_MS = 50_000;

/** A script that goes on until it is told to end; `args` are Node's. `env` is added to this process's own. */
export const runningScript = ({
  args,
  cwd = root,
  env = {},
}: {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}): Running => {
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  let out = "";
  let err = "";
  const waiting = new Set<() => void>();
  const heard = (): void => {
    for (const run of Array.from(waiting)) run();
  };
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    heard();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
    heard();
  });
  const ended = new Promise<number | null>((done) => void child.once("close", (code) => done(code)));
  return {
    child,
    ended,
    out: () => out,
    err: () => err,
    said: (pattern) =>
      new Promise((done, failed) => {
        const without = (how: string): void => failed(new Error(`It ${how} without saying ${String(pattern)}: ${out}\n${err}`));
        // Before a test's own time is over: then nobody would end the process.
        const late = setTimeout(() => without(`ran for ${SAID_MS} ms`), SAID_MS);
        const over = (): void => {
          clearTimeout(late);
          without("ended");
        };
        const run = (): void => {
          if (!pattern.test(`${out}\n${err}`)) return;
          clearTimeout(late);
          waiting.delete(run);
          done();
        };
        waiting.add(run);
        void ended.then(() => over());
        run();
      }),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
};

export const running = (...args: readonly string[]): Running => runningIn({}, ...args);
