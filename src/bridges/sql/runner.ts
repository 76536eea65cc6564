// Owns: SQL over a store on SQLite: one query at a time, with bounds, in another process. Does not own: that process (query-process.ts).

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  checkOptions,
  type OptionTable,
  FUNCTION,
  type Behaviour,
  type CancelSignal,
  type Sql,
  SqlError,
  type SqlQuery,
  type SqlResult,
  type SqlView,
  StoreError,
  type StoreCode,
} from "../../core/contract/index.ts";
import type { SqlAnswer, SqlRequest } from "./protocol.ts";
import { QueryProcess } from "./query-process.ts";

const SECOND = 1_000;
const MEGABYTE = 1_048_576;
/** How much longer a process may work on a query than its caller waits. */
const GRACE_MS = 5_000;
/** How long it waits for the next query: starting one takes longer than most queries. */
const IDLE_MS = 30_000;
/** How long a query waits for another one. */
const BUSY_MS = 500;

/** What `sqliteSql` takes. */
export interface SqliteSqlOptions {
  /** The data directory: `troupe.db` and `sessions.db` in it. */
  readonly directory: string;
  /** The kinds that are served: messages to those without secret arguments show their arguments; others show none. */
  readonly kinds?: () => readonly Behaviour[];
  /** How long a query may run. Default 10,000 ms. */
  readonly timeoutMs?: number;
  /** How much memory its process may use. Default 512 MiB. */
  readonly memoryBytes?: number;
}

const OPTIONS: OptionTable<SqliteSqlOptions> = { directory: true, kinds: FUNCTION, timeoutMs: true, memoryBytes: true };

/** SQL over the store in a data directory, next to the server that writes there. */
export function sqliteSql(options: SqliteSqlOptions): Sql {
  checkOptions("sqliteSql", options, OPTIONS);
  return new ProcessSql(options);
}

class ProcessSql implements Sql {
  readonly #options: SqliteSqlOptions;
  /** Settles when the query that runs has ended. */
  #running: Promise<void> | undefined;
  #resting: QueryProcess | undefined;
  #views: Promise<SqlAnswer> | undefined;

  constructor(options: SqliteSqlOptions) {
    this.#options = options;
  }

  /** Those who request them at once share one answer, and one process. */
  async views(): Promise<readonly SqlView[]> {
    this.#views ??= this.#ask({}).finally(() => (this.#views = undefined));
    const answer = await this.#views;
    return "views" in answer ? answer.views : [];
  }

  async query({ sql, limit }: SqlQuery, signal?: CancelSignal): Promise<SqlResult> {
    // One that was just cancelled may not have ended yet.
    if (this.#running !== undefined) await Promise.race([this.#running, sleep(BUSY_MS)]);
    if (this.#running !== undefined) throw new SqlError("SQL_BUSY", "Another query runs: wait for it, or cancel it.");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    try {
      const answer = await this.#ask({ sql, ...(limit !== undefined && { limit }) }, signal);
      if ("result" in answer) return answer.result;
      throw new StoreError("STORE_IO", "The query's process answered something else: try again.");
    } finally {
      this.#running = undefined;
      resolve();
    }
  }

  async #ask(question: Pick<SqlRequest, "sql" | "limit">, signal?: CancelSignal): Promise<SqlAnswer> {
    const { directory, kinds, timeoutMs = 10 * SECOND, memoryBytes = 512 * MEGABYTE } = this.#options;
    const process = this.#take();
    const answer = await process.ask(
      {
        directory,
        sessions: join(directory, "sessions.db"),
        secret: `hidden_${randomBytes(16).toString("hex")}`,
        open: (kinds?.() ?? []).filter((kind) => kind.redact === undefined).map(({ kind }) => kind),
        bounds: { ms: timeoutMs + GRACE_MS, bytes: memoryBytes },
        ...question,
      },
      { timeoutMs, signal },
    );
    if (answer.again && this.#resting === undefined) {
      this.#resting = process;
      process.rest(IDLE_MS);
    } else process.end();
    if ("error" in answer) throw errorOf(answer.error);
    return answer;
  }

  #take(): QueryProcess {
    const resting = this.#resting;
    this.#resting = undefined;
    return resting === undefined || resting.ended ? new QueryProcess() : resting;
  }
}

const SQL_CODES = ["SQL_WRONG", "SQL_DENIED"] as const;

const isStoreCode = (code: string): code is StoreCode => code.startsWith("STORE_");

function errorOf({ code, message, at }: Extract<SqlAnswer, { readonly error: object }>["error"]): Error {
  const known = SQL_CODES.find((one) => one === code);
  if (known !== undefined) return new SqlError(known, message, at);
  return new StoreError(isStoreCode(code) ? code : "STORE_IO", message);
}
