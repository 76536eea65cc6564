import { type Bag, isBag, type Json, type Log, type LogLevel, type Progress } from "../../core/contract/index.ts";
import { Fault } from "./errors.ts";
import { has, type Revision } from "./revision.ts";
import type { Running } from "./running.ts";

/** Where messages that precede a reply go: the connection, or the reply's own event stream. */
export interface Aside {
  /** Best effort: dropped while the client does not read (C8). */
  tell(method: string, params: Bag): void;
  /** Best effort too: an event that is no message, where the profile has such. */
  readonly event?: ((name: string, data: Json) => void) | undefined;
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function isLogLevel(value: Json | undefined): value is LogLevel {
  return LEVELS.some((level) => level === value);
}

/** Nothing is told of a request that was answered or cancelled: on a stream of many, its client would take it for another's. */
const isOver = (request: Running): boolean => request.over || request.aborted;

/** `notifications/message` from the level up that is asked for when there is something to say. */
export function logTo(aside: Aside, from: { readonly logLevel: LogLevel }, request: Running): Log {
  return (level, data, logger) => {
    if (!isOver(request) && LEVELS.indexOf(level) >= LEVELS.indexOf(from.logLevel))
      aside.tell("notifications/message", { level, ...(logger === undefined ? undefined : { logger }), data });
  };
}

function stepOf(done: number, total: number | undefined, text: string | undefined): Bag {
  return {
    progress: done,
    ...(total === undefined ? undefined : { total }),
    ...(text === undefined ? undefined : { message: text }),
  };
}

/** `notifications/progress` where the request asked for it; a step that does not go forward is not told. Throws `PARAMS`. */
export function progressTo(aside: Aside, params: Bag, revision: Revision, request: Running): Progress | undefined {
  const meta = params["_meta"];
  const token = isBag(meta) ? meta["progressToken"] : undefined;
  // It goes back with each step, and into the store of streams.
  if (typeof token === "string" && token.length > 256)
    throw new Fault("PARAMS", "A progressToken is text of at most 256 characters or a number.");
  const asked = typeof token === "string" || typeof token === "number";
  return asked || aside.event !== undefined ? stepsTo(aside, asked ? token : undefined, revision, request) : undefined;
}

// Apart: hardly anybody asks, and what it closes over would be paid for by all.
function stepsTo(aside: Aside, token: string | number | undefined, revision: Revision, request: Running): Progress {
  const { event } = aside;
  let reached = -Infinity;
  return (done, total, text, emitted) => {
    if (isOver(request)) return;
    event?.("progress", emitted ?? stepOf(done, total, text));
    if (token === undefined || !(done > reached)) return;
    reached = done;
    aside.tell("notifications/progress", {
      progressToken: token,
      progress: done,
      ...(total === undefined ? undefined : { total }),
      ...(text === undefined || !has(revision, "progressText") ? undefined : { message: text }),
    });
  };
}
