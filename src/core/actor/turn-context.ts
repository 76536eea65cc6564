// Owns: one turn in the making, or the work that ends in one: what `ctx` offers, and the turn as data. Does not own: which handler runs
// (receive.ts), the draft (draft.ts).
import {
  type ActorId,
  type ActorViewer,
  type Asks,
  type JsonObject,
  type Context,
  EngineError,
  isJsonObject,
  isList,
  type Json,
  type Log,
  type Message,
  type Outgoing,
  type Policy,
  type Progress,
  type Reply,
  type ReplyWith,
  type Step,
  type Turn,
  type Wake,
} from "../contract/index.ts";
import {
  loggable,
  capabilityNeeded,
  didYouMean,
  DirtyPaths,
  kindOf,
  missingActorRefusal,
  omitUndefined,
  REPLY_ACTION,
  setOwn,
  SETTLED_ACTION,
} from "../contract/internal.ts";
import type { Action, CompiledReply } from "./actions.ts";
import { badTurn } from "./author-errors.ts";
import { creating, idOf, outgoing, traced } from "./address.ts";
import type { Answers, Call, Create, Forward, RawQuestion, RunContext, Send, SendOptions, WakeOptions, WorkContext } from "./context.ts";
import { type Draft, openDraft } from "./draft.ts";
import { actionOf, callOf, contextFor, isReply, readReplyArgs, type WaitingCall } from "./delegation.ts";
import { keyOf } from "./names.ts";
import { answerKey, confirmKey, type Question } from "./questions.ts";
import { type Random, seeded } from "./random.ts";
import { type Forwarded, ForwardedMark, Later, refuse, SettledMark } from "./replies.ts";
import { wakeName, wakeOf } from "./timers.ts";
import { toJson } from "./to-json.ts";

/** What a turn needs of its kind: the actions, the handlers of replies, and a limit of the policy. */
export type KindOfTurn = Pick<ReadonlyMap<string, Action>, "has" | "get"> &
  Pick<Policy, "minEveryMs"> & {
    readonly replies: ReadonlyMap<string, CompiledReply>;
    readonly address: (key: string) => object;
  };

/** The viewer of a message that names none. */
export const ANONYMOUS: ActorViewer = Object.freeze({ scopes: Object.freeze([]) });
const NO_ANSWERS: JsonObject = Object.freeze({});

/** Thrown by `ask` if an answer is missing: the turn leaves no trace, and the client gets the questions (C3). */
export class Needs {
  readonly requests: JsonObject;
  constructor(requests: JsonObject) {
    this.requests = requests;
  }
}

type Effects = {
  send?: Outgoing[];
  wake?: Record<string, Wake | null>;
  answer?: Record<string, Reply>;
  report?: Record<string, Step>;
  restart?: ActorId[];
  record?: Json[];
  emit?: Json[];
  stop?: string;
};

/**
 * One turn in the making. The functions are getters that bind on first use: a turn pays only for those it takes, and authors may
 * destructure them.
 */
export class TurnContext implements RunContext<object, unknown> {
  readonly message: Message;
  readonly args: unknown;
  readonly base: object;
  readonly viewer: ActorViewer;
  readonly #kind: KindOfTurn;
  readonly #life: string;
  readonly #seq: number;
  #draft: Draft | undefined;
  #random: Random | undefined;
  #effects: Effects | undefined;
  #forwarded = false;
  /** The keys of the answers that this turn has read. */
  #read: Set<string> | undefined;
  /** The answers that the forwarded call has. */
  #answersSent: Record<string, Json> | undefined;
  #over = false;

  constructor(base: object, message: Message, args: unknown, viewer: ActorViewer, kind: KindOfTurn, life: string, seq: number) {
    this.message = message;
    this.args = args;
    this.base = base;
    this.viewer = viewer;
    this.#kind = kind;
    this.#life = life;
    this.#seq = seq;
  }

  get state(): object {
    this.throwIfOver();
    this.#draft ??= openDraft(this.base);
    return this.#draft.state;
  }
  get self(): ActorId {
    return this.message.to;
  }
  get key(): string {
    return keyOf(this.message.to);
  }
  get now(): number {
    return this.message.at;
  }
  get from(): ActorId | undefined {
    return this.message.from;
  }
  get answers(): JsonObject {
    return this.message.answers ?? NO_ANSWERS;
  }
  get random(): () => number {
    return (this.#random ??= seeded(this.message.seed)).random;
  }
  get id(): () => string {
    return (this.#random ??= seeded(this.message.seed)).id;
  }
  get can(): (name: string) => boolean {
    return (name) => this.message.can?.includes(name) ?? false;
  }
  get send(): Send<string> {
    const one = (to: ActorId | Outgoing, given?: string | SendOptions, args?: unknown, options?: SendOptions): string =>
      this.#send(outgoing(to, given, args, options, this.message));
    function send(message: Outgoing, options?: SendOptions): string;
    function send(messages: readonly Outgoing[], options?: SendOptions): readonly string[];
    function send(to: ActorId, action: string, args?: unknown, options?: SendOptions): string;
    function send(to: ActorId | Outgoing | readonly Outgoing[], ...given: [(string | SendOptions)?, unknown?, SendOptions?]): unknown {
      return isList(to) ? to.map((message) => one(message, ...given)) : one(to, ...given);
    }
    return send;
  }
  get forward(): Forward {
    const forward = (other: Outgoing): unknown => this.#forward("forward", other);
    function typed<T>(asks: Asks<T>): Forwarded<T>;
    function typed(other: Outgoing): Forwarded<unknown>;
    function typed(...given: Parameters<typeof forward>): unknown {
      return forward(...given);
    }
    return typed;
  }
  get create(): Create {
    return (actor, args, options) => {
      const to = idOf(actor);
      (this.effects().send ??= []).push(traced(creating(to, args, options), this.message));
      return to;
    };
  }
  get request(): (message: Outgoing, reply: string, args?: unknown) => Forwarded<never> {
    const request = (other: Outgoing, name: string, args?: unknown): unknown =>
      this.#forward("request", other, { handler: name, args: this.#replyArgs(other, name, args) });
    function typed(other: Outgoing, name: string, args?: unknown): Forwarded<never>;
    function typed(...given: Parameters<typeof request>): unknown {
      return request(...given);
    }
    return typed;
  }
  get messages(): unknown {
    return this.#kind.address(this.key);
  }
  get settled(): <T>(value: T) => Forwarded<T> {
    const make = (value: unknown): unknown => {
      this.throwIfOver();
      return new SettledMark(value);
    };
    function settled<T>(value: T): Forwarded<T>;
    function settled(value: unknown): unknown {
      return make(value);
    }
    return settled;
  }
  get wake(): (name: string, options: WakeOptions) => void {
    return (name, options) => {
      (this.effects().wake ??= {})[wakeName(name)] = wakeOf(name, options, this.message, this.#kind);
    };
  }
  get cancel(): (name: string) => void {
    return (name) => {
      (this.effects().wake ??= {})[wakeName(name)] = null;
    };
  }
  get stop(): (reason: string) => void {
    return (reason) => {
      if (typeof reason !== "string") throw badTurn("stop(reason): say why, as text.");
      this.effects().stop = reason;
    };
  }
  get restart(): (child: ActorId) => void {
    return (child) => {
      // Throws BAD_ID here, where the author sees it.
      keyOf(child);
      (this.effects().restart ??= []).push(child);
    };
  }
  get later(): () => Later {
    return () => {
      this.throwIfOver();
      return LATER;
    };
  }
  get answer(): (messageId: string, value: unknown) => void {
    return (messageId, value) => {
      this.#checkWaiting("answer", messageId);
      const json = toJson(value, "an answer");
      setOwn((this.effects().answer ??= {}), messageId, isReply(json) ? json : { ok: json });
    };
  }
  get report(): (messageId: string, done: number, total?: number, text?: string) => void {
    return (messageId, done, total, text) => {
      this.#checkWaiting("report", messageId);
      setOwn((this.effects().report ??= {}), messageId, { done, ...omitUndefined({ total, text }) });
    };
  }
  get record(): (what: unknown) => void {
    return (what) => {
      (this.effects().record ??= []).push(toJson(what, "a record"));
    };
  }
  get emit(): (what: unknown) => void {
    return (what) => {
      (this.effects().emit ??= []).push(toJson(what, "what is emitted"));
    };
  }
  get ask(): RunContext<object, unknown>["ask"] {
    return (questions) => this.#ask(questions);
  }

  /** Throws `TURN_OVER` once the turn has ended. */
  throwIfOver(): void {
    if (this.#over)
      throw new EngineError("TURN_OVER", `The turn of ${this.message.action} is over: what it has not done by its end it cannot do.`);
  }

  #send(message: Outgoing): string {
    const { replyAs } = message;
    if (replyAs !== undefined && !this.#kind.has(replyAs))
      throw badTurn(
        `\`replyAs\` names the message ${JSON.stringify(replyAs)}, which this kind does not have: declare it in \`messages\`, with \`replies: true\`.`,
      );
    const sends = (this.effects().send ??= []);
    sends.push(message);
    return `${this.#life}.${this.#seq}.${sends.length - 1}`;
  }

  effects(): Effects {
    this.throwIfOver();
    return (this.#effects ??= {});
  }

  /** What was recorded so far, even if the turn leaves no other trace. */
  recorded(): Json | undefined {
    return this.#effects?.record;
  }

  /** Ends the turn. Neither the context nor its draft can write afterwards. */
  end(): void {
    this.#over = true;
    this.#draft?.drop();
  }

  /** The call that a forwarded message is for, and on whose behalf it is sent. */
  protected caller(): Caller {
    const { message } = this;
    const { viewer, deadline, answers } = message;
    // A message that another actor sent may carry no question, and a call whose client supports none may not either.
    const can = message.can ?? (message.from === undefined ? [] : undefined);
    return { call: callOf(message), viewer, deadline, can, answers };
  }

  /** The turn as data. Closes the draft, so the reply must have been read out of it before. `forwarded`: it returned what `forward()` did. */
  close(reply: Reply | "later" | undefined, forwarded: boolean): Turn<object> {
    if (this.#forwarded !== forwarded)
      throw badTurn(
        this.#forwarded
          ? `${this.message.action} forwarded its call and returned something else: return what forward() or request() returns, or use send().`
          : `${this.message.action} returned what forward() or request() returned in another turn: call it in this one.`,
      );
    this.#over = true;
    const effects = this.#effects;
    const changes = this.#draft?.finish();
    if (changes === undefined) {
      if (effects === undefined) return reply === undefined ? NOTHING : { reply };
      return reply === undefined ? effects : { reply, ...effects };
    }
    const { after: state } = changes;
    const dirty = new DirtyPaths(changes);
    if (effects === undefined) return reply === undefined ? { state, dirty } : { state, dirty, reply };
    return { state, dirty, ...(reply !== undefined && { reply }), ...effects };
  }

  #forward(word: string, other: Outgoing, reply?: { readonly handler: string; readonly args: Json | undefined }): ForwardedMark {
    const sends = (this.effects().send ??= []);
    if (typeof other !== "object" || other === null) throw badTurn(`${word}(message): make the message with \`kind.at(key)\`.`);
    if (this.#forwarded)
      throw badTurn(`${word}(): a caller gets one reply, and this turn has forwarded the call already. Use send() for what needs none.`);
    const { call, viewer, deadline, can, answers } = this.caller();
    if (this.#kind.get(this.message.action)?.confirm !== undefined) (this.#read ??= new Set()).add(confirmKey(this.message));
    const sent = outgoing(other, undefined, undefined, undefined, this.message);
    const secret = this.#kind.get(actionOf(call))?.secret === undefined ? undefined : true;
    sends.push({
      ...omitUndefined({ viewer, deadline }),
      ...sent,
      ...omitUndefined({ can, answers: answers && this.#answersForOthers(answers) }),
      replyAs: REPLY_ACTION,
      replyContext: contextFor(call, sent, reply && { ...reply, secret, viewer, deadline }),
    });
    this.#forwarded = true;
    return FORWARDED;
  }

  /** The answers for another actor, without those to questions of this one: that one may have questions of the same names. */
  #answersForOthers(answers: JsonObject): JsonObject {
    const others: Record<string, Json> = { ...answers };
    for (const key of this.#read ?? []) if (Object.hasOwn(others, key)) others[key] = null;
    this.#answersSent = others;
    return others;
  }

  /** What `request` passes on to the handler of the reply, checked as the handler will get it. */
  #replyArgs({ to, action }: Outgoing, name: string, args: unknown): Json | undefined {
    const { replies } = this.#kind;
    const handler = replies.get(name);
    if (handler === undefined)
      throw badTurn(`request(): there is no ${JSON.stringify(name)} in \`replies\`${didYouMean(name, [...replies.keys()])}`);
    const { of } = handler;
    if (kindOf(to) !== of.kind || action !== of.action)
      throw badTurn(
        `request(): ${handler.name} handles the reply of ${of.kind}'s ${of.action}, and the message is ${kindOf(to)}'s ${action}.`,
      );
    const given = args === undefined ? undefined : toJson(args, "the arguments of a reply");
    readReplyArgs(handler, given);
    return given;
  }

  /** The turn as data, of which the reply is sent once the messages it sends have been applied. */
  closeSettled(reply: Reply): Turn<object> {
    const sends = this.#effects?.send;
    const { id } = this.caller().call;
    if (sends === undefined) return this.closeWith(reply);
    // Messages to one actor are applied in their order, so its last one is enough.
    const last = new Map(sends.map(({ to }, index) => [to, index]));
    for (const index of last.values()) {
      const sent = sends[index];
      if (sent === undefined) continue;
      if (sent.replyAs !== undefined)
        throw badTurn(
          `settled(): the message to ${sent.to} requests a reply with \`replyAs\`. Send it without, or answer when the reply is there.`,
        );
      sends[index] = { ...sent, replyAs: SETTLED_ACTION, replyContext: { call: id } };
    }
    const after = [...last.values()].map((index) => `${this.#life}.${this.#seq}.${index}`);
    return { ...this.close(id === this.message.id ? "later" : undefined, false), settle: { [id]: { reply, after } } };
  }

  /** The turn as data, with the reply to its call. */
  protected closeWith(reply: Reply): Turn<object> {
    return this.close(reply, false);
  }

  /** In a message that brings a reply, no caller waits under the id of the message it replies to. */
  #checkWaiting(word: string, messageId: string): void {
    const { action, args } = this.message;
    if (this.#kind.get(action)?.replies !== true || !isJsonObject(args) || args["of"] !== messageId) return;
    throw badTurn(
      `${word}(): this is the id of the message that was sent, whose reply is here. The caller that waits gets it under the id of the call that returned \`later()\`: keep its \`message.id\`.`,
    );
  }

  #ask<Q extends Readonly<Record<string, Question<unknown> | RawQuestion>>>(questions: Q): Answers<Q>;
  #ask(questions: Readonly<Record<string, Question<unknown> | RawQuestion>>): object {
    this.throwIfOver();
    if (typeof questions !== "object" || questions === null) throw badTurn("ask(): pass questions by name.");
    const answers: Record<string, unknown> = {};
    const missing: Record<string, Json> = {};
    const unable: string[] = [];
    for (const [name, question] of Object.entries(questions)) {
      if (!isQuestion(question))
        throw badTurn(`ask(): ${JSON.stringify(name)} is no question: make it with elicit(), sample() or roots().`);
      const { method, params } = "request" in question ? question.request : question;
      if (name === "confirm" && this.#kind.get(this.message.action)?.confirm !== undefined)
        throw badTurn('ask(): "confirm" is the key of the tool\'s own `confirm`: choose another.');
      const key = answerKey(name, this.message);
      if (Object.hasOwn(this.answers, key)) {
        const answer = this.answers[key] ?? null;
        (this.#read ??= new Set()).add(key);
        // A turn may ask once it has forwarded.
        if (this.#answersSent !== undefined) this.#answersSent[key] = null;
        setOwn(answers, name, "read" in question ? question.read(answer) : answer);
      } else {
        setOwn(missing, key, { method, params });
        const needed = capabilityNeeded(method, params ?? {});
        if (!this.can(needed) && !unable.includes(needed)) unable.push(needed);
      }
    }
    const [first] = unable;
    if (first !== undefined) {
      const { from, to } = this.message;
      const list = unable.join(", ");
      refuse(
        from === undefined || this.message.can !== undefined
          ? `This must ask you something, which your client does not support (${list}).`
          : `${to} must ask the client something (${list}), and a message from ${from} cannot carry the question: use forward() there, or call ${to} directly. After request() it is too late to ask.`,
        { code: "CANNOT_ASK", data: { capability: first, capabilities: unable } },
      );
    }
    // oxlint-disable-next-line typescript/only-throw-error -- an outcome, not an error: it needs no stack
    if (Object.keys(missing).length > 0) throw new Needs(missing);
    return answers;
  }
}

/** A turn in the making that may wait. Its draft is open until the work ends. */
export class WorkingContext extends TurnContext implements WorkContext<object, unknown> {
  readonly #engine: Context;

  constructor(engine: Context, ...turn: ConstructorParameters<typeof TurnContext>) {
    super(...turn);
    this.#engine = engine;
  }
  get signal(): AbortSignal {
    return this.#engine.signal;
  }
  get progress(): Progress {
    return (...step) => {
      this.throwIfOver();
      this.#engine.progress(...step);
    };
  }
  get log(): Log {
    return (level, data, ...logger) => {
      this.throwIfOver();
      this.#engine.log(level, loggable(data), ...logger);
    };
  }
  get call(): Call {
    const ask = async (to: ActorId | Outgoing, given?: string | SendOptions, args?: unknown, options?: SendOptions): Promise<Reply> => {
      this.throwIfOver();
      try {
        return await this.#engine.call(outgoing(to, given, args, options, this.message));
      } catch (error) {
        // Work can handle a missing actor as a reply. Thrown, it would look like a crash of the work to its caller.
        const refusal = missingActorRefusal(error);
        if (refusal === undefined) throw error;
        return refusal;
      }
    };
    function call<T>(asks: Asks<T>, options?: SendOptions): Promise<ReplyWith<T>>;
    function call(other: Outgoing, options?: SendOptions): Promise<Reply>;
    function call(to: ActorId, action: string, args?: unknown, options?: SendOptions): Promise<Reply>;
    async function call(...given: Parameters<typeof ask>): Promise<unknown> {
      return ask(...given);
    }
    return call;
  }
}

export interface Caller {
  readonly call: WaitingCall;
  readonly viewer: Message["viewer"] | undefined;
  readonly deadline: number | undefined;
  readonly can: readonly string[] | undefined;
  readonly answers: JsonObject | undefined;
}

const LATER = new Later();
const FORWARDED = new ForwardedMark();
const NOTHING: Turn<object> = Object.freeze({});

function isQuestion(value: unknown): boolean {
  const request = isJsonObject(value) && "request" in value ? value["request"] : value;
  return isJsonObject(request) && typeof request["method"] === "string";
}
