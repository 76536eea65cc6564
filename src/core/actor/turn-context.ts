import {
  type ActorId,
  type Bag,
  EngineError,
  isBag,
  type Json,
  type Message,
  type Outgoing,
  type Reply,
  type Step,
  type Turn,
  type Viewer,
  type Wake,
} from "../contract/index.ts";
import { capabilityNeeded, DirtyPaths, omitUndefined, hasOwn, setOwn } from "../contract/internal.ts";
import { badTurn } from "./bad-turn.ts";
import type { Answers, RawQuestion, RunContext, Send, SendOptions, WakeOptions } from "./context-types.ts";
import { type Draft, openDraft } from "./draft/index.ts";
import type { Question } from "./elicit.ts";
import { Later } from "./later.ts";
import { keyOf } from "./names.ts";
import { plain } from "./plain.ts";
import { type Random, seeded } from "./random.ts";
import { refuse } from "./refuse.ts";
import { type Wakeful, wakeName, wakeOf } from "./wakes.ts";

/** Nobody in particular: the viewer of a message that names none. */
export const NOBODY: Viewer = Object.freeze({ scopes: Object.freeze([]) });
const NO_ANSWERS: Bag = Object.freeze({});

/** Thrown by `ask` where an answer is missing: the turn leaves no trace, the client is asked (C3). */
export class Needs {
  readonly requests: Bag;
  constructor(requests: Bag) {
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
 * One turn in the making. The functions are getters that bind on first use: a turn
 * pays for those it takes, and authors may destructure them.
 */
export class TurnContext implements RunContext<object, unknown> {
  readonly message: Message;
  readonly args: unknown;
  readonly base: object;
  readonly #kind: Wakeful;
  readonly #confirms: boolean;
  readonly #life: string;
  readonly #seq: number;
  #draft: Draft | undefined;
  #random: Random | undefined;
  #effects: Effects | undefined;
  #over = false;

  constructor(base: object, message: Message, args: unknown, kind: Wakeful, confirms: boolean, life: string, seq: number) {
    this.message = message;
    this.args = args;
    this.base = base;
    this.#kind = kind;
    this.#confirms = confirms;
    this.#life = life;
    this.#seq = seq;
  }

  get state(): object {
    this.alive();
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
  get viewer(): Viewer {
    return this.message.viewer ?? NOBODY;
  }
  get from(): ActorId | undefined {
    return this.message.from;
  }
  get answers(): Bag {
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
    return (to: ActorId | Outgoing, given?: string | SendOptions, args?: unknown, options?: SendOptions) => {
      const message = outgoing(to, given, args, options, this.message);
      const { replyAs } = message;
      if (replyAs !== undefined && !this.#kind.has(replyAs))
        throw badTurn(
          `\`replyAs\` names the message ${JSON.stringify(replyAs)}, which this kind does not have: declare it in \`messages\`, with \`replies: true\`.`,
        );
      const sends = (this.effects().send ??= []);
      sends.push(message);
      return `${this.#life}.${this.#seq}.${sends.length - 1}`;
    };
  }
  get wake(): (name: string, options: WakeOptions) => void {
    return (name, options) => {
      (this.effects().wake ??= {})[wakeName(name)] = wakeOf(name, options, this.message.at, this.#kind);
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
      this.alive();
      return LATER;
    };
  }
  get answer(): (messageId: string, value: unknown) => void {
    return (messageId, value) => {
      this.#checkWaits("answer", messageId);
      const json = plain(value, "an answer");
      setOwn((this.effects().answer ??= {}), messageId, isReply(json) ? json : { ok: json });
    };
  }
  get report(): (messageId: string, done: number, total?: number, text?: string) => void {
    return (messageId, done, total, text) => {
      this.#checkWaits("report", messageId);
      setOwn((this.effects().report ??= {}), messageId, { done, ...omitUndefined({ total, text }) });
    };
  }
  get record(): (what: unknown) => void {
    return (what) => {
      (this.effects().record ??= []).push(plain(what, "a record"));
    };
  }
  get emit(): (what: unknown) => void {
    return (what) => {
      (this.effects().emit ??= []).push(plain(what, "what is emitted"));
    };
  }
  get ask(): RunContext<object, unknown>["ask"] {
    return (questions) => this.#ask(questions);
  }

  /** Throws `TURN_OVER` once the turn has ended. */
  alive(): void {
    if (this.#over)
      throw new EngineError("TURN_OVER", `The turn of ${this.message.action} is over: what it has not done by its end it cannot do.`);
  }

  effects(): Effects {
    this.alive();
    return (this.#effects ??= {});
  }

  /** What was recorded so far, also where the turn has no other trace. */
  recorded(): Json | undefined {
    return this.#effects?.record;
  }

  /** Ends the turn: nothing it kept hold of writes anywhere afterwards. */
  end(): void {
    this.#over = true;
    this.#draft?.drop();
  }

  /** The turn as data. The draft is closed here, after the reply was read out of it. */
  close(reply: Reply | "later" | undefined): Turn<object> {
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

  /** In a message that brings a reply nobody waits any more for what that is of. */
  #checkWaits(word: string, messageId: string): void {
    const { action, args } = this.message;
    if (this.#kind.get(action)?.replies !== true || !isBag(args) || args["of"] !== messageId) return;
    throw badTurn(
      `${word}(): this is the id of the message that was sent, whose reply is here. Who waits is told under the id of the call that returned \`later()\`: keep its \`message.id\`.`,
    );
  }

  #ask<Q extends Readonly<Record<string, Question<unknown> | RawQuestion>>>(questions: Q): Answers<Q>;
  #ask(questions: Readonly<Record<string, Question<unknown> | RawQuestion>>): object {
    this.alive();
    if (typeof questions !== "object" || questions === null) throw badTurn("ask(): pass questions by name.");
    const answers: Record<string, unknown> = {};
    const missing: Record<string, Json> = {};
    const unable: string[] = [];
    for (const [key, question] of Object.entries(questions)) {
      if (!isQuestion(question)) throw badTurn(`ask(): ${JSON.stringify(key)} is no question: make it with elicit(), sample() or roots().`);
      const { method, params } = "request" in question ? question.request : question;
      if (this.#confirms && key === "confirm") throw badTurn('ask(): "confirm" is the key of the tool\'s own `confirm`: choose another.');
      if (Object.hasOwn(this.answers, key)) {
        const answer = this.answers[key] ?? null;
        answers[key] = "read" in question ? question.read(answer) : answer;
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
        from === undefined
          ? `This must ask you something, and your client cannot be asked (${list}).`
          : `${to} must ask the client something (${list}), and a message from ${from} cannot carry the question: call ${to} directly.`,
        { code: "CANNOT_ASK", data: { capability: first, capabilities: unable } },
      );
    }
    // oxlint-disable-next-line typescript/only-throw-error -- an outcome, not an error: no stack is wanted
    if (Object.keys(missing).length > 0) throw new Needs(missing);
    return answers;
  }
}

const LATER = new Later();
const NOTHING: Turn<object> = Object.freeze({});

/** A message as its author wrote it, in the envelope; keeps the trace of what caused it. */
export function outgoing(
  to: ActorId | Outgoing,
  given: string | SendOptions | undefined,
  args: unknown,
  options: SendOptions | undefined,
  cause: Message,
): Outgoing {
  if (typeof to === "object") {
    const extra = typeof given === "object" ? given : undefined;
    return traced({ ...to, ...extra, args: plain(to.args, "the arguments of a message") }, cause);
  }
  // Throws BAD_ID here, where the author sees it, and not in the outbox.
  keyOf(to);
  if (typeof given !== "string") throw badTurn("send(to, action, args): `action` is the name of a message.");
  return traced({ ...options, to, action: given, args: plain(args, "the arguments of a message") }, cause);
}

function traced(message: Outgoing, cause: Message): Outgoing {
  return cause.trace === undefined || message.trace !== undefined ? message : { ...message, trace: cause.trace };
}

function isQuestion(value: unknown): boolean {
  const asked = isBag(value) && "request" in value ? value["request"] : value;
  return isBag(asked) && typeof asked["method"] === "string";
}

function isReply(value: Json): value is Reply & Bag {
  if (!isBag(value) || Object.keys(value).length !== 1) return false;
  const { needs = null, refused } = value;
  return (
    hasOwn(value, "ok") || (typeof needs === "object" && needs !== null) || (isBag(refused) && "code" in refused && "message" in refused)
  );
}
