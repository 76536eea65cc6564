// Owns: what reaches a client before the reply to its request: log messages and progress. Does not own: the reply, the event stream that a
// silent call becomes (active-requests.ts).
import { type JsonObject, isJsonObject, type Json, type Log, type LogLevel, type Progress } from "../../core/contract/index.ts";
import type { ActiveRequest } from "./active-requests.ts";
import { Fault } from "./errors.ts";
import { has, type Revision } from "./revision.ts";

/** Where messages that precede a reply go: the connection, or the reply's own event stream. */
export interface OutOfBandChannel {
  /** Best effort: dropped while the client does not read (C8). */
  notify(method: string, params: JsonObject): void;
  /** The same for an event that is not a JSON-RPC message, which only some dialects have. */
  readonly event?: ((name: string, data: Json) => void) | undefined;
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function isLogLevel(value: Json | undefined): value is LogLevel {
  return LEVELS.some((level) => level === value);
}

/** Once a request is over, nothing more is sent for it: on a shared stream, its client would take it for another request's. */
const isOver = (request: ActiveRequest): boolean => request.over || request.aborted;

/** Sends `notifications/message` from `logLevel` up, which is read for each message. */
export function logTo(channel: OutOfBandChannel, from: { readonly logLevel: LogLevel }, request: ActiveRequest): Log {
  return (level, data, logger) => {
    if (!isOver(request) && LEVELS.indexOf(level) >= LEVELS.indexOf(from.logLevel))
      channel.notify("notifications/message", { level, ...(logger === undefined ? undefined : { logger }), data });
  };
}

/** Sends `notifications/progress` if the request has a token for it; a step that does not go forward is not sent. Throws `PARAMS`. */
export function progressTo(
  channel: OutOfBandChannel,
  params: JsonObject,
  revision: Revision,
  request: ActiveRequest,
): Progress | undefined {
  const meta = params["_meta"];
  const token = isJsonObject(meta) ? meta["progressToken"] : undefined;
  // It is sent and stored with each step.
  if (typeof token === "string" && token.length > 256)
    throw new Fault("PARAMS", "A progressToken is text of at most 256 characters or a number.");
  const wanted = typeof token === "string" || typeof token === "number";
  return wanted || channel.event !== undefined ? stepsTo(channel, wanted ? token : undefined, revision, request) : undefined;
}

// A function of its own: few requests ask for progress, and all would pay for the variables it closes over.
function stepsTo(channel: OutOfBandChannel, token: string | number | undefined, revision: Revision, request: ActiveRequest): Progress {
  let reached = -Infinity;
  return (done, total, text, emitted) => {
    // JSON has no such number: `null` in its place is no step, and none could follow Infinity.
    if (isOver(request) || !Number.isFinite(done)) return;
    channel.event?.("progress", emitted === undefined ? stepOf(done, total, text) : emitted);
    if (token === undefined || !(done > reached)) return;
    reached = done;
    const message = has(revision, "progressText") ? text : undefined;
    channel.notify("notifications/progress", { progressToken: token, ...stepOf(done, total, message) });
  };
}

// Served modules are not type-checked, and one wrong member would make the whole notification unreadable.
function stepOf(done: number, total: number | undefined, text: string | undefined): JsonObject {
  return {
    progress: done,
    ...(total === undefined || !Number.isFinite(total) ? undefined : { total }),
    ...(typeof text === "string" ? { message: text } : undefined),
  };
}
