// Owns: what reaches a client before the reply to its request: log messages, progress, and the head of an event stream for a call that has
// been silent for too long. Does not own: the reply.
import { type JsonObject, type Clock, isJsonObject, type Json, type Log, type LogLevel, type Progress } from "../../core/contract/index.ts";
import { memoizeByString } from "../../core/contract/internal.ts";
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
    if (isOver(request)) return;
    channel.event?.("progress", emitted ?? stepOf(done, total, text));
    if (token === undefined || !(done > reached)) return;
    reached = done;
    const message = has(revision, "progressText") ? text : undefined;
    channel.notify("notifications/progress", { progressToken: token, ...stepOf(done, total, message) });
  };
}

function stepOf(done: number, total: number | undefined, text: string | undefined): JsonObject {
  return {
    progress: done,
    ...(total === undefined ? undefined : { total }),
    ...(text === undefined ? undefined : { message: text }),
  };
}

const TICK_MS = 2_500;
const TICKS = 4;

/** A call over HTTP whose response has not begun yet. */
export interface SilentCall {
  /** Its index in the list; -1: it is not in it. */
  place: number;
  /** The tick in which it began. */
  since: number;
  /** Sends the head of an event stream, which comments then keep alive. */
  breakSilence(): void;
}

/**
 * Proxies and clients end a response that stays silent, often after 60 s: a call that has been silent for 7.5 to 10 s becomes an event
 * stream. There is one timer for all calls, which stops when no call is left, since nearly all end at once. An array, since a `Set`
 * that entries enter and leave with each call survives, with its old tables, into the collector's old space.
 */
export class SilentCalls {
  readonly #clock: Clock;
  readonly #calls: SilentCall[] = [];
  #tick = 0;
  #ticking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(call: SilentCall): void {
    call.since = this.#tick;
    call.place = this.#calls.push(call) - 1;
    if (!this.#ticking) this.#startTimer();
  }

  /** The call was answered, or has become an event stream. */
  delete(call: SilentCall): void {
    const { place } = call;
    if (place === -1) return;
    call.place = -1;
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    this.#calls[place] = last;
    last.place = place;
  }

  #startTimer(): void {
    this.#ticking = true;
    this.#clock.after(TICK_MS, () => this.#sweep());
  }

  #sweep(): void {
    this.#ticking = false;
    this.#tick += 1;
    for (const call of this.#calls.filter(({ since }) => this.#tick - since >= TICKS)) {
      // It may have ended while another was handled.
      if (call.place === -1) continue;
      this.delete(call);
      call.breakSilence();
    }
    if (this.#calls.length > 0) this.#startTimer();
  }
}

/** Whether an Accept header takes that media type. */
export function acceptsMedia(accept: string, type: string, subtype: string): boolean {
  return accept
    .toLowerCase()
    .split(",")
    .filter((range) => !/;\s*q\s*=\s*"?0(?:\.0*)?"?\s*(?:;|$)/.test(range))
    .map((range) => range.split(";")[0]?.trim())
    .some((range) => range === "*/*" || range === `${type}/*` || range === `${type}/${subtype}`);
}

export const acceptsEvents = memoizeByString((accept) => acceptsMedia(accept, "text", "event-stream"));
