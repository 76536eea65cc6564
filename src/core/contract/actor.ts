// Owns: what an actor is (behaviour, message, turn, work, policy) and the form of its id. Does not own: running it (engine.ts) or
// storing it (store.ts).

import type { DirtyPaths } from "./dirty-paths.ts";
import type { TroupeError } from "./errors.ts";
import { canonical, isJsonObject, isTexts, type JsonObject, type Json } from "./json.ts";
import type { Catalogue, OfferRef, Surface } from "./surface.ts";

/** `kind/key`: the kind matches `[a-z][a-z0-9-]{0,63}`, the key is 1–256 bytes, percent-encoded as `encodeURIComponent` does: one key, one id. */
export type ActorId = `${string}/${string}`;

/** The caller. Plain data; protocol era, connection and the mode of lists are known to the gateway only. */
export interface Viewer {
  /**
   * `iss|sub` of a verified token, the name of an API key, `local` (stdio). Without any of these: `session|…` (MCP, older revisions),
   * `guest|…` (packets, the user they name), or absent.
   */
  readonly principal?: string;
  /** The actor that stands for the viewer in its cast. */
  readonly self?: ActorId;
  readonly scopes: readonly string[];
  /**
   * The claims of its token that the server's options name, or those of its API key; frozen. For sources, servers and reads: no message,
   * event, dump or log line has them.
   */
  readonly claims?: JsonObject;
}

const NOT_SIGNED_IN = /^(?:session|guest)\|/;

/**
 * Whether the caller has shown who it is: by a token, by an API key, or as the owner of the data directory (`local`). A client without a key
 * has no `principal`, or one that proves nothing: that of its session, of which it may have several, or a name that its packets claim.
 *
 * @example
 * ```ts
 * import { actor, isSignedIn, refuse } from "troupe";
 * import * as z from "zod";
 *
 * const guestbook = actor("guestbook", {
 *   description: "A guestbook.",
 *   state: z.object({ guests: z.array(z.string()).default([]) }),
 *   tools: {
 *     sign: {
 *       description: "Sign the guestbook.",
 *       run({ state, viewer }) {
 *         if (!isSignedIn(viewer)) refuse("Sign in first.");
 *         state.guests.push(viewer.principal);
 *       },
 *     },
 *   },
 * });
 * ```
 */
export function isSignedIn<V extends Pick<Viewer, "principal">>(viewer: V): viewer is V & { readonly principal: string } {
  const { principal } = viewer;
  return principal !== undefined && !NOT_SIGNED_IN.test(principal);
}

/** The caller as actors see it, and as messages and events store it: without claims. */
export interface ActorViewer extends Omit<Viewer, "claims"> {
  /** For an actor's code: the names in the kind's `allow` that hold for the caller. Absent: the kind has no `allow`. */
  readonly roles?: readonly string[];
  /**
   * Kind → the names in its `allow` that hold. Decided when a caller with claims calls, and stored in their place, so that turns decide and
   * replay without them. Passed on with what actors send for their caller.
   */
  readonly rolesByKind?: RolesByKind;
}

export type RolesByKind = Readonly<Record<string, readonly string[]>>;

/** Whether both have the same claims. Those of a cached token are the same object. */
export const sameClaims = (one: Viewer["claims"], other: Viewer["claims"]): boolean =>
  one === other || (one !== undefined && other !== undefined && canonical(one) === canonical(other));

/** What an actor handles: an action with its arguments, and the time and randomness of its turn. */
export interface Message {
  /** `${life}.${seq}.${n}` between actors, random from a transport; never a JSON-RPC id. */
  readonly id: string;
  readonly to: ActorId;
  readonly action: string;
  /**
   * Frozen deeply, in place, before a turn sees it; so are `start` and `answers`. A caller in the same process must not change them
   * after the call: pass a copy of data that changes. Frozen data may be passed again.
   */
  readonly args: Json;
  /** Milliseconds since 1970, stamped once on acceptance. A turn's only clock. */
  readonly at: number;
  /** 128 bits as 32 hex digits, stamped once, never by a caller: a turn's only randomness and source of ids. */
  readonly seed: string;
  /** Availability is decided with it again, inside the turn (law 3). */
  readonly viewer?: ActorViewer;
  /** The actor may start with this message, whatever its kind. Absent: only if its kind starts on first use; otherwise `NO_ACTOR`. */
  readonly start?: Json;
  /** Starts no actor, not even one that starts on first use. Engines set it on replies (`replyAs`), and on what a parent is sent of its children. */
  readonly noStart?: true;
  /** Only with `start`: overrides the kind's policy, and is stored with the actor. */
  readonly policy?: Partial<Policy>;
  /** The reply arrives at the sender as a message of this action: a durable ask that holds no mailbox. */
  readonly replyAs?: string;
  /** Only with `replyAs`: comes back unchanged with the reply, as `context`. The receiver does not read it. */
  readonly replyContext?: Json;
  readonly from?: ActorId;
  /** Id of the event this message was sent by; of a wake, that set it. */
  readonly cause?: string;
  readonly deadline?: number;
  /** W3C `traceparent`, `tracestate`, `baggage`. */
  readonly trace?: JsonObject;
  /** Given to an earlier `needs`, under the same keys. */
  readonly answers?: JsonObject;
  /** What the client supports: `elicitation`, `sampling`, `roots`. */
  readonly can?: readonly string[];
  /** How often it was replayed as a dead letter. */
  readonly replays?: number;
}

/** A message that the engine has not stamped yet. */
export type Outgoing = Omit<Message, "id" | "at" | "seed" | "from" | "cause" | "replays" | "viewer"> & {
  /** `rolesByKind` takes the place of its claims when the message is stamped. */
  readonly viewer?: Viewer & ActorViewer;
};

/** What a message results in: a value (`ok`), a refusal, or questions for the caller (`needs`). */
export type Reply =
  | { readonly ok: Json }
  | { readonly refused: { readonly code: string; readonly message: string; readonly data?: Json } }
  /**
   * Ask the client, then call again from the top: this turn leaves no trace. Key → request `{method, params}`. `running`: what asks is no
   * turn but a handler that waits. It also learns that there will be no answer (`CallOptions.unanswered`), since it has done a part already.
   */
  | { readonly needs: JsonObject; readonly running?: true };

/** How a cast finds a viewer's actor: one for all, one per principal, one per handle, or only by another's link. */
export type Per = "shared" | "user" | "handle" | "link";

/** A durable, named timer. `everyMs` or `cron` repeats it. */
export interface Wake {
  readonly at: number;
  readonly everyMs?: number;
  /** Five fields, such as `0 9 * * 1-5`, in `timeZone`. `at` is the first tick. */
  readonly cron?: string;
  /** An IANA name. Only with `cron`; default `UTC`. */
  readonly timeZone?: string;
  readonly action: string;
  readonly args?: Json;
}

/** Progress. `done` grows from one report to the next. */
export interface Step {
  readonly done: number;
  readonly total?: number;
  readonly text?: string;
}

/** The whole effect of one message. No state, send, wake, answer, report, restart, record or stop: nothing is committed, there is no event. */
export interface Turn<S> {
  readonly state?: S;
  /** Where a draft changed the state. Only speeds up the commit; ignored unless it is about this very state. Never stored. */
  readonly dirty?: DirtyPaths;
  /** Absent: `{ ok: null }`; `"later"`: a later turn of this actor answers this message's id. */
  readonly reply?: Reply | "later";
  /** Message id → reply, for messages whose reply was `"later"`. */
  readonly answer?: Readonly<Record<string, Reply>>;
  /** Message id → the reply it gets once those to all these messages, which this turn sends, have arrived. For messages that got `"later"`. */
  readonly settle?: Readonly<Record<string, { readonly reply: Reply; readonly after: readonly string[] }>>;
  /** Message id → a message that its reply waited for, whose own reply has arrived. */
  readonly arrived?: Readonly<Record<string, string>>;
  /** Message id → progress, for callers in this process that got `"later"`. Sent at most once, after the commit; never stored. */
  readonly report?: Readonly<Record<string, Step>>;
  /** Failed children to restart from their last state. Other ids are ignored. */
  readonly restart?: readonly ActorId[];
  /** Leaves with the commit; first in, first out per pair of actors (C5). */
  readonly send?: readonly Outgoing[];
  /** By name; null cancels. */
  readonly wake?: Readonly<Record<string, Wake | null>>;
  /** The reason why the actor ends with this turn. Its children end first; then the end is announced. */
  readonly stop?: string;
  /** What happened inside (host calls, foreign tools). Stored in the event; a refusal with a record leaves an event too (C3). */
  readonly record?: Json;
  /** Metrics and log lines for watchers. Sent at most once, after the commit; never stored. */
  readonly emit?: readonly Json[];
}

/** A turn that waits for something. It starts when all earlier turns are durable, blocks the mailbox, and cannot undo its outside effects. */
export type Work<S> = (context: Context) => Promise<Turn<S>>;

export interface Context {
  /** Timeout, cancel, stop; afterwards every method throws `TURN_OVER` and the turn is dropped. */
  readonly signal: AbortSignal;
  /** I/O like any other; its id is derived from this message's, so a re-run is safe. */
  call(message: Outgoing): Promise<Reply>;
  readonly progress: Progress;
  /** Log lines for the caller while it waits; never stored. */
  readonly log: Log;
  /** The actor's own history. Absent: it has none, as an actor in memory. */
  readonly past?: Past | undefined;
}

/** A turn that the actor's chain records. */
export interface PastTurn {
  readonly seq: number;
  readonly action: string;
  readonly at: number;
  readonly viewer?: ActorViewer;
  /** Undefined: a secret in them was not stored. */
  readonly args: Json | undefined;
  readonly record: Json | undefined;
  /** A `Reply`, or "later": `Past.answerTo` finds the reply that followed. */
  readonly reply: Json | undefined;
  /** It changed the state, or its event stores the whole state, so that this is not known. */
  readonly changed: boolean;
  /** It sent messages. */
  readonly sent: boolean;
  /** A timer that it set is still set. */
  readonly timed: boolean;
}

/** An actor's own chain, up to the turn that runs. */
export interface Past {
  /**
   * The last turns, newest first: those among the last `limit` events. Ends before another life or version, a revert, and an event whose
   * body was erased.
   */
  turns(limit: number): Promise<readonly PastTurn[]>;
  /**
   * The reply that a later turn gave to that turn, whose own was "later". "later": it is still due. Undefined: it is not known, since work
   * gave it, or a turn that cannot run again.
   */
  answerTo(seq: number): Promise<Reply | "later" | undefined>;
  /**
   * That turn, run again, for what its event does not say, such as which timers it cancelled. Undefined: it cannot run again, since it was
   * work, its code has changed, or it reads a secret.
   */
  again(seq: number): Promise<Turn<unknown> | undefined>;
  /** The state before that turn of the present life. Undefined: it is not stored any more, or is of another version. */
  stateBefore(seq: number): Promise<Json | undefined>;
}

/** `emitted`: the value that a handler gave with that step, for clients that read more than text. */
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
   * True: starts with its first message and has no parent; until then a link to it shows its initial state. False: starts only with a
   * message that has `start`. Default: true for the scopes `shared` and `user`, otherwise false. An actor of the scope `link` that does
   * not start by itself ends when the sender of the message that started it does.
   */
  readonly autoStart?: boolean;
  /** All it can ever show; absent: not known ahead, so never served "static". */
  readonly catalogue?: Catalogue;
  initial(key: string, first: Message): S;
  /** Runs on load, in memory. The result is stored with the next turn. */
  migrate?(state: Json, from: number): S;
  /**
   * Replies `UNKNOWN` to an action it does not know, but `{ ok: null }` to `troupe/begin`, which only starts the actor: `create` sends it, and
   * a cast does before it calls through the links of a viewer's actor, since replies need a receiver.
   *
   * `state` is frozen deeply. `life` and `seq` are those of the event that the turn would leave: its nth send, from 0, gets the id
   * `${life}.${seq}.${n}`.
   * `uid` is the actor's own, the same in all its lives.
   */
  receive(state: S, message: Message, life?: string, seq?: number, uid?: string): Turn<S> | Work<S>;
  /**
   * Read-only tools, resources, prompts, completion: no mailbox, no event. `self` is the actor viewed, where the caller knows it; `now` is
   * when the read began, in milliseconds since 1970.
   */
  view?(state: S, action: string, args: Json, viewer: Viewer, self?: ActorId, now?: number): Reply;
  /**
   * If a part cannot be computed, that part is off, the rest is returned, and `onFault` gets the error, once until the code is reloaded. If
   * it throws, nothing is visible.
   */
  surface?(state: S, viewer: Viewer, onFault?: (error: TroupeError) => void): Surface;
  /** Which rule of its author an offer of its own is off by, for people who ask why. Undefined: it is on. Throws what the rule throws. */
  offBy?(state: S, viewer: Viewer, ref: OfferRef): "enabled" | "allow" | undefined;
  /** The roles that an offer of its own is for, one of which is enough. Empty: it is for every caller. */
  rolesFor?(ref: OfferRef): readonly string[];
  /**
   * Where a state that no turn made does not fit the kind's schema; empty: it fits. Turns are not checked with it. Absent: the kind has no
   * schema.
   */
  misfits?(state: Json): readonly StateMisfit[];
  /** The names of the roles that a caller has, by its claims. They are stored with its messages; the claims are not. Absent: the kind has none. */
  roles?(viewer: Viewer): readonly string[];
  /** True if a message to a stopped or never started actor is dropped silently, without an error or dead letter. Absent: never. */
  lapses?(message: Message): boolean;
  /** The arguments with secrets replaced, before anything is stored. */
  redact?(message: Message): Json;
}

/** A value in a state that does not fit the schema of its kind. */
export interface StateMisfit {
  /** JSON Pointer (RFC 6901). Empty: the whole state. */
  readonly path: string;
  readonly message: string;
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
  /** The shortest interval of a repeating wake. */
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
  // Official clients give a call up after 60 s, and their model would never learn why.
  workMs: 55_000,
  minEveryMs: 100,
  mailbox: 1_000,
  maxStateBytes: 1_048_576,
};

/** What `encodeURIComponent` writes: each of these is one byte of the key. */
const ID = /^[a-z][a-z0-9-]{0,63}\/(?:[A-Za-z0-9._~!'()*-]|%[0-9A-F]{2}){1,256}$/u;
const ADDRESS = /^[a-z][a-z0-9-]{0,63}\/.+$/u;

/** The decoded key. Undefined if it is not an id, or not encoded as `kind.id(key)` does: one key must not have two ids. */
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

/** Whether it is an id as `kind.id(key)` encodes it. Engines accept no other. */
export const isActorId = (given: unknown): given is ActorId => keyIn(given) !== undefined;

/** Whether it has the form of an address. A message may be sent to an actor that cannot exist. */
export const isAddress = (given: unknown): given is ActorId => typeof given === "string" && ADDRESS.test(given);

export const kindOf = (id: ActorId): string => id.slice(0, id.indexOf("/"));

/** The key as the id has it, percent-encoded. `keyIn` decodes it. */
export const encodedKeyOf = (id: ActorId): string => id.slice(id.indexOf("/") + 1);

/** Orders by kind, then by key. Plain text order would put `a-b/c` before `a/c`. */
export function compareIds(one: ActorId, other: ActorId): number {
  // Fast path: kinds of equal length can be compared as text.
  const isText = one.indexOf("/") === other.indexOf("/");
  const [left, right] = isText ? [one, other] : [one.replace("/", "\0"), other.replace("/", "\0")];
  return left < right ? -1 : left > right ? 1 : 0;
}

declare const ANSWER: unique symbol;

/** A message with the type of its reply, from the receiver's `output`. At run time it is an ordinary message. */
export interface Asks<T> extends Outgoing {
  readonly [ANSWER]: T;
}

/** The reply, which the receiver has validated against its `output`. */
export type ReplyWith<T> = { readonly ok: T } | Exclude<Reply, { readonly ok: unknown }>;

/** The action of `create`, which only starts an actor. It cannot collide with an author's, whose names have no slash. */
export const BEGIN_ACTION = "troupe/begin";

/** The message that brings the reply to one that an actor forwarded. It cannot collide with an author's, whose names have no slash. */
export const REPLY_ACTION = "troupe/reply";

/** The same, after the turn of that message has failed for good: the caller gets this reply as it is. */
export const REPLY_FAILED_ACTION = "troupe/reply-failed";

/** The message that brings the reply to one that `settled` waits for. */
export const SETTLED_ACTION = "troupe/settled";

/** Whether only an engine may send this action, on behalf of a turn that requested a reply. */
export const isReplyAction = (action: string): boolean =>
  action === REPLY_ACTION || action === REPLY_FAILED_ACTION || action === SETTLED_ACTION;

/** Whether an engine tells a parent with it that a child has ended or failed. Every parent gets these, and need not handle them. */
export const isNoticeOfChild = ({ action, args, from }: Pick<Message, "action" | "args" | "from">): boolean =>
  (action === "ended" || action === "failed") && from !== undefined && isJsonObject(args) && args["child"] === from;

/** Whether a value that was stored, or comes from a file, is a caller. */
export const isActorViewer = (value: unknown): value is ActorViewer =>
  isJsonObject(value) &&
  isTexts(value["scopes"]) &&
  (value["principal"] === undefined || typeof value["principal"] === "string") &&
  (value["self"] === undefined || isAddress(value["self"])) &&
  (value["roles"] === undefined || isTexts(value["roles"])) &&
  (value["rolesByKind"] === undefined || (isJsonObject(value["rolesByKind"]) && Object.values(value["rolesByKind"]).every(isTexts)));

/** On whose behalf the call was made that waits for a reply with this context. Undefined: the context names no caller. */
export const contextViewer = (context: Json | undefined): ActorViewer | undefined =>
  isJsonObject(context) && isActorViewer(context["viewer"]) ? context["viewer"] : undefined;

/** A dead letter's message, to send again. The count keeps its reply apart from that of an earlier attempt. */
export const asReplay = (message: Message): Message => ({ ...message, replays: (message.replays ?? 0) + 1 });

/** Marks what `refuse` throws. A symbol, because `instanceof` fails if two copies of this package are in one process. */
export const REFUSAL = Symbol.for("troupe.refusal");

/** Whether an author's code threw a refusal, which is an ordinary reply and not a crash. */
export function isRefusal(error: unknown): error is Extract<Reply, { refused: unknown }>["refused"] {
  return typeof error === "object" && error !== null && REFUSAL in error;
}

// Keyed by the function, not by the behaviour: a copy of the behaviour with another `surface` must not count as static.
const staticSurfaces = new WeakSet<object>();

/** Marks a `surface` that is the same in every state and for every viewer, and has no links. Returns it. */
export function markStatic<F extends object>(surface: F): F {
  staticSurfaces.add(surface);
  return surface;
}

/** Whether the behaviour's surface never changes, so that it can be computed once. */
export function isStatic({ surface }: Pick<Behaviour, "surface">): boolean {
  return surface !== undefined && staticSurfaces.has(surface);
}
