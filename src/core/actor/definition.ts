// Owns: the types of what authors write, and of the kind it makes. Does not own: checking or compiling it.
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type {
  ActorId,
  ActorViewer,
  Asks,
  JsonObject,
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
import type { Address } from "./address.ts";
import type {
  AnyRequest,
  EndedArgs,
  FailedArgs,
  OwnMessages,
  Refused,
  ReplyArgs,
  RunContext,
  SendOptions,
  Value,
  ViewContext,
  WorkContext,
} from "./context.ts";
import type { Forwarded, Later } from "./replies.ts";

/** True: on. Text: off, for this reason. False: hidden, as if it did not exist. */
export type Availability = boolean | string;

/** What `initial` gets. */
export interface InitialContext {
  /** Decoded. */
  readonly key: string;
  /** What `create` was given; undefined without it, and for an actor that starts with its first message. */
  readonly args: Json | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The caller whose message starts the actor. */
  readonly viewer: ActorViewer | undefined;
  readonly random: () => number;
  readonly id: () => string;
}

/** What `enabled`, `choices` and the targets of links are decided from. */
export interface OfferContext<S> {
  readonly state: Frozen<S>;
  readonly viewer: ActorViewer;
}

/** What a role is decided from: the caller with its claims. */
export interface RoleContext {
  readonly viewer: Viewer;
}

/**
 * Who has a role. Decided when a call arrives, and stored with its event by name: a function of the caller alone, since its claims are not
 * stored.
 */
export type Role =
  | ((context: RoleContext) => boolean)
  | {
      readonly holds: (context: RoleContext) => boolean;
      /** Why an offer is unavailable to others: a sentence; or false, hidden. Default: "Only those with the role … may do this." */
      readonly reason?: string | false;
    };

/** A kind, or its name where no object can stand: for the kind itself, and for one that is defined later. */
export type LinkedKind = string | { readonly kind: string };

type OneKind = { readonly kind: LinkedKind; readonly kinds?: never };
type SomeKinds = { readonly kinds: readonly [LinkedKind, ...LinkedKind[]]; readonly kind?: never };

/** A link to one actor, by the state. */
interface ToOne<S> {
  /** The actor it leads to now. Undefined: none, as if the link did not exist. */
  readonly to: (context: OfferContext<S>) => ActorId | undefined;
  readonly by?: never;
  readonly choices?: never;
}

/** A link by argument, to any of many actors: each call names the key of the one it is about. */
interface ToMany<S> {
  readonly to?: never;
  /** The argument that names the key, of each tool, resource and prompt that is joined. Default: the name of the link. */
  readonly by?: string;
  /** The keys this viewer may use now. Absent: those of all actors of the kind that exist, within the access rule. */
  readonly choices?: (context: OfferContext<S>) => readonly string[];
}

/** Joins the surface of another actor. */
export type Link<S, A extends string = never> = {
  /** The roles of the kind's `allow` that it is for, one of which is enough. Absent: for every caller. */
  readonly allow?: NoInfer<A> | readonly NoInfer<A>[];
  /** As for a tool: true, the reason why what is offered there is refused (`NOT_NOW`), or false, hidden. Absent: always on. */
  readonly enabled?: (context: OfferContext<S>) => Availability;
} & ((OneKind & (ToOne<S> | ToMany<S>)) | (SomeKinds & ToOne<S>));

export interface UndoOptions {
  /** In milliseconds. */
  readonly withinMs: number;
  /** The name of the tool. Default `undo`; kinds that a client meets side by side need different names. */
  readonly tool?: string;
}

interface Offered<S, A extends string> {
  readonly title?: string;
  /** The roles of the kind's `allow` that it is for, one of which is enough. Decided as `enabled` is. Absent: for every caller. */
  readonly allow?: NoInfer<A> | readonly NoInfer<A>[];
  /** Decided for the list, and again in the turn (law 3). Absent: always on. */
  readonly enabled?: (context: OfferContext<S>) => Availability;
  /** Argument → the values it may have now: listed as an enum, completed, checked in the turn. */
  readonly choices?: Readonly<Record<string, (context: OfferContext<S>) => readonly string[]>>;
  readonly icons?: readonly JsonObject[];
  /** `_meta` of the definition. */
  readonly meta?: JsonObject;
  /** The scopes a caller's token must have, on every transport. A call without them is refused, over HTTP with a challenge. */
  readonly scopes?: readonly string[];
}

/** Hints about a tool for clients (MCP `ToolAnnotations`). */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A schema. `I & object` would mean the same, but compilers then compare all members of a schema library's classes, for every schema. */
type Schema<I> = I extends object ? I : never;

/** The type of `args`: the output of a schema library, a JSON object for a plain JSON Schema, `None` without an `input`. */
export type ArgsOf<I, None> = unknown extends I ? None : I extends StandardSchemaV1<unknown, infer A> ? A : JsonObject;

type SentArgs<I, None> = unknown extends I ? None : I extends StandardSchemaV1<infer A, unknown> ? A : JsonObject;

/** What a handler returns: a value that its `output` schema takes, if it has one. It is not written to, so a part of the state needs no copy. */
export type ReplyOf<O> = unknown extends O
  ? Value | Later
  : O extends StandardSchemaV1<infer R, unknown>
    ? Frozen<R> | Content | Later | Forwarded<R>
    : Value | Later;

type Output<O, N> = N extends keyof O ? O[N] : unknown;

type Runs<S, A, R, Q extends AnyRequest, Own> = { run(ctx: RunContext<S, A, Q> & OwnMessages<Own>): R; view?: never; work?: never };
type Works<S, A, R, Q extends AnyRequest, Own> = {
  work(ctx: WorkContext<S, A, Q> & OwnMessages<Own>): Promise<R>;
  run?: never;
  view?: never;
};
type Views<S, A, R> = { view(context: ViewContext<Frozen<S>, A>): R; run?: never; work?: never; confirm?: never };

type NoArgs = object;

/** Part of an intersection: where it is missing or misspelled, the other parts are inferred all the same. */
export interface Described {
  /** A description for people and models. */
  readonly description: string;
}

interface ToolBase<S, I, A, R extends string, N extends string> extends Offered<S, R> {
  /** Of an object. Absent: no arguments. */
  readonly input?: Schema<I>;
  readonly annotations?: ToolAnnotations;
  /** Arguments that are `[redacted]` in the chain and never logged. Messages that wait for delivery hold them in clear. */
  readonly secret?: readonly string[];
  /**
   * How the tool `undo`, which the kind then has, takes back the caller's last turn of this tool: by a tool or message of this kind, called
   * with the same arguments. With the kind's `undo`: false if it cannot be taken back. Absent: by restoring the state, if the kind has `undo`.
   */
  readonly undo?: NoInfer<N> | false;
  /** A question to confirm before it runs, if the client supports elicitation; undefined: none is needed. */
  readonly confirm?: string | ((context: OfferContext<S> & { readonly args: A }) => string | undefined);
  /**
   * For a slow tool (`work`, or `later()`): its call can be a task, which the client polls and can cancel. "required": clients that
   * cannot use tasks are refused; "optional": they wait for the result. Absent: every client waits.
   */
  readonly task?: TaskSupport;
}

/** Has exactly one of `run` (a turn), `view` (a pure read) and `work` (asynchronous). */
export type Tool<
  S,
  I,
  O,
  R extends string = never,
  Q extends AnyRequest = AnyRequest,
  Own = unknown,
  N extends string = string,
> = Described &
  ToolBase<S, I, ArgsOf<I, NoArgs>, R, N> &
  (
    | Runs<S, ArgsOf<I, NoArgs>, ReplyOf<O>, Q, Own>
    | Views<S, ArgsOf<I, NoArgs>, Exclude<ReplyOf<O>, Later | Forwarded<unknown>>>
    | Works<S, ArgsOf<I, NoArgs>, ReplyOf<O>, Q, Own>
  );

type VariablesOf<U> = U extends `${string}{${infer V}}${infer Rest}` ? Named<V> | VariablesOf<Rest> : never;
type Named<V> = V extends "alias" ? never : V extends `+${infer N}` ? N : V;

export interface Resource<S, U, Read = Frozen<S>, R extends string = never> extends Offered<S, R> {
  /** The name in the list. Default: the key of this definition. */
  readonly name?: string;
  /**
   * RFC 6570: `{id}`, and `{+path}` for values with slashes. `{alias}` is filled in by the cast; every other variable is in `args`,
   * decoded. A path may be anything a client wrote, such as `../..`: check it before you use it.
   */
  readonly uri: U & string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  /** Bytes, if known. */
  readonly size?: number;
  /** For a template with one variable: the list of resources has one for each of its `choices`, by that name. */
  readonly listed?: boolean;
  view(context: ViewContext<Read, { readonly [V in VariablesOf<U>]: string }>): Value;
}

/** The state that the view of a resource gets: the members named in `reads`, or all. */
type ReadOf<S, RR, N> = N extends keyof RR
  ? RR[N] extends readonly (infer M)[]
    ? Pick<Frozen<S>, M & keyof Frozen<S>>
    : Frozen<S>
  : Frozen<S>;

/** A message of a prompt, as MCP returns it: `{ role, content }`. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: JsonObject;
}

/** A text is one message of the user. */
export type PromptValue = string | { readonly description?: string; readonly messages: readonly PromptMessage[] };

/** An argument of a prompt, as MCP lists it. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

export type Prompt<S, I, R extends string = never> = Described & PromptBase<S, I, R>;

interface PromptBase<S, I, R extends string> extends Offered<S, R> {
  /** Of an object. Arguments arrive as text: "true" and "3" are parsed if the schema says boolean or number. */
  readonly input?: Schema<I>;
  /** Instead of `input`: the list in MCP's form; every argument is text. */
  readonly arguments?: readonly PromptArgument[];
  view(context: ViewContext<Frozen<S>, ArgsOf<I, Readonly<Record<string, string | undefined>>>>): PromptValue;
}

type MessageArgs<N, I, R> = unknown extends R
  ? ArgsOf<I, N extends "ended" ? EndedArgs : N extends "failed" ? FailedArgs : Json>
  : ReplyArgs;

type Receives<S, A, R, Q extends AnyRequest, Own> =
  | { run(ctx: RunContext<S, A, Q> & OwnMessages<Own>): R; work?: never }
  | { work(ctx: WorkContext<S, A, Q> & OwnMessages<Own>): Promise<R>; run?: never };

/** What a handler of a message returns. With an `output`, the reply is plain data, of this turn or of the actor it was forwarded to. */
type AnswerOf<O> = unknown extends O ? Value | Later : O extends StandardSchemaV1<infer R, unknown> ? Frozen<R> | Forwarded<R> : Value;

/** What a message may have. A property that only one part of the intersection has would be an excess property to the others. */
type MessageProperties = { readonly [name in "input" | "output" | "secret" | "replies" | "run" | "work"]?: unknown };

type Sent<O> = unknown extends O ? Outgoing : O extends StandardSchemaV1<unknown, infer R> ? Asks<R> : Outgoing;

/** Builders of messages with checked names and arguments: `room.at(key).arrive({ player })`. With an `output`, the reply is typed. */
export type Senders<MI, MO = unknown> = {
  readonly [N in keyof MI]: unknown extends MI[N]
    ? (args?: Json | object, options?: SendOptions) => Sent<Output<MO, N>>
    : (args: SentArgs<MI[N], Json>, options?: SendOptions) => Sent<Output<MO, N>>;
};

/** Builders of calls of a kind's tools by other actors: `door.at(key).tools.open({ how: "softly" })`. A message called `tools` hides them. */
type ToolSenders<MI, T> = "tools" extends keyof MI
  ? unknown
  : T extends KindTypes<infer TI, infer TO, Per>
    ? {
        readonly tools: {
          readonly [N in keyof TI]: unknown extends TI[N]
            ? (args?: NoArgs, options?: SendOptions) => Sent<Output<TO, N>>
            : (args: SentArgs<TI[N], NoArgs>, options?: SendOptions) => Sent<Output<TO, N>>;
        };
      }
    : unknown;

/** The same for many actors: each builder returns one message for each of them, for `send`. */
type Broadcasts<MI> = {
  readonly [N in keyof MI]: unknown extends MI[N]
    ? (args?: Json | object, options?: SendOptions) => readonly Outgoing[]
    : (args: SentArgs<MI[N], Json>, options?: SendOptions) => readonly Outgoing[];
};

declare const REPLIED: unique symbol;

/** A message of another kind, by name: `payments.message("charge")`. `T` is what it replies. */
export interface MessageRef<T> {
  readonly kind: string;
  readonly action: string;
  readonly [REPLIED]?: T;
}

type RepliedOf<O> = unknown extends O ? Json : O extends StandardSchemaV1<unknown, infer R> ? R : Json;

/** Sends a message whose reply one of the `replies` handles: `RP` maps their names to what the messages reply, `RI` to their `input`. */
export type Request<RP, RI> = unknown extends RP
  ? AnyRequest
  : <N extends keyof RP & string>(
      message: Json extends RP[N] ? Outgoing : Asks<RP[N]>,
      reply: N,
      ...args: unknown extends Output<RI, N> ? [] : [args: SentArgs<Output<RI, N>, never>]
    ) => Forwarded<never>;

/** Handles the reply to a message that `request` sent. What it returns is the reply to the call that made the request. */
interface ReplyHandler<S, T, I, Q extends AnyRequest, Own> {
  /** The message whose reply this is. */
  readonly of: MessageRef<T>;
  run(ctx: RunContext<S, ArgsOf<I, undefined>, Q> & OwnMessages<Own> & { readonly reply: T }): Value | Forwarded<unknown>;
  /**
   * A refusal, or the failure of the other actor. If it returns nothing, the caller gets the refusal, and what it changed and sent stays.
   * Absent: the caller gets the refusal, and nothing runs.
   */
  refused?(ctx: RunContext<S, ArgsOf<I, undefined>, Q> & OwnMessages<Own> & { readonly refused: Refused }): Value | Forwarded<unknown>;
}

/** What authors write. `S` is the state, `MN` the names of messages, `AN` those of roles; the others map names to schemas. All are inferred. */
export interface Definition<
  S extends object,
  TI,
  TO,
  RU,
  RR,
  PI,
  MI,
  MR,
  MN extends string = never,
  MO = unknown,
  AN extends string = never,
  P extends Per = Per,
  RP = unknown,
  RI = unknown,
> extends Partial<Policy> {
  /** Required (`Described`). */
  readonly description?: string;
  readonly title?: string;
  /** Of the state, from 1. Default 1. */
  readonly version?: number;
  /** Which actor stands for a viewer. Default `shared`. */
  readonly per?: P;
  /**
   * True: the actor starts with its first message; with `per: "link"` it then has no parent, and until then a link to it shows its initial
   * state. False: messages of other actors do not start it; its own user's calls do. Default: true for `shared` and `user`, false for
   * `link`, where another actor creates it and is its parent.
   */
  readonly autoStart?: boolean;
  /** Its output for `{}` is the initial state, unless there is `initial`. What `initial` and `migrate` return must fit it. */
  readonly state?: StandardSchemaV1<unknown, S>;
  readonly initial?: (context: InitialContext) => S;
  /** Converts a state of a lower version when it is loaded. Pure. */
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => S;
  /**
   * Adds a tool `undo`: it restores the state before the caller's last turn of a tool with `run`, if nothing else has changed since, and the
   * turn sent no message and set no timer. `withinMs`: how long a turn can be undone.
   */
  readonly undo?: UndoOptions;
  /** Role → who has it. Offers and links name the roles they are for: `tools: { close: { allow: "responder", … } }`. */
  readonly allow?: { readonly [N in AN]: Role };
  /** Prefix ("" for none) → the actor whose surface is joined under it; one of many, where the link has no `to`. */
  readonly links?: Readonly<Record<string, Link<S, AN>>>;
  readonly tools?: {
    readonly [N in keyof TI]: Tool<
      S,
      TI[N],
      Output<TO, N>,
      AN,
      Request<RP, RI>,
      Senders<MessagesOf<MI, MN>, MO>,
      (keyof TI | keyof MI | MN) & string
    >;
  } & {
    readonly [N in keyof TO]: { readonly output?: Schema<TO[N]> };
  };
  readonly resources?: { readonly [N in keyof RU]: Resource<S, RU[N], ReadOf<S, RR, N>, AN> } & {
    /**
     * Members of the state: the view gets only these, and subscribers are notified only of turns that wrote to one of them (with `choices`,
     * of every turn). Absent: the view gets all, and every turn is notified.
     */
    readonly [N in keyof RR]: { readonly reads?: RR[N] & readonly (keyof S)[] };
  };
  readonly prompts?: { readonly [N in keyof PI]: Prompt<S, PI[N], AN> };
  /** From other actors and timers; never on a surface. `replies: true` marks a message that a `replyAs` names. */
  readonly messages?: {
    // By their names, which are known before any schema is: handlers keep their types where another part of the definition is wrong.
    readonly [N in MN]: { readonly secret?: readonly string[] } & MessageProperties &
      Receives<
        S,
        MessageArgs<N, N extends keyof MI ? MI[N] : unknown, N extends keyof MR ? MR[N] : unknown>,
        AnswerOf<Output<MO, N>>,
        Request<RP, RI>,
        Senders<MessagesOf<MI, MN>, MO>
      >;
  } & { readonly [N in keyof MI]: { readonly input?: Schema<MI[N]> } & MessageProperties } & {
    readonly [N in keyof MO]: { readonly output?: Schema<MO[N]> } & MessageProperties;
  } & { readonly [N in keyof MR]: { readonly replies?: MR[N] } & MessageProperties };
  /** Handlers of the replies to messages that `request` sends, by name. */
  readonly replies?: {
    readonly [N in keyof RP]: ReplyHandler<S, RP[N], Output<RI, N>, Request<RP, RI>, Senders<MessagesOf<MI, MN>, MO>>;
  } & {
    /** Of what `request` passes on, as a third argument. */
    readonly [N in keyof RI]: { readonly input?: Schema<RI[N]> };
  };
}

/** The messages and their schemas. If none has an `input`, nothing is inferred for `MI`, not even names: those come from `MN`. */
export type MessagesOf<MI, MN extends string> = unknown extends MI ? { readonly [N in MN]: unknown } : MI;

declare const TYPES: unique symbol;

/** What a kind's type carries for those who call its tools: schemas by name, and which actor stands for a viewer. */
export interface KindTypes<TI, TO, P> {
  readonly input: TI;
  readonly output: TO;
  readonly per: P;
}

/** A tool as its caller sees it: what its `input` takes, and what its `output` makes of the reply (unknown without one). */
interface CalledTool<I, O> {
  readonly args: SentArgs<I, Readonly<Record<string, never>>>;
  readonly result: O extends StandardSchemaV1<unknown, infer R> ? R : unknown;
}

type CalledTools<T> =
  T extends KindTypes<infer TI, infer TO, Per> ? { readonly [N in keyof TI]: CalledTool<TI[N], Output<TO, N>> } : unknown;

/** The arguments and results of a kind's tools: `ToolsOf<typeof door>["open"]["args"]`. */
export type ToolsOf<K> = K extends { readonly [TYPES]?: infer T } ? CalledTools<T> : unknown;

type ToolName<T> = T extends KindTypes<infer TI, unknown, Per> ? keyof TI & string : never;

/** Which actor of a kind stands for a viewer. */
export type PerOf<K> = K extends { readonly [TYPES]?: { readonly per: infer P } } ? P : Per;

/** A kind of actor: a `Behaviour` that any engine runs, and the ways to address its actors. */
export interface Kind<K extends string, S, MI, MO = unknown, T = unknown> extends Behaviour<S> {
  /** Only a type: there is no such property. */
  readonly [TYPES]?: T;
  readonly kind: K;
  readonly description: string;
  readonly title?: string;
  readonly per: Per;
  readonly catalogue: Catalogue;
  /** `kind/key`, percent-encoded; throws `BAD_ID` unless the key is 1–256 bytes. */
  id(key: string): `${K}/${string}`;
  /** The address of one actor of this kind, with typed builders of messages to it and, as `tools`, of calls of its tools. */
  at(key: string): Address<`${K}/${string}`> & Senders<MI, MO> & ToolSenders<MI, T>;
  /** The same message to many actors: `send(inbox.each(people).notify({ … }))`. A key that comes twice gets it twice. */
  each(keys: Iterable<string>): Broadcasts<MI>;
  /** One of the kind's messages, for the `of` of a reply handler. */
  message<N extends keyof MI & string>(name: N): MessageRef<RepliedOf<Output<MO, N>>>;
  /** One of the kind's tools, likewise. */
  tool<N extends ToolName<T>>(name: N): MessageRef<T extends KindTypes<unknown, infer TO, Per> ? RepliedOf<Output<TO, N>> : Json>;
  view(...given: Parameters<NonNullable<Behaviour<S>["view"]>>): ReturnType<NonNullable<Behaviour<S>["view"]>>;
  surface(...given: Parameters<NonNullable<Behaviour<S>["surface"]>>): ReturnType<NonNullable<Behaviour<S>["surface"]>>;
}

/** The state of a kind: `StateOf<typeof door>`. */
export type StateOf<T> = T extends Behaviour<infer S> ? S : never;
