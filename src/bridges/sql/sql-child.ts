// Owns: the process that runs queries, one after the other. Does not own: what a query may read (core/store/sql).
//
// SQLite cannot be interrupted from JavaScript, so queries have a process of their own that can be killed. Its main thread runs them; the
// other one watches its memory, which no option of SQLite or V8 bounds as a whole.

import { Worker } from "node:worker_threads";
import { stateFrom } from "../../core/chain/index.ts";
import { SqlError, type SqlResult, type SqlView, systemClock, TroupeError } from "../../core/contract/index.ts";
import { openSqlDatabase } from "../../core/store/sql/index.ts";
import { sessionName } from "../../mcp/gateway/session-name.ts";
import { READY, type SqlAnswer, type SqlRequest } from "./protocol.ts";

const WATCHER = new URL(import.meta.url.endsWith(".ts") ? "./sql-watcher.ts" : "./sql-watcher.js", import.meta.url);

const isRequest = (value: unknown): value is SqlRequest => typeof value === "object" && value !== null && "secret" in value;

function resultOf({ sql, limit, ...options }: SqlRequest): { readonly views: readonly SqlView[] } | { readonly result: SqlResult } {
  using database = openSqlDatabase({ ...options, stateOf: (events) => stateFrom(events).state, sessionName });
  if (sql === undefined) return { views: database.views };
  const begun = systemClock.now();
  const result = database.query(sql, limit);
  return { result: { ...result, ms: systemClock.now() - begun } };
}

function answerTo(request: SqlRequest): SqlAnswer {
  // What a large query freed may not return to the system, and would count against the next one.
  const hasRoom = (): boolean => process.memoryUsage.rss() < request.bounds.bytes / 2;
  try {
    return { ...resultOf(request), again: hasRoom() };
  } catch (error) {
    const code = error instanceof TroupeError ? error.code : "STORE_IO";
    const message = error instanceof Error ? error.message : String(error);
    const at = error instanceof SqlError ? error.at : undefined;
    return { error: { code, message, ...(at !== undefined && { at }) }, again: hasRoom() };
  }
}

const watcher = new Worker(WATCHER, { env: {}, execArgv: [] });

watcher.once("online", () => {
  process.on("message", (request: unknown) => {
    if (!isRequest(request)) process.exit(1);
    watcher.postMessage(request.bounds, []);
    const answer = answerTo(request);
    watcher.postMessage(undefined, []);
    process.send?.(answer);
  });
  process.send?.(READY);
});

// Its parent has ended.
process.once("disconnect", () => process.exit(0));
