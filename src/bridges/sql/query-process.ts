// Owns: one process that runs queries: starting, asking and ending it. Does not own: when there is one (runner.ts).

import { type ChildProcess, fork } from "node:child_process";
import { type CancelSignal, SqlError, StoreError } from "../../core/contract/index.ts";
import { READY, type SqlAnswer, type SqlRequest } from "./protocol.ts";

const ENTRY = new URL(import.meta.url.endsWith(".ts") ? "./sql-child.ts" : "./sql-child.js", import.meta.url);
/** Of V8's heap, in megabytes: states are computed there. */
const HEAP_MB = 256;
/** How long it may take to start, on a machine that is busy. */
const START_MS = 30_000;
/** Windows cannot start a process without it. */
const { SystemRoot } = process.env;

export interface AskOptions {
  readonly timeoutMs: number;
  readonly signal: CancelSignal | undefined;
}

/** Runs one request at a time. It ends with a request that is not answered. */
export class QueryProcess {
  readonly #child: ChildProcess;
  #ready = false;
  #onReady: (() => void) | undefined;
  #ended = false;
  #idle: NodeJS.Timeout | undefined;
  #settle: { readonly resolve: (answer: SqlAnswer) => void; readonly reject: (error: Error) => void } | undefined;

  constructor() {
    this.#child = fork(ENTRY, [], {
      // What this process was started with may not fit, and its environment is none of a query's business.
      execArgv: [`--max-old-space-size=${HEAP_MB}`],
      env: SystemRoot === undefined ? {} : { SystemRoot },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child.on("message", (message) => {
      if (message === READY) {
        this.#ready = true;
        this.#onReady?.();
      } else if (isAnswer(message)) this.#settle?.resolve(message);
    });
    this.#child.once("error", (error) =>
      this.#fail(new StoreError("STORE_IO", `The query's process could not be started (${error.message}): try again.`)),
    );
    this.#child.once("exit", (code, signal) => {
      const isKilled = signal !== null || code === null || code >= 128;
      this.#fail(
        isKilled
          ? new SqlError("SQL_MEMORY", "The query needed too much memory: let it sort or join fewer rows, or select fewer columns.")
          : new StoreError("STORE_IO", `The query's process ended with code ${code}: try again.`),
      );
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Rejects with `SqlError`, `StoreError`; the process has ended then. */
  async ask(request: SqlRequest, { timeoutMs, signal }: AskOptions): Promise<SqlAnswer> {
    if (signal?.aborted === true) {
      this.end();
      throw cancelled();
    }
    clearTimeout(this.#idle);
    this.#child.ref();
    this.#child.channel?.ref();
    const { promise, resolve, reject } = Promise.withResolvers<SqlAnswer>();
    this.#settle = { resolve, reject };
    const onAbort = (): void => this.#fail(cancelled());
    const seconds = timeoutMs / 1_000;
    const late = new SqlError("SQL_TIMEOUT", `The query ran for ${seconds} seconds: let it read fewer rows, or count instead of listing.`);
    let timer = setTimeout(() => this.#fail(new SqlError("SQL_TIMEOUT", "The machine is too busy to start a query: try again.")), START_MS);
    const begin = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#fail(late), timeoutMs);
    };
    if (this.#ready) begin();
    else this.#onReady = begin;
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#child.send(request, (error) => {
      if (error !== null) this.#fail(new StoreError("STORE_IO", `The query's process has ended (${error.message}): try again.`));
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      this.#settle = undefined;
      this.#onReady = undefined;
    }
  }

  /** Waits for another request without keeping this process alive, and ends after that time. */
  rest(idleMs: number): void {
    this.#child.unref();
    this.#child.channel?.unref();
    this.#idle = setTimeout(() => this.end(), idleMs).unref();
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#idle);
    this.#child.kill("SIGKILL");
  }

  #fail(error: Error): void {
    this.#settle?.reject(error);
    this.end();
  }
}

const cancelled = (): SqlError => new SqlError("SQL_CANCELLED", "The query was cancelled.");

const isAnswer = (value: unknown): value is SqlAnswer => typeof value === "object" && value !== null && "again" in value;
