import type { StandardSchemaV1 } from "@standard-schema/spec";
import type {
  ActorId,
  Asks,
  Bag,
  Behaviour,
  Catalogue,
  Content,
  Frozen,
  Json,
  Outgoing,
  Per,
  Policy,
  TaskSupport,
  Viewer,
} from "../contract/index.ts";
import type { EndedArgs, FailedArgs, ReplyArgs, RunContext, SendOptions, Value, ViewContext, WorkContext } from "./context-types.ts";
import type { Later } from "./later.ts";

/** True: on. Text: off, for this reason. False: off without a word, as if it were not there. */
export type Availability = boolean | string;

export interface First {
  /** Decoded. */
  readonly key: string;
  readonly start: Json | undefined;
  readonly at: number;
  readonly seed: string;
  readonly viewer: Viewer | undefined;
  readonly random: () => number;
  readonly id: () => string;
}

/** Joins another actor's surface. */
export interface Link<S> {
  /** The kinds it may lead to. */
  readonly kinds: readonly string[];
  /** `off`: nowhere now, for this reason, which refuses what is offered there (`NOT_NOW`). Undefined: nowhere, without a word. */
  readonly to: (state: Frozen<S>, viewer: Viewer) => ActorId | { readonly off: string } | undefined;
}

interface Offered<S> {
  readonly title?: string;
  /** Decided for the list, and again in the turn (law 3). Absent: always on. */
  readonly when?: (state: Frozen<S>, viewer: Viewer) => Availability;
  /** Argument → what it may be now: shown as an enum, completed, checked in the turn. */
  readonly choices?: Readonly<Record<string, (state: Frozen<S>, viewer: Viewer) => readonly string[]>>;
  readonly icons?: readonly Bag[];
  /** `_meta` of the definition. */
  readonly meta?: Bag;
  /** What a caller's token must allow, by whatever door; one that does not is told so, over HTTP with a challenge. */
  readonly scopes?: readonly string[];
}

export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What `input` gives: a schema library's output, or a bag of JSON for a plain JSON Schema; `None` without an `input`. */
export type ArgsOf<I, None> = unknown extends I ? None : I extends StandardSchemaV1<unknown, infer A> ? A : Bag;

type SentArgs<I, None> = unknown extends I ? None : I extends StandardSchemaV1<infer A, unknown> ? A : Bag;

/** What a turn returns: a value its `output` schema takes, where there is one. Nobody writes to it: a part of a state will do as it is. */
export type ReplyOf<O> = unknown extends O
  ? Value | Later
  : O extends StandardSchemaV1<infer R, unknown>
    ? Frozen<R> | Content | Later
    : Value | Later;

type Output<O, N> = N extends keyof O ? O[N] : unknown;

type Runs<S, A, R> = { run(ctx: RunContext<S, A>): R; view?: never; work?: never };
type Works<S, A, R> = { work(ctx: WorkContext<S, A>): Promise<R>; run?: never; view?: never };
type Views<S, A, R> = { view(state: Frozen<S>, ctx: ViewContext<A>): R; run?: never; work?: never; confirm?: never };

type NoArgs = object;

interface ToolBase<S, I, A> extends Offered<S> {
  readonly describe: string;
  /** Of an object. Absent: no arguments. */
  readonly input?: I & object;
  readonly annotations?: ToolAnnotations;
  /** Arguments that read `[redacted]` in the chain, and are in no log. What waits to be delivered holds them in clear. */
  readonly secret?: readonly string[];
  /** Asked before it runs, where the client can be asked; undefined: no need. */
  readonly confirm?: string | ((state: Frozen<S>, args: A, viewer: Viewer) => string | undefined);
  /**
   * For a tool that takes its time (`work`, or `later()`): its call can be a task, which the client polls and can cancel. "required":
   * clients that cannot use tasks are refused; "optional": they wait for the result. Absent: every client waits.
   */
  readonly task?: TaskSupport;
}

/** Exactly one of `run` (a turn), `view` (a pure read) and `work` (what waits). */
export type Tool<S, I, O> = ToolBase<S, I, ArgsOf<I, NoArgs>> &
  (
    | Runs<S, ArgsOf<I, NoArgs>, ReplyOf<O>>
    | Views<S, ArgsOf<I, NoArgs>, Exclude<ReplyOf<O>, Later>>
    | Works<S, ArgsOf<I, NoArgs>, ReplyOf<O>>
  );

type VariablesOf<U> = U extends `${string}{${infer V}}${infer Rest}` ? Named<V> | VariablesOf<Rest> : never;
type Named<V> = V extends "alias" ? never : V extends `+${infer N}` ? N : V;

export interface Resource<S, U, Read = Frozen<S>> extends Offered<S> {
  /** As the list shows it. Default: the key of this definition. */
  readonly name?: string;
  /**
   * RFC 6570: `{id}`, and `{+path}` for what may hold slashes. `{alias}` is filled by the cast, every other variable arrives in
   * `args`, decoded. A path is what a client wrote, `../..` too: look for it where it could lead somewhere.
   */
  readonly uri: U & string;
  readonly describe?: string;
  readonly mimeType?: string;
  readonly annotations?: Bag;
  /** Bytes, if known. */
  readonly size?: number;
  /** Of a template: what stands behind each of the `choices` of its one variable is in the list of resources, by that name. */
  readonly listed?: boolean;
  view(state: Read, ctx: ViewContext<{ readonly [V in VariablesOf<U>]: string }>): Value;
}

/** What the view of a resource is given: the members it names, or all. */
type ReadOf<S, RR, N> = N extends keyof RR
  ? RR[N] extends readonly (infer M)[]
    ? Pick<Frozen<S>, M & keyof Frozen<S>>
    : Frozen<S>
  : Frozen<S>;

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: Bag;
}

/** Text is one message of the user. */
export type PromptValue = string | { readonly description?: string; readonly messages: readonly PromptMessage[] };

export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

export interface Prompt<S, I> extends Offered<S> {
  readonly describe: string;
  /** Of an object. Arguments come as text: "true" and "3" are read where the schema says boolean or number. */
  readonly input?: I & object;
  /** Instead of `input`: the list as MCP has it; every argument is text. */
  readonly arguments?: readonly PromptArgument[];
  view(state: Frozen<S>, ctx: ViewContext<ArgsOf<I, Readonly<Record<string, string | undefined>>>>): PromptValue;
}

type MessageArgs<N, I, R> = unknown extends R
  ? ArgsOf<I, N extends "ended" ? EndedArgs : N extends "failed" ? FailedArgs : Json>
  : ReplyArgs;

type Receives<S, A, R> = { run(ctx: RunContext<S, A>): R; work?: never } | { work(ctx: WorkContext<S, A>): Promise<R>; run?: never };

/** What a message with an `output` promises its asker is there at its turn's end, and is data alone. */
type AnswerOf<O> = unknown extends O ? Value | Later : O extends StandardSchemaV1<infer R, unknown> ? Frozen<R> : Value;

/** The other words of a message: what only one part of its type has would be one too many to the others. */
type OtherWords = { readonly [word in "input" | "secret" | "replies" | "run" | "work"]?: unknown };

type Sent<O> = unknown extends O ? Outgoing : O extends StandardSchemaV1<unknown, infer R> ? Asks<R> : Outgoing;

/** Builders of messages whose names and arguments are checked: `room.at(key).arrive({ player })`. One with an `output` knows its answer. */
export type Senders<MI, MO = unknown> = {
  readonly [N in keyof MI]: unknown extends MI[N]
    ? (args?: Json | object, options?: SendOptions) => Sent<Output<MO, N>>
    : (args: SentArgs<MI[N], Json>, options?: SendOptions) => Sent<Output<MO, N>>;
};

/** What authors write. `S` is the state, `MN` the names of messages; the others map names to schemas. All are inferred. */
export interface Definition<S extends object, TI, TO, RU, RR, PI, MI, MR, MN extends string = never, MO = unknown> extends Partial<Policy> {
  /** What it is, for people and models. */
  readonly describe: string;
  readonly title?: string;
  /** Of the state, from 1. Default 1. */
  readonly version?: number;
  /** Which actor stands for a viewer. Default `shared`. */
  readonly per?: Per;
  /**
   * With `per: "link"`: a place, not a child. Whoever follows a link finds it as it would begin, the first call through one
   * begins it, or a message with `start`, and it outlives whoever sent that. Default false: it is there once a message with
   * `start` began it, as the sender's child.
   */
  readonly begins?: boolean;
  /** Its value for `{}` is the initial state, unless there is `initial`; what `initial` and `migrate` return must fit it. */
  readonly state?: StandardSchemaV1<unknown, S>;
  readonly initial?: (first: First) => S;
  /** A state of a lower version, in memory, on load. Pure. */
  readonly migrate?: (state: Json, from: number) => S;
  /** Prefix ("" for none) → the actor whose surface joins there. */
  readonly links?: Readonly<Record<string, Link<S>>>;
  readonly tools?: { readonly [N in keyof TI]: Tool<S, TI[N], Output<TO, N>> } & {
    readonly [N in keyof TO]: { readonly output?: TO[N] & object };
  };
  readonly resources?: { readonly [N in keyof RU]: Resource<S, RU[N], ReadOf<S, RR, N>> } & {
    /**
     * Members of the state: its view is given these alone, and who subscribes to it is told where a turn wrote one of them. Absent: all
     * are given, and each turn is told of, as where it has `choices`.
     */
    readonly [N in keyof RR]: { readonly reads?: RR[N] & readonly (keyof S)[] };
  };
  readonly prompts?: { readonly [N in keyof PI]: Prompt<S, PI[N]> };
  /** From other actors and timers; never on a surface. `replies: true` marks one named by a `replyAs`. */
  readonly messages?: {
    readonly [N in keyof MI]: { readonly input?: MI[N] & object; readonly secret?: readonly string[] } & Receives<
      S,
      MessageArgs<N, MI[N], N extends keyof MR ? MR[N] : unknown>,
      AnswerOf<Output<MO, N>>
    >;
  } & { readonly [N in keyof MO]: { readonly output?: MO[N] & object } & OtherWords } & {
    readonly [N in keyof MR]: { readonly replies?: MR[N] };
  } & {
    readonly [N in MN]: unknown;
  };
}

/** The messages and their schemas. Where none has an `input` nothing is inferred of `MI`, not even its names: those tell `MN`. */
export type MessagesOf<MI, MN extends string> = unknown extends MI ? { readonly [N in MN]: unknown } : MI;

/** A kind of actor: a `Behaviour` any engine runs, and the ways to address one. */
export interface Kind<K extends string, S, MI, MO = unknown> extends Behaviour<S> {
  readonly kind: K;
  readonly describe: string;
  readonly title?: string;
  readonly per: Per;
  readonly catalogue: Catalogue;
  /** `kind/key`, percent-encoded; throws `BAD_ID` unless the key is 1–256 bytes. */
  id(key: string): `${K}/${string}`;
  /** Typed messages to one actor of this kind. */
  at(key: string): Senders<MI, MO>;
  view(...given: Parameters<NonNullable<Behaviour<S>["view"]>>): ReturnType<NonNullable<Behaviour<S>["view"]>>;
  surface(...given: Parameters<NonNullable<Behaviour<S>["surface"]>>): ReturnType<NonNullable<Behaviour<S>["surface"]>>;
}

/** The state of a kind: `StateOf<typeof door>`. */
export type StateOf<T> = T extends Behaviour<infer S> ? S : never;
