import { type JsonObject, isJsonObject, type Log } from "../core/contract/index.ts";
import { omitUndefined, RateLimitedLines } from "../core/contract/internal.ts";
import { textOr } from "./text-or.ts";
import { oneLine, paintError } from "./output.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type ServerLogLevel = (typeof LOG_LEVELS)[number];

/** Codes, ids and sizes; never arguments, state or tokens. */
export type ServerLog = (
  level: Exclude<ServerLogLevel, "silent">,
  event: string,
  fields?: JsonObject,
  /** What author code threw, which may quote state and arguments: for the console's operators, never written to the log. */
  thrown?: string,
) => void;

/** What a reader that stands still leaves unread is held in memory. */
const MOST_UNREAD = 16 * 1_048_576;

/** To standard error, which no protocol uses: JSON lines for machines, short lines for people. `node` says which of several it is. */
export const serverLog = (
  least: ServerLogLevel,
  json: boolean,
  now: () => number,
  node?: string,
  stderr: Pick<NodeJS.WriteStream, "writableLength"> & { write(text: string): boolean } = process.stderr,
): ServerLog => {
  const from = LOG_LEVELS.indexOf(least);
  const lines = new RateLimitedLines({ now });
  let unsaid = 0;
  const log: ServerLog = (level, event, given) => {
    if (LOG_LEVELS.indexOf(level) < from) return;
    // What is told has words of its own, an author's too: those of the log go before them.
    const fields = lines.take({ ...given, event });
    if (fields === undefined) return;
    if (stderr.writableLength > MOST_UNREAD) {
      unsaid += 1;
      return;
    }
    if (unsaid > 0) {
      const missed = unsaid;
      unsaid = 0;
      log("warn", "log-unread", { unsaid: missed });
    }
    const at = new Date(now()).toISOString();
    if (json) {
      const head = { at, ...omitUndefined({ node }), level, event };
      stderr.write(`${JSON.stringify({ ...head, ...fields, ...head })}\n`);
      return;
    }
    const rest = Object.entries(fields)
      .filter(([name]) => name !== "event")
      .map(([name, value]) => `${name}=${oneLine(typeof value === "string" ? value : JSON.stringify(value))}`)
      .join(" ");
    const mark = level === "error" ? paintError("red", level) : level === "warn" ? paintError("yellow", level) : level;
    const of = node === undefined ? "" : `${node} `;
    stderr.write(`${of}${at.slice(11, 19)} ${mark} ${event} ${rest}`.trimEnd() + "\n");
  };
  return log;
};

/** What parts of the system log, in it. */
export const forLog =
  (log: ServerLog): Log =>
  (level, data) => {
    const { event, ...fields } = isJsonObject(data) ? data : { event: data };
    log(
      level === "debug" ? "debug" : level === "info" || level === "notice" ? "info" : level === "warning" ? "warn" : "error",
      textOr(event ?? null, "event"),
      fields,
    );
  };
