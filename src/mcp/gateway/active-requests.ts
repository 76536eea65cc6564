// Owns: the requests that run: by id (to cancel them), their replies (to give up on them), their number (to drain), what they send before
// their replies (log messages, progress), and those over HTTP that are silent for too long. Does not own: what a request does.
import {
  Cancellation,
  type Clock,
  isJsonObject,
  type Json,
  type JsonObject,
  type Log,
  type LogLevel,
  type Progress,
} from "../../core/contract/index.ts";
import { andThenElse } from "../../core/contract/internal.ts";
import { Fault } from "./errors.ts";
import type { RequestId } from "./json-rpc.ts";
import { has, type Revision } from "./revision.ts";

/** A request that is being served. Aborted, it is not answered. */
export class ActiveRequest extends Cancellation {
  readonly id: RequestId;
  /** It was answered or cancelled: what its handler still reports is dropped. */
  over = false;

  constructor(id: RequestId) {
    super();
    this.id = id;
  }
}

/**
 * The active requests of one client, by id. A list, since they are few: entries that enter and leave a Map with every call would
 * survive into the collector's old space, together with the requests they held.
 */
export class ActiveRequests<R extends ActiveRequest = ActiveRequest> {
  readonly #active: R[] = [];

  get size(): number {
    return this.#active.length;
  }

  get(id: RequestId): R | undefined {
    for (const one of this.#active) if (one.id === id) return one;
    return undefined;
  }

  add(one: R): void {
    this.#active.push(one);
  }

  delete(one: R): void {
    one.over = true;
    const at = this.#active.indexOf(one);
    if (at < 0) return;
    const last = this.#active.pop();
    if (last !== undefined && at < this.#active.length) this.#active[at] = last;
  }

  some(is: (one: R) => boolean): boolean {
    return this.#active.some(is);
  }

  /** A snapshot. */
  all(): readonly R[] {
    return [...this.#active];
  }
}

interface PendingReply {
  /** Its index in the list. */
  at: number;
  readonly of: ActiveRequest | undefined;
  readonly reject: (fault: Fault) => void;
}

/**
 * Replies that are being worked on, and may have to be given before the work ends. Each entry knows its index, since entries that come
 * and go with every call would survive into the collector's old space if they were in a Map.
 */
export class PendingReplies {
  readonly #replies: PendingReply[] = [];
  #over = false;

  /** Nothing is waited for any more. */
  get over(): boolean {
    return this.#over;
  }

  /** Settles as the outcome does, or rejects with `GivenUp`. `of`: the request that waits for it. A value is returned as it is. */
  within<T>(outcome: T | Promise<T>, of?: ActiveRequest): T | Promise<T> {
    return outcome instanceof Promise ? this.#wait(outcome, of) : outcome;
  }

  #wait<T>(outcome: Promise<T>, of: ActiveRequest | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const reply: PendingReply = { at: this.#replies.length, of, reject };
      this.#replies.push(reply);
      outcome.then(
        (value) => {
          this.#remove(reply);
          return resolve(value);
        },
        (error: unknown) => {
          this.#remove(reply);
          reject(error);
        },
      );
      if (this.#over) reject(new GivenUp());
    });
  }

  /** Gives up on all: those who wait learn that the outcome is unknown. */
  giveUpAll(): void {
    this.#over = true;
    for (const { reject } of this.#replies) reject(new GivenUp());
  }

  giveUp(request: ActiveRequest): void {
    for (const { of, reject } of this.#replies) if (of === request) reject(new GivenUp());
  }

  #remove(reply: PendingReply): void {
    const last = this.#replies.pop();
    if (last === undefined || last === reply) return;
    this.#replies[reply.at] = last;
    last.at = reply.at;
  }
}

/** The server no longer waits for an outcome. */
export class GivenUp extends Fault {
  constructor() {
    super(
      "UNAVAILABLE",
      "The server closes before this was done, and whether it was applied is not known: look, and call again once the server is back.",
    );
  }
}

/** Counts what runs, so that a drain can wait for its end. */
export class WorkCounter {
  #running = 0;
  /** Aborted once no new work is taken. */
  readonly closing = new Cancellation();
  readonly #idle = new Set<() => void>();

  get running(): number {
    return this.#running;
  }

  /** No new work is taken. */
  get closed(): boolean {
    return this.closing.aborted;
  }

  close(): void {
    this.closing.abort();
  }

  /** Counts `run` until it has settled, and returns its result. */
  during<T>(run: () => T | Promise<T>): T | Promise<T> {
    this.#running += 1;
    let result: T | Promise<T>;
    try {
      result = run();
    } catch (error) {
      return this.#threw(error);
    }
    return andThenElse<T, T, []>(result, this.#ended, this.#threw);
  }

  /** Settles when nothing runs, or after `graceMs`. False: something still runs. */
  idle(clock: Clock, graceMs: number): Promise<boolean> {
    if (this.#running === 0) return Promise.resolve(true);
    if (graceMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      // The clock does not keep the process alive, and one that exits in the middle of a drain has not drained.
      const alive = setInterval(() => undefined, 60_000);
      const undo = clock.after(graceMs, () => {
        clearInterval(alive);
        this.#idle.delete(ended);
        resolve(false);
      });
      const ended = (): void => {
        clearInterval(alive);
        undo();
        resolve(true);
      };
      this.#idle.add(ended);
    });
  }

  /** Settles when nothing runs. */
  quiet(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  readonly #ended = <T>(result: T): T => {
    this.#leave();
    return result;
  };

  readonly #threw = (error: unknown): never => {
    this.#leave();
    throw error;
  };

  #leave(): void {
    this.#running -= 1;
    if (this.#running > 0 || this.#idle.size === 0) return;
    const waiting = [...this.#idle];
    this.#idle.clear();
    for (const resolve of waiting) resolve();
  }
}

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
