// Owns: what an actor is (behaviour, message, turn, work, policy) and the form of its id. Does not own: running it (engine.ts) or
// storing it (store.ts).

import type { TroupeError } from "./errors.ts";
import type { Bag, Json } from "./json.ts";
import type { Catalogue, Surface } from "./surface.ts";

/** `kind/key`: the kind matches `[a-z][a-z0-9-]{0,63}`, the key is 1–256 bytes, percent-encoded as `encodeURIComponent` does: one key, one id. */
export type ActorId = `${string}/${string}`;

/** Who is behind a call. Plain data; era, connection and posture end at the gateway. */
export interface Viewer {
  /** `iss|sub` of a verified token, the name of an API key, `session|…` (legacy, unauthenticated), `local` (stdio); absent: nobody in particular. */
  readonly principal?: string;
  /** The actor that stands for the viewer in its cast. */
  readonly self?: ActorId;
  readonly scopes: readonly string[];
}

export interface Message {
  /** `${life}.${seq}.${n}` between actors, random from a door; never a JSON-RPC id. */
  readonly id: string;
  readonly to: ActorId;
  readonly action: string;
  /**
   * Frozen deeply, in place, before a turn sees it, and `start` and `answers` likewise: who calls in process leaves them alone
   * from the call on, and passes a copy of what it goes on changing. What is frozen may be passed again.
   */
  readonly args: Json;
  /** Milliseconds since 1970, stamped once on acceptance: a turn's only clock. */
  readonly at: number;
  /** 128 bits as 32 hex digits, stamped once, never by a caller: a turn's only randomness and source of ids. */
  readonly seed: string;
  /** Availability is decided with it again, inside the turn (law 3). */
  readonly viewer?: Viewer;
  /** The actor may begin with this message; absent and the actor unknown: `NO_ACTOR`. */
  readonly start?: Json;
  /** Only with `start`: overrides the kind's policy, kept with the actor. */
  readonly policy?: Partial<Policy>;
  /** The reply arrives at the sender as a message of this action: a durable ask that holds no mailbox. */
  readonly replyAs?: string;
  readonly from?: ActorId;
  /** Id of the event this message was sent by; of a wake, that set it. */
  readonly cause?: string;
  readonly deadline?: number;
  /** W3C `traceparent`, `tracestate`, `baggage`. */
  readonly trace?: Bag;
  /** Given to an earlier `needs`, under the same keys. */
  readonly answers?: Bag;
  /** What the client could be asked: `elicitation`, `sampling`, `roots`. */
  readonly can?: readonly string[];
  /** How often it went out again as a dead letter. */
  readonly replays?: number;
}

/** A message before the engine stamped it. */
export type Outgoing = Omit<Message, "id" | "at" | "seed" | "from" | "cause" | "answers" | "can" | "replays">;

export type Reply =
  | { readonly ok: Json }
  | { readonly refused: { readonly code: string; readonly message: string; readonly data?: Json } }
  /** Ask the client, then call again from the top: this turn leaves no trace. Key → request `{method, params}`. */
  | { readonly needs: Bag };

/** How a cast finds a viewer's actor: one for all, one per principal, one per handle, or only by another's link. */
export type Per = "shared" | "user" | "handle" | "link";

/** A durable, named timer. `everyMs` repeats it. */
export interface Wake {
  readonly at: number;
  readonly everyMs?: number;
  readonly action: string;
  readonly args?: Json;
}

/** How far something is. `done` grows from one to the next. */
export interface Step {
  readonly done: number;
  readonly total?: number;
  readonly text?: string;
}

/** The whole effect of one message. No state, send, wake, answer, report, restart, record or stop: nothing is committed, there is no event. */
export interface Turn<S> {
  readonly state?: S;
  /** Absent: `{ ok: null }`; `"later"`: a later turn of this actor answers this message's id. */
  readonly reply?: Reply | "later";
  /** Message id → reply, for messages that were told `"later"`. */
  readonly answer?: Readonly<Record<string, Reply>>;
  /** Message id → how far that is, for whoever this actor told `"later"` and who waits here: at most once after a commit, never kept. */
  readonly report?: Readonly<Record<string, Step>>;
  /** Children that have failed, to be tried again from the state they had. Of others it means nothing. */
  readonly restart?: readonly ActorId[];
  /** Leaves with the commit; first in, first out per pair of actors (C5). */
  readonly send?: readonly Outgoing[];
  /** By name; null cancels. */
  readonly wake?: Readonly<Record<string, Wake | null>>;
  /** The actor ends with this turn, for this reason, and its children with it: it is told of once they have ended. */
  readonly stop?: string;
  /** What happened inside (host calls, foreign tools): kept in the event, which a refusal leaves for it, too (C3). */
  readonly record?: Json;
  /** Metrics, log lines: to watchers after the commit, at most once, never kept. */
  readonly emit?: readonly Json[];
}

/** All that waits. Starts when everything before it is durable, holds the mailbox, cannot undo what it did outside. */
export type Work<S> = (context: Context) => Promise<Turn<S>>;

export interface Context {
  /** Timeout, cancel, stop; afterwards every method throws `TURN_OVER` and the turn is dropped. */
  readonly signal: AbortSignal;
  /** I/O like any other; its id is derived from this message's, so a re-run is safe. */
  call(message: Outgoing): Promise<Reply>;
  readonly progress: Progress;
  /** To the caller, while it waits; never kept. */
  readonly log: Log;
}

/** `emitted`: what a handler said at that step, as it is, for clients that read more than a text. */
export type Progress = (done: number, total?: number, text?: string, emitted?: Json) => void;

export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
export type Log = (level: LogLevel, data: Json, logger?: string) => void;

/**
 * A kind of actor. Everything but `Work` is synchronous and pure (law 4).
 * State is JSON: the commit checks it, not the compiler. Methods, not function
 * properties, so that `Behaviour<Door>` fits `Behaviour[]`.
 */
export interface Behaviour<S = unknown> {
  readonly kind: string;
  /** Of the state. A stored state of a lower version passes `migrate`; a higher one is refused. */
  readonly version: number;
  readonly policy: Policy;
  /** Which actor of this kind stands for a viewer; absent: `link`. */
  readonly per?: Per;
  /**
   * A place, not a child. Reached by a link before it has begun, it is shown as it would begin, and begins with the first
   * call; whoever begins it is not its parent. Absent: it is there once a message started it, and ends with who sent that.
   */
  readonly begins?: boolean;
  /** All it can ever show; absent: not known ahead, so never served "gated". */
  readonly catalogue?: Catalogue;
  initial(key: string, first: Message): S;
  /** On load, in memory; written with the next turn. */
  migrate?(state: Json, from: number): S;
  /**
   * Replies `UNKNOWN` to an action it does not know; but to `begin` with `start`, should there be no such action of its
   * own, `{ ok: null }`: a cast sends it to a viewer's actor that has not begun before it acts through its links, since
   * what these send back must find somebody.
   *
   * `state` is frozen to the bottom. `life` and `seq` are of the event the turn would leave: the nth of its sends, from 0,
   * has the id `${life}.${seq}.${n}`.
   * `uid` is the actor's own, the same in all its lives.
   */
  receive(state: S, message: Message, life?: string, seq?: number, uid?: string): Turn<S> | Work<S>;
  /** Read-only tools, resources, prompts, completion: no mailbox, no event. `self` is the actor viewed, where the caller knows it. */
  view?(state: S, action: string, args: Json, viewer: Viewer, self?: ActorId): Reply;
  /**
   * Where part of it cannot be computed, that part is off and the rest is shown: `onFault` is told what broke, once until the
   * code is loaded anew. A throw: none of it can be shown.
   */
  surface?(state: S, viewer: Viewer, onFault?: (error: TroupeError) => void): Surface;
  /** Whether it is fulfilled where the actor has ended, or never began: nothing is refused then, and no dead letter is left. Absent: nothing is. */
  lapses?(message: Message): boolean;
  /** Arguments and records with what is secret replaced, before anything is written. */
  redact?(message: Message): Json;
}

export interface Policy {
  readonly persistence: "memory" | "disk" | "distributed";
  /** `starter`: for any other principal this actor does not exist. */
  readonly owner: "anyone" | "starter";
  /** The cell is dropped after this long without a message; the state stays. */
  readonly idleMs: number;
  /** The actor ends after this long without a message. Absent: never. */
  readonly expireMs?: number;
  /** Work is aborted after this long. */
  readonly workMs: number;
  /** A wake repeats no oftener. */
  readonly minEveryMs: number;
  /** Bounds waiting calls; durable sends wait in the outbox. */
  readonly mailbox: number;
  readonly maxStateBytes: number;
  /** More crashes than `max` within the window: the actor is failed until `restart`. Absent: no bound. */
  readonly restart?: { readonly max: number; readonly withinMs: number };
}

export const DEFAULT_POLICY: Policy = {
  persistence: "disk",
  owner: "anyone",
  idleMs: 30 * 60_000,
  workMs: 60_000,
  minEveryMs: 100,
  mailbox: 1_000,
  maxStateBytes: 1_048_576,
};

/** What `encodeURIComponent` writes: each of these is one byte of the key. */
const ID = /^[a-z][a-z0-9-]{0,63}\/(?:[A-Za-z0-9._~!'()*-]|%[0-9A-F]{2}){1,256}$/u;
const ADDRESS = /^[a-z][a-z0-9-]{0,63}\/.+$/u;

/** The key in clear. Undefined for no id, and for another writing of a key than `kind.id(key)`'s: it would be a second actor of that key. */
export function keyIn(given: unknown): string | undefined {
  if (typeof given !== "string" || !ID.test(given)) return undefined;
  const segment = given.slice(given.indexOf("/") + 1);
  if (!segment.includes("%")) return segment;
  try {
    const key = decodeURIComponent(segment);
    return encodeURIComponent(key) === segment ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it is an id as `kind.id(key)` writes it: an engine takes no other. */
export const isActorId = (given: unknown): given is ActorId => keyIn(given) !== undefined;

/** Anything between a kind and an end: a message may be on its way to nobody. */
export const isAddress = (given: unknown): given is ActorId => typeof given === "string" && ADDRESS.test(given);

export const kindOf = (id: ActorId): string => id.slice(0, id.indexOf("/"));

/** Before 0: `one` is listed first. By kind, then by key: as text, `a-b/c` would come before `a/c`. */
export function compareIds(one: ActorId, other: ActorId): number {
  // Of kinds of one length the text says it: many are sorted by this.
  const isText = one.indexOf("/") === other.indexOf("/");
  const [left, right] = isText ? [one, other] : [one.replace("/", "\0"), other.replace("/", "\0")];
  return left < right ? -1 : left > right ? 1 : 0;
}

declare const ANSWER: unique symbol;

/** A message whose receiver says in its `output` what it answers. The type alone knows: the message is what any other is. */
export interface Asks<T> extends Outgoing {
  readonly [ANSWER]: T;
}

/** What comes back: the receiver has held it against its `output`. */
export type ReplyWith<T> = { readonly ok: T } | Exclude<Reply, { readonly ok: unknown }>;

/** The message that begins an actor and does nothing else. No author can name a message so, since names have no slash. */
export const BEGIN_ACTION = "troupe/begin";

/** A dead letter's message as it goes out once more: what answers it then is another message than what answered it before. */
export const asReplay = (message: Message): Message => ({ ...message, replays: (message.replays ?? 0) + 1 });

/** On what `refuse` throws. Two copies of this package may meet in one process: `instanceof` would not know the other's. */
export const REFUSAL = Symbol.for("troupe.refusal");

/** Whether an author's code threw a refusal: an outcome like any other, of which the caller is told. */
export function isRefusal(error: unknown): error is Extract<Reply, { refused: unknown }>["refused"] {
  return typeof error === "object" && error !== null && REFUSAL in error;
}

// By the function, not by a member of its kind: whoever spreads a kind and gives it another `surface` has none that is constant.
const constant = new WeakSet<object>();

/** Of a `surface` that is the same in every state, for every viewer, and has no links. Gives it back. */
export function markStatic<F extends object>(surface: F): F {
  constant.add(surface);
  return surface;
}

/** What the kind shows nothing can change: it need be asked for once only. */
export function isStatic({ surface }: Pick<Behaviour, "surface">): boolean {
  return surface !== undefined && constant.has(surface);
}
