// Owns: the server's log on standard error, and what it contains of a fault. Does not own: commands' results (output.ts).
import { isJsonObject, type JsonObject, type Log, TroupeError } from "../core/contract/index.ts";
import { authorPlace, omitUndefined, RateLimitedLines } from "../core/contract/internal.ts";
import { oneLine, paintError, textOrElse } from "./output.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type ServerLogLevel = (typeof LOG_LEVELS)[number];

/** Codes, ids and sizes; never arguments, state or tokens. */
export type ServerLog = (
  level: Exclude<ServerLogLevel, "silent">,
  event: string,
  fields?: JsonObject,
  /** What author code threw. May quote state and arguments, so it goes to the console only, never to the log. */
  thrown?: string,
) => void;

/** Unread output is held in memory, so it has a limit. */
const MOST_UNREAD = 16 * 1_048_576;

/** Logs to standard error: JSON lines for programs, short lines for people. `node`: the name of one node among several. */
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
    // The log's own members override fields of the same names.
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

/** Adapts the log for other parts of the system. */
export const toLog =
  (log: ServerLog): Log =>
  (level, data) => {
    const { event, ...fields } = isJsonObject(data) ? data : { event: data };
    log(
      level === "debug" ? "debug" : level === "info" || level === "notice" ? "info" : level === "warning" ? "warn" : "error",
      textOrElse(event ?? null, "event"),
      fields,
    );
  };

type FaultFields = {
  /** The name of the error. */
  readonly error: string;
  readonly code?: string;
  /** `/path/shop.ts:3:7` */
  readonly place?: string;
  readonly why?: string;
  /** Its cause, described likewise. */
  readonly cause?: FaultFields;
};

/** Limits chains of causes, which may be circular. */
const MOST_CAUSES = 4;

/**
 * The fields of a fault in the log: name, code and place in the author's code. The message of an author's error may contain arguments or
 * state, so it is included only with `detailedFaults`; Troupe's own messages contain neither.
 */
export const faultFields = (error: unknown, detailedFaults: boolean, causes = MOST_CAUSES): FaultFields => {
  if (!(error instanceof Error)) return { error: typeof error };
  const place = authorPlace(error);
  return {
    error: error.name.slice(0, 100),
    ...("code" in error && typeof error.code === "string" ? { code: error.code.slice(0, 100) } : {}),
    ...omitUndefined({ place }),
    ...(detailedFaults || error instanceof TroupeError ? { why: error.message } : {}),
    ...(causes > 0 && error.cause instanceof Error ? { cause: faultFields(error.cause, detailedFaults, causes - 1) } : {}),
  };
};

const MAX_THROWN = 1_000;

/** What author code threw, as text. `hasSecrets`: it may contain secret arguments, so only its name is given. */
export const thrownBy = (error: unknown, hasSecrets: boolean): string | undefined => {
  const thrown = error instanceof TroupeError ? error.cause : error;
  if (thrown === undefined) return undefined;
  const name = thrown instanceof Error ? thrown.name.slice(0, 100) : `a ${typeof thrown}`;
  if (hasSecrets) return `${name}, whose text is hidden, since the message has secret arguments`;
  const text = thrown instanceof Error ? thrown.message : typeof thrown === "string" ? thrown : "";
  return text === "" ? name : `${name}: ${text.slice(0, MAX_THROWN)}`;
};
