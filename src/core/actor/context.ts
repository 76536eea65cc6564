// Owns: the types of what a handler has at hand. Does not own: their implementation (turn-context.ts).
import type {
  ActorId,
  ActorViewer,
  Asks,
  JsonObject,
  Json,
  Log,
  Message,
  Outgoing,
  Policy,
  Progress,
  Reply,
  ReplyWith,
  Viewer,
} from "../contract/index.ts";
import type { Address } from "./address.ts";
import type { Question } from "./questions.ts";
import type { Forwarded, Later } from "./replies.ts";

/** What a turn may reply: a domain value, JSON at run time. Not a promise: `run` is synchronous, `work` waits. */
export type Value = string | number | boolean | null | undefined | void | (object & { readonly then?: never });

/** The arguments of the message that a `replyAs` names. */
export interface ReplyArgs {
  /** Id of the message that was sent. */
  readonly of: string;
  readonly to: ActorId;
  readonly reply: Reply;
}

/** The arguments of the message `ended` to a parent. */
export interface EndedArgs {
  readonly child: ActorId;
  readonly reason: string;
}

/** The arguments of the message `failed` to a parent: a child crashed more often than its `restart` allows, and takes no message until it is restarted. */
export interface FailedArgs {
  readonly child: ActorId;
  readonly why: string;
}

/** Options of `create`. */
export interface CreateOptions {
  /** Overrides the kind's policy, and is stored with the actor. */
  readonly policy?: Partial<Policy>;
  /** On whose behalf: `initial` gets it, and the actor is this viewer's where its kind has `owner: "starter"`. */
  readonly viewer?: Viewer;
}

/** Takes an address or an id, and what `initial` gets as `args`. Returns the id. */
export type Create = <I extends ActorId>(actor: I | Address<I>, args?: Json | object, options?: CreateOptions) => I;

export interface SendOptions {
  /** The reply arrives as a message of this action. */
  readonly replyAs?: string;
  /** On whose behalf: the receiver decides availability with it. Absent: an anonymous viewer. */
  readonly viewer?: Viewer;
  readonly deadline?: number;
}

/**
 * Takes a typed message (`room.at(key).arrive({…})`), a list of them (`room.each(keys).arrive({…})`), or the id of any actor and an action.
 */
export interface Send<R> {
  (message: Outgoing, options?: SendOptions): R;
  (messages: readonly Outgoing[], options?: SendOptions): readonly R[];
  (to: ActorId, action: string, args?: unknown, options?: SendOptions): R;
}

/** The same, and waits for the reply. It is typed if the message has an `output`. */
export interface Call {
  <T>(message: Asks<T>, options?: SendOptions): Promise<ReplyWith<T>>;
  (message: Outgoing, options?: SendOptions): Promise<Reply>;
  (to: ActorId, action: string, args?: unknown, options?: SendOptions): Promise<Reply>;
}

/** Makes another actor's reply this call's reply. It is typed if the message has an `output`. */
export interface Forward {
  <T>(message: Asks<T>): Forwarded<T>;
  (message: Outgoing): Forwarded<unknown>;
}

/** The `request` of a kind without `replies`: there is none to name. */
export type AnyRequest = (message: never, reply: never, args: never) => Forwarded<never>;

/** What handles a refusal gets of it. */
export type Refused = Extract<Reply, { readonly refused: unknown }>["refused"];

/**
 * When a timer fires: at a time (milliseconds since 1970), after a delay, or by a cron expression of five fields (`0 9 * * 1-5`) in a time
 * zone (an IANA name; default `UTC`). `everyMs` repeats the first two. Ticks that were missed come once.
 */
export type WakeOptions = {
  /** One of this actor's own messages, which the timer sends it: `messages.due({ title })`. */
  readonly message: Outgoing;
} & (
  | { readonly at: number; readonly afterMs?: never; readonly everyMs?: number; readonly cron?: never; readonly timeZone?: never }
  | { readonly afterMs: number; readonly at?: never; readonly everyMs?: number; readonly cron?: never; readonly timeZone?: never }
  | { readonly cron: string; readonly timeZone?: string; readonly at?: never; readonly afterMs?: never; readonly everyMs?: never }
);

/** A request without a helper of its own, in MCP's form. */
export interface RawQuestion {
  readonly method: string;
  readonly params: JsonObject;
}

export type Answers<Q> = { readonly [K in keyof Q]: Q[K] extends Question<infer T> ? T : Json };

/** What handlers have in addition: a part of its own, so that `RunContext<S, A>` suits functions that handlers share. */
export interface OwnMessages<Own> {
  /** Builders of this actor's own messages, for `wake` and `send`: `messages.due({ title })`. */
  readonly messages: Own;
}

/** What a turn has at hand. Every function may be destructured, and throws `TURN_OVER` once the turn has ended. */
export interface RunContext<S, A, Q extends AnyRequest = AnyRequest> {
  /** A draft: write to it. A throw or a refusal drops the changes (C3). */
  readonly state: S;
  readonly args: A;
  readonly self: ActorId;
  /** Decoded. */
  readonly key: string;
  /** Milliseconds since 1970, the message's own: the turn's only clock. */
  readonly now: number;
  /** At least 0, below 1; seeded by the message. */
  readonly random: () => number;
  /** A UUID, seeded by the message. */
  readonly id: () => string;
  /** Anonymous (no principal, no scopes) if the message names none. */
  readonly viewer: ActorViewer;
  /** The actor that sent the message. */
  readonly from: ActorId | undefined;
  readonly message: Message;
  readonly answers: JsonObject;
  /** Whether the client has the capability: `elicitation`, `sampling`, `roots`. */
  readonly can: (name: string) => boolean;
  /** Leaves with the commit, first in, first out per receiver (C5). Returns its id, which is `of` in the reply that `replyAs` requests. */
  readonly send: Send<string>;
  /**
   * Starts an actor with the commit, as a child of this one unless its kind starts by itself or stands for a viewer. Creating an actor that
   * lives changes nothing. Messages that this turn sends it afterwards find it started.
   */
  readonly create: Create;
  /** A durable, named timer: the same name again replaces it. */
  readonly wake: (name: string, options: WakeOptions) => void;
  readonly cancel: (name: string) => void;
  /** The actor stops with this turn. */
  readonly stop: (reason: string) => void;
  /** Restarts a failed child from its last state. Other ids are ignored. */
  readonly restart: (child: ActorId) => void;
  /**
   * `return forward(message)`: the other actor replies to this caller. Leaves with the commit, on behalf of the caller, and holds no mailbox:
   * a value, a refusal or a question of the other actor reaches the caller as it is, also after a restart. A question makes the call run
   * again from the top. A value that does not fit this tool's `output` is a crash. Refuses `CYCLE` if the call has been there before.
   */
  readonly forward: Forward;
  /**
   * `return request(message, "charged", args?)`: the reply runs `charged` of the kind's `replies`, and what that returns is this call's reply.
   * Leaves with the commit, on behalf of the caller, and holds no mailbox. A question of the other actor goes to the client before
   * `replies` runs, and then the call runs again from the top. `args`: what `charged` needs besides the reply, as its `input` says.
   */
  readonly request: Q;
  /**
   * `return settled(value)`: the caller gets the value once the messages that this turn sent have been applied, refused or become dead
   * letters, so that its next read sees what they did. Holds no mailbox, and survives a restart. Messages that those turns send in
   * turn are not waited for. If the turn stops the actor, the caller gets the value at once.
   */
  readonly settled: <T>(value: T) => Forwarded<T>;
  /** `return later()`: a later turn answers this message's id. */
  readonly later: () => Later;
  /** Answers a message whose turn returned `later()`. `{ ok }`, `{ refused }` and `{ needs }` are replies; any other value is `ok`. */
  readonly answer: (messageId: string, value: unknown) => void;
  /** Reports progress to the caller that waits for such an answer; never stored. `done` grows from one report to the next. */
  readonly report: (messageId: string, done: number, total?: number, text?: string) => void;
  /** Stored in the event: what happened inside. */
  readonly record: (what: unknown) => void;
  /** To watchers after the commit, at most once; never stored. */
  readonly emit: (what: unknown) => void;
  /**
   * Returns the answers, or ends this turn: the client gets the questions, and the call runs again from the top. Refuses `CANNOT_ASK` if the client
   * lacks the capability: check `can` first.
   */
  readonly ask: <Q extends Readonly<Record<string, Question<unknown> | RawQuestion>>>(questions: Q) => Answers<Q>;
}

/** What `work` has beyond a turn. Its draft is committed when it ends. */
export interface WorkContext<S, A, Q extends AnyRequest = AnyRequest> extends RunContext<S, A, Q> {
  /** Timeout, cancel, stop. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly log: Log;
  /** Waits for another actor's reply. An actor that this work creates starts with its commit, so it cannot be called before. */
  readonly call: Call;
}

/** What a view has at hand. */
export interface ViewContext<S, A> {
  /** The last durable state, read-only. */
  readonly state: S;
  readonly args: A;
  readonly viewer: ActorViewer;
  /** Decoded; "" if the caller did not name the actor. */
  readonly key: string;
  /** Milliseconds since 1970, when the read began. Nothing is notified when it passes: a subscriber reads again when the state changes. */
  readonly now: number;
}
