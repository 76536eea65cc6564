// Owns: when an actor ends by itself, and the wake-ups for that and for periodic handlers.
//   Does not own: what periodic handlers do (actor-handlers.ts).
import {
  type Behaviour,
  type Json,
  type Message,
  type Outgoing,
  type Policy,
  TroupeError,
  isJsonObject,
} from "../../core/contract/index.ts";
import { type CapabilityTurn, TIMERS_UNSET } from "./actor-state.ts";
import type { ActorTimes } from "./capability.ts";
import { type Persistence, STATE_TIMEOUT_MS } from "./packet.ts";

/** When an actor ends by itself. */
export type Timeout =
  /** After `ms` milliseconds without a message. On disk the state stays, and the next message continues from it. */
  | { readonly ends: "idle"; readonly ms: number }
  /** `ms` milliseconds after its start, whatever happens. */
  | { readonly ends: "lifetime"; readonly ms: number }
  | { readonly ends: "never" }
  /** Called at the start and after each message. Returns milliseconds until the end; undefined or infinite for no end. Pure. */
  | ((metadata: ActorTimes, now: number) => number | undefined);

/** A timeout: the actor ends after `ms` milliseconds without a message. Throws `BAD_DEFINITION` if `ms` is not above 0. */
export const idle = (ms: number): Timeout => ({ ends: "idle", ms: positiveMs("idle", ms) });
/** A timeout: the actor ends `ms` milliseconds after its start. Throws `BAD_DEFINITION` if `ms` is not above 0. */
export const lifetime = (ms: number): Timeout => ({ ends: "lifetime", ms: positiveMs("lifetime", ms) });
/** A timeout: the actor does not end by itself. */
export const never: Timeout = { ends: "never" };

function positiveMs(name: string, ms: number): number {
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${name}(ms) takes milliseconds above 0: use \`never\` for an actor that does not end by itself.`,
  );
}

/**
 * The engine policy for a timeout. An idle actor in memory ends; one on disk is only unloaded, and the next message reloads it.
 * Without a timeout the configuration decides when the actor starts.
 */
export function policyFor(persistence: Persistence, timeout: Timeout | undefined): Partial<Policy> {
  if (typeof timeout !== "object" || timeout.ends !== "idle") return { persistence };
  return { persistence, ...idlePolicy(persistence, timeout.ms) };
}

export const idlePolicy = (persistence: Persistence, ms: number): Partial<Policy> =>
  persistence === "memory" ? { expireMs: ms } : { idleMs: ms };

/** The policy of an actor with another persistence than its kind. It also neutralises what the kind set for its own persistence. */
export function policyOverride(usual: Persistence, chosen: Persistence, timeout: Timeout | undefined): Partial<Policy> {
  if (chosen === usual) return {};
  const over = policyFor(chosen, timeout);
  return usual === "memory" && over.idleMs !== undefined ? { ...over, expireMs: STATE_TIMEOUT_MS } : over;
}

export interface ActorTimersOptions {
  readonly id: string;
  readonly timeout: Timeout | undefined;
  /** The idle timeout of the kind, for actors in memory. */
  readonly expireMs: number | undefined;
  readonly periodic: Readonly<Record<string, { readonly everyMs: number }>>;
}

/** Prefix of the messages that every such actor has in addition to its author's. */
export const RESERVED_PREFIX = "troupe_";
export const TIMEOUT_MESSAGE = `${RESERVED_PREFIX}timeout`;
const IDLE_TIMER = "idle";
const PERIODIC_PREFIX = `${RESERVED_PREFIX}every_`;

/** The name of a periodic handler's message and timer. */
export const periodicMessage = (name: string): string => `${PERIODIC_PREFIX}${name}`;

/** Sets the timers of a definition. The state stores which are set, so that after a code change the next turn corrects them. */
export class ActorTimers {
  /** A string, because each turn compares it: an object would be read through the draft. Absent: no timers. */
  readonly fingerprint: string | undefined;
  readonly #options: ActorTimersOptions;

  constructor(options: ActorTimersOptions) {
    this.#options = options;
    const { periodic, timeout } = options;
    const every = Object.fromEntries(Object.entries(periodic).map(([name, { everyMs }]) => [name, everyMs]));
    // A timeout function is called after each message, so only its presence matters here.
    const ends = typeof timeout === "function" ? "asked" : timeout?.ends === "lifetime" ? timeout.ms : undefined;
    if (ends !== undefined || Object.keys(every).length > 0)
      this.fingerprint = JSON.stringify({ every, ...(ends !== undefined && { ends }) });
  }

  /** Sets what differs. Returns whether anything did. */
  sync(turn: CapabilityTurn, expireMs = this.#options.expireMs): boolean {
    const { timers } = turn.state;
    if (timers === this.fingerprint) return false;
    const { periodic, timeout } = this.#options;
    const previous = periodicIn(timers);
    for (const name of previous.keys()) if (!Object.hasOwn(periodic, name)) turn.cancel(periodicMessage(name));
    for (const [name, { everyMs }] of Object.entries(periodic)) {
      const action = periodicMessage(name);
      if (previous.get(name) !== everyMs) turn.wake(action, { afterMs: everyMs, everyMs, message: { to: turn.self, action, args: null } });
    }
    // Periodic messages hide from the engine that the actor is idle, so a timer checks it.
    // Only the start knows the policy, so this is not done later in a life.
    if (timers === TIMERS_UNSET && expireMs !== undefined && Object.keys(periodic).length > 0) this.#checkIdleIn(turn, expireMs, expireMs);
    if (typeof timeout === "object" && timeout.ends === "lifetime")
      turn.wake(TIMEOUT_MESSAGE, {
        at: (turn.state.begun_at ?? turn.state.metadata.created_at) + timeout.ms,
        message: timeoutMessage(turn),
      });
    else if (typeof timeout === "function") this.updateTimeout(turn);
    else if (timers !== TIMERS_UNSET) turn.cancel(TIMEOUT_MESSAGE);
    if (this.fingerprint === undefined) delete turn.state.timers;
    else turn.state.timers = this.fingerprint;
    return true;
  }

  /** Calls the timeout function, if there is one, and sets the timer accordingly. */
  updateTimeout(turn: CapabilityTurn): void {
    const { id, timeout } = this.#options;
    if (typeof timeout !== "function") return;
    const inMs = timeout({ ...turn.state.metadata }, turn.now);
    if (inMs === undefined || inMs === Number.POSITIVE_INFINITY) return turn.cancel(TIMEOUT_MESSAGE);
    const afterMs = Math.max(0, inMs);
    if (Number.isNaN(afterMs))
      throw new TroupeError(
        "BAD_DEFINITION",
        `${id}: its \`timeout\` gave ${String(inMs)}: return milliseconds, or undefined for an actor that does not end by itself.`,
      );
    return turn.wake(TIMEOUT_MESSAGE, { afterMs, message: timeoutMessage(turn) });
  }

  onTimeout(turn: CapabilityTurn): void {
    const expireMs = expireMsIn(turn.args);
    const changed = this.sync(turn);
    if (expireMs !== undefined) {
      const quietMs = turn.now - turn.state.metadata.last_message_at;
      if (quietMs >= expireMs) turn.stop("timeout");
      else this.#checkIdleIn(turn, expireMs - quietMs, expireMs);
      return;
    }
    const { timeout } = this.#options;
    // A timer of an earlier definition ends nothing: if the current one has a timeout, `sync` has just set it.
    if (!changed && (typeof timeout === "function" || timeout?.ends === "lifetime")) turn.stop("timeout");
  }

  #checkIdleIn(turn: CapabilityTurn, afterMs: number, expireMs: number): void {
    turn.wake(IDLE_TIMER, { afterMs, message: timeoutMessage(turn, { expire_ms: expireMs }) });
  }
}

const timeoutMessage = ({ self }: CapabilityTurn, args: Json = null): Outgoing => ({ to: self, action: TIMEOUT_MESSAGE, args });

/** Reads `expire_ms` from the arguments of the begin and timeout messages. */
export function expireMsIn(args: unknown): number | undefined {
  const ms = isJsonObject(args) ? args["expire_ms"] : undefined;
  return typeof ms === "number" ? ms : undefined;
}

function periodicIn(timers: string | undefined): ReadonlyMap<string, unknown> {
  const stored: unknown = timers === undefined || timers === TIMERS_UNSET ? undefined : JSON.parse(timers);
  const every = isJsonObject(stored) ? stored["every"] : undefined;
  return new Map(isJsonObject(every) ? Object.entries(every) : []);
}

/**
 * A `receive` that cancels a wake-up without a handler. A state that does not say which timers it has set, such as an older one,
 * would otherwise be woken forever to refuse it.
 */
export function cancellingUnknownWakes<S>(kind: Behaviour<S>, known: (action: string) => boolean): Behaviour<S>["receive"] {
  return (state, message, life, seq, uid) =>
    isUnknownWake(message, known) ? { wake: { [message.action]: null } } : kind.receive(state, message, life, seq, uid);
}

/** Only the actor's own wake-ups qualify. For other senders the message is unknown. */
const isUnknownWake = ({ action, from, to, start }: Message, known: (action: string) => boolean): boolean =>
  action.startsWith(PERIODIC_PREFIX) && from === to && start === undefined && !known(action);
