import type { RunContext } from "../../core/actor/index.ts";
import {
  type Behaviour,
  type Json,
  type Message,
  type Outgoing,
  type Policy,
  TroupeError,
  isJsonObject,
} from "../../core/contract/index.ts";
import { type CapabilityStateDraft, TIMERS_UNSET } from "./actor-state.ts";
import type { ActorTimes } from "./capability.ts";
import { type Persistence, STATE_TIMEOUT_MS } from "./packet.ts";

/** When an actor ends by itself. */
export type Timeout =
  /** After so long without a message. On disk its state stays, and the next message finds it as it was. */
  | { readonly ends: "idle"; readonly ms: number }
  /** So long after it began, whatever happens. */
  | { readonly ends: "lifetime"; readonly ms: number }
  | { readonly ends: "never" }
  /** Asked when it begins and after each message: in how many milliseconds; undefined or infinite for not at all. Pure. */
  | ((metadata: ActorTimes, now: number) => number | undefined);

/** An actor's timeout: it ends after `ms` milliseconds without a message. Throws where `ms` is not above 0. */
export const idle = (ms: number): Timeout => ({ ends: "idle", ms: positiveMs("idle", ms) });
/** An actor's timeout: it ends `ms` milliseconds after its start. Throws where `ms` is not above 0. */
export const lifetime = (ms: number): Timeout => ({ ends: "lifetime", ms: positiveMs("lifetime", ms) });
/** An actor's timeout: it never ends by time. */
export const never: Timeout = { ends: "never" };

function positiveMs(name: string, ms: number): number {
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${name}(ms) takes milliseconds above 0: use \`never\` for an actor that does not end by itself.`,
  );
}

/**
 * An idle actor in memory ends. One on disk sleeps: its state stays, and the next message finds it as it was.
 * Absent timeouts are the configuration's, which is known where an actor begins.
 */
export function policyFor(persistence: Persistence, timeout: Timeout | undefined): Partial<Policy> {
  if (typeof timeout !== "object" || timeout.ends !== "idle") return { persistence };
  return { persistence, ...idlePolicy(persistence, timeout.ms) };
}

export const idlePolicy = (persistence: Persistence, ms: number): Partial<Policy> =>
  persistence === "memory" ? { expireMs: ms } : { idleMs: ms };

/** The same for an actor that begins otherwise than its kind says: what the kind set for its own persistence is put off for good. */
export function policyOverride(usual: Persistence, chosen: Persistence, timeout: Timeout | undefined): Partial<Policy> {
  if (chosen === usual) return {};
  const over = policyFor(chosen, timeout);
  return usual === "memory" && over.idleMs !== undefined ? { ...over, expireMs: STATE_TIMEOUT_MS } : over;
}

export interface ActorTimersOptions {
  readonly id: string;
  readonly timeout: Timeout | undefined;
  /** Of its kind, in memory: it ends after so long without a message. */
  readonly expireMs: number | undefined;
  readonly periodic: Readonly<Record<string, { readonly everyMs: number }>>;
}

type Turn = RunContext<CapabilityStateDraft, unknown>;

/** How the names of messages begin that every such actor has beside its author's. */
export const RESERVED_PREFIX = "troupe_";
export const TIMEOUT_MESSAGE = `${RESERVED_PREFIX}timeout`;
const IDLE_TIMER = "idle";
const PERIODIC_PREFIX = `${RESERVED_PREFIX}every_`;

/** The message, and the wake, of a periodic handler. */
export const periodicMessage = (name: string): string => `${PERIODIC_PREFIX}${name}`;

/** The wakes that a definition gives its actors. A state keeps which it has set: after new code its next turn sets what differs. */
export class ActorTimers {
  /** Text, since each turn compares it: as a value it would be walked through the draft. Absent: none. */
  readonly fingerprint: string | undefined;
  readonly #options: ActorTimersOptions;

  constructor(options: ActorTimersOptions) {
    this.#options = options;
    const { periodic, timeout } = options;
    const every = Object.fromEntries(Object.entries(periodic).map(([name, { everyMs }]) => [name, everyMs]));
    // What a function says is asked after each message: that it is one is enough.
    const ends = typeof timeout === "function" ? "asked" : timeout?.ends === "lifetime" ? timeout.ms : undefined;
    if (ends !== undefined || Object.keys(every).length > 0)
      this.fingerprint = JSON.stringify({ every, ...(ends !== undefined && { ends }) });
  }

  /** True: they were others, and are set now. */
  sync(turn: Turn, expireMs = this.#options.expireMs): boolean {
    const { timers } = turn.state;
    if (timers === this.fingerprint) return false;
    const { periodic, timeout } = this.#options;
    const before = periodicIn(timers);
    for (const name of before.keys()) if (!Object.hasOwn(periodic, name)) turn.cancel(periodicMessage(name));
    for (const [name, { everyMs }] of Object.entries(periodic)) {
      const action = periodicMessage(name);
      if (before.get(name) !== everyMs) turn.wake(action, { afterMs: everyMs, everyMs, message: { to: turn.self, action, args: null } });
    }
    // A periodic handler keeps the engine from seeing that nobody else says anything. Not later in a life: only its beginning knows its policy.
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

  /** A function says when it ends: asked again after each message. */
  updateTimeout(turn: Turn): void {
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

  onTimeout(turn: Turn): void {
    const expireMs = expireMsIn(turn.args);
    const changed = this.sync(turn);
    if (expireMs !== undefined) {
      const quietMs = turn.now - turn.state.metadata.last_message_at;
      if (quietMs >= expireMs) turn.stop("timeout");
      else this.#checkIdleIn(turn, expireMs - quietMs, expireMs);
      return;
    }
    const { timeout } = this.#options;
    // One that was set by a definition which is no more ends nobody: where the new one says so, it was set anew.
    if (!changed && (typeof timeout === "function" || timeout?.ends === "lifetime")) turn.stop("timeout");
  }

  #checkIdleIn(turn: Turn, afterMs: number, expireMs: number): void {
    turn.wake(IDLE_TIMER, { afterMs, message: timeoutMessage(turn, { expire_ms: expireMs }) });
  }
}

const timeoutMessage = ({ self }: Turn, args: Json = null): Outgoing => ({ to: self, action: TIMEOUT_MESSAGE, args });

/** From the arguments of what begins an actor, and of what ends it. */
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
 * The same, where a wake finds no periodic handler: it takes itself off. States that do not say which wakes they have set, as
 * older ones, would be woken for ever to refuse it.
 */
export function cancellingUnknownWakes<S>(kind: Behaviour<S>, known: (action: string) => boolean): Behaviour<S>["receive"] {
  return (state, message, life, seq, uid) =>
    isUnknownWake(message, known) ? { wake: { [message.action]: null } } : kind.receive(state, message, life, seq, uid);
}

/** Nobody outside is: to them it is unknown. */
const isUnknownWake = ({ action, from, to, start }: Message, known: (action: string) => boolean): boolean =>
  action.startsWith(PERIODIC_PREFIX) && from === to && start === undefined && !known(action);
