import type { ActorId, Asks, Bag, Json, Log, Message, Outgoing, Policy, Progress, Reply, ReplyWith, Viewer } from "../contract/index.ts";
import type { Question } from "./elicit.ts";
import type { Later } from "./later.ts";

/** What a turn may reply: a domain value, JSON at run time. A promise is none: `run` is synchronous, `work` waits. */
export type Value = string | number | boolean | null | undefined | void | (object & { readonly then?: never });

/** What a message sent with `replyAs` brings back. */
export interface ReplyArgs {
  /** Id of the message that was sent. */
  readonly of: string;
  readonly to: ActorId;
  readonly reply: Reply;
}

/** What the message `ended` brings to a parent. */
export interface EndedArgs {
  readonly child: ActorId;
  readonly reason: string;
}

/** What the message `failed` brings to a parent: a child has crashed more often than its `restart` allows, and takes no message until it is restarted. */
export interface FailedArgs {
  readonly child: ActorId;
  readonly why: string;
}

export interface SendOptions {
  /** The actor may begin with this message. */
  readonly start?: Json;
  /** The reply arrives as a message of this action. */
  readonly replyAs?: string;
  /** Only with `start`: overrides the kind's policy. */
  readonly policy?: Partial<Policy>;
  /** On whose behalf: the receiver decides availability with it. Absent: nobody in particular. */
  readonly viewer?: Viewer;
  readonly deadline?: number;
}

/** To a typed message (`room.at(key).arrive({…})`) or to any actor by id and action. */
export interface Send<R> {
  (message: Outgoing, options?: SendOptions): R;
  (to: ActorId, action: string, args?: unknown, options?: SendOptions): R;
}

/** The same, and waits for the reply: typed, where the message's receiver has an `output` for it. */
export interface Call {
  <T>(message: Asks<T>, options?: SendOptions): Promise<ReplyWith<T>>;
  (message: Outgoing, options?: SendOptions): Promise<Reply>;
  (to: ActorId, action: string, args?: unknown, options?: SendOptions): Promise<Reply>;
}

/** When a wake rings: at a time (ms since 1970) or after a wait. Repeats every `everyMs`. */
export type WakeOptions = ({ readonly at: number; readonly afterMs?: never } | { readonly afterMs: number; readonly at?: never }) & {
  readonly everyMs?: number;
  readonly action: string;
  readonly args?: unknown;
};

/** A request the library has no word for, in MCP's own shape. */
export interface RawQuestion {
  readonly method: string;
  readonly params: Bag;
}

export type Answers<Q> = { readonly [K in keyof Q]: Q[K] extends Question<infer T> ? T : Json };

/**
 * What a turn has at hand. Every function may be taken apart from it, and throws
 * `TURN_OVER` once the turn has ended.
 */
export interface RunContext<S, A> {
  /** A draft: write to it. A throw or a refusal drops what was written (C3). */
  readonly state: S;
  readonly args: A;
  readonly self: ActorId;
  /** Decoded. */
  readonly key: string;
  /** Milliseconds since 1970, the message's own: the turn's only clock. */
  readonly now: number;
  /** From 0 up to below 1, seeded by the message. */
  readonly random: () => number;
  /** A UUID, seeded by the message. */
  readonly id: () => string;
  /** Nobody in particular (no principal, no scopes) where the message names none. */
  readonly viewer: Viewer;
  /** The actor that sent the message. */
  readonly from: ActorId | undefined;
  readonly message: Message;
  readonly answers: Bag;
  /** Whether the client can be asked: `elicitation`, `sampling`, `roots`. */
  readonly can: (name: string) => boolean;
  /** Leaves with the commit, first in, first out per receiver (C5). Returns its id: `of` in the reply, where `replyAs` asks for one. */
  readonly send: Send<string>;
  /** Durable and named: the same name again replaces it. */
  readonly wake: (name: string, options: WakeOptions) => void;
  readonly cancel: (name: string) => void;
  /** The actor ends with this turn. */
  readonly stop: (reason: string) => void;
  /** A child that has failed is tried again, from the state it had. Of others it means nothing. */
  readonly restart: (child: ActorId) => void;
  /** `return later()`: a turn to come answers this message's id. */
  readonly later: () => Later;
  /** Answers a message that was told "later". `{ ok }`, `{ refused }` and `{ needs }` are replies; any other value is `ok`. */
  readonly answer: (messageId: string, value: unknown) => void;
  /** Tells whoever waits for such an answer how far it is: progress at their client, never kept. `done` grows from one to the next. */
  readonly report: (messageId: string, done: number, total?: number, text?: string) => void;
  /** Kept in the event: what happened inside. */
  readonly record: (what: unknown) => void;
  /** To watchers after the commit, at most once, never kept. */
  readonly emit: (what: unknown) => void;
  /**
   * The answers, or the end of this turn: the client is asked and the call runs again from
   * the top. Refuses `CANNOT_ASK` where the client lacks the capability: ask `can` first.
   */
  readonly ask: <Q extends Readonly<Record<string, Question<unknown> | RawQuestion>>>(questions: Q) => Answers<Q>;
}

/** What `work` has beyond a turn. Its draft is committed when it ends. */
export interface WorkContext<S, A> extends RunContext<S, A> {
  /** Timeout, cancel, stop. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly log: Log;
  /** Waits for another actor's reply. */
  readonly call: Call;
}

/** What a view gets beside the state. */
export interface ViewContext<A> {
  readonly args: A;
  readonly viewer: Viewer;
  /** Decoded; "" where the caller did not say whose state it reads. */
  readonly key: string;
}
