// Owns: one request of an initialized session, from its start to its reply, and the questions to its client on the way. Does not own: the
// steps of a method (dispatch.ts), those that only sessions have (session-methods.ts), and how the reply is sent.
import type { JsonObject, Caller, Json } from "../../../core/contract/index.ts";
import { counted, hasOwn, andThen, andThenElse } from "../../../core/contract/internal.ts";
import type { Lists } from "../../source/index.ts";
import { ActiveRequest, GivenUp, logTo, type OutOfBandChannel, progressTo } from "../active-requests.ts";
import { type Needs, type Call, type Members, type Outcome, REFUSED_META, withAnswers } from "../call.ts";
import { type Core, draining } from "../core.ts";
import { dispatch, dispatchRound } from "../dispatch.ts";
import { callKey, metaOf, traceOf } from "../envelope.ts";
import { errorText, Fault, requestFault } from "../errors.ts";
import type { Request } from "../json-rpc.ts";
import { observe, type RequestObserver } from "../observer.ts";
import { cannotAsk, checkAnswer, questionsOf, shapeQuestion, unmet } from "../question-shapes.ts";
import { isListMethod, legacyReply, type ReplyText, toolError } from "../result-shapes.ts";
import { NoAnswer, rpcError } from "./client-requests.ts";
import type { Session } from "./session.ts";
import { SESSION_METHODS } from "./session-methods.ts";

/** The way out for one request: messages before its reply, and requests to the client. */
export interface SessionChannel extends OutOfBandChannel {
  ask(message: JsonObject): void;
}

/** How a request came in. */
export interface RequestOrigin {
  readonly caller: Caller;
  readonly channel: SessionChannel;
  readonly idempotencyKey: string | undefined;
  /** Reply and notifications share one ordered stream. */
  readonly ordered: boolean;
}

/** A reply, or the error in its place; undefined: the request was cancelled, and gets no reply. */
export type Answered = ReplyText | { readonly error: Fault } | undefined;

/**
 * One request of a session. It has no private members, and its steps are functions, since V8 takes longer to create an object with private
 * members than for a step. A step that waits is a function of its own, and what a result is passed to closes over nothing, since V8 allocates
 * what a function closes over on each call of it.
 */
export class SessionRequest extends ActiveRequest {
  readonly core: Core;
  readonly session: Session;
  readonly request: Request;
  readonly origin: RequestOrigin;
  readonly seen: RequestObserver;

  constructor(core: Core, session: Session, request: Request, origin: RequestOrigin) {
    super(request.id);
    this.core = core;
    this.session = session;
    this.request = request;
    this.origin = origin;
    this.seen = observe(core, request, "legacy", origin.caller, session);
  }

  /** Never throws nor rejects. */
  answer(): Answered | Promise<Answered> {
    return this.seen.during(this);
  }

  run(): Answered | Promise<Answered> {
    const { core, session, origin } = this;
    const refused = admit(this);
    if (refused !== undefined) return answerError(refused, this);
    try {
      const result = resultOf(this);
      const notifies = origin.ordered && session.subscriptions?.pending === true;
      if (!(result instanceof Promise) && !notifies) return reply(result, this);
      return andThenElse(core.pending.within(origin.ordered ? afterNotices(result, session) : result, this), reply, fail, this);
    } catch (error) {
      return fail(error, this);
    }
  }
}

/** Makes it an active request of its session. Returns why it cannot be. */
function admit(one: SessionRequest): Fault | undefined {
  const { core, session, id } = one;
  if (core.work.closed) return draining();
  const { active } = session;
  if (active.get(id) !== undefined) return new Fault("ID_IN_USE", "A request with this id is still running.");
  if (active.size >= core.settings.limits.inFlight) return new Fault("BUSY", "Too many requests of this session run at once.");
  active.add(one);
  return undefined;
}

function reply(members: Members, one: SessionRequest): Answered {
  try {
    const text = one.aborted ? undefined : legacyReply(one.id, members);
    one.session.active.delete(one);
    one.seen.replied(text);
    return text;
  } catch (error) {
    return fail(error, one);
  }
}

function fail(error: unknown, one: SessionRequest): Answered {
  one.session.active.delete(one);
  if (one.aborted) {
    one.seen.replied(undefined);
    return undefined;
  }
  if (error instanceof GivenUp) one.abort();
  return answerError(requestFault(one.core, one.request.method, error), one);
}

function answerError(error: Fault, { seen }: SessionRequest): Answered {
  seen.failed(error);
  return { error };
}

function resultOf(one: SessionRequest): Members | Promise<Members> {
  const { core, session, request, origin } = one;
  const own = SESSION_METHODS.get(request.method);
  if (own !== undefined) return own(one);
  if (core.settings.dialect.refusesTasks && "task" in request.params)
    throw new Fault("METHOD", "Method not found: there are no tasks here.", { reason: "task-argument" });
  return origin.ordered && session.started !== undefined ? onceStarted(one, session.started) : perform(one);
}

async function onceStarted(one: SessionRequest, started: Promise<void>): Promise<Members> {
  await started;
  one.session.started = undefined;
  return perform(one);
}

// C8: on one stream the notification comes before the reply to the call that caused it.
async function afterNotices(result: Members | Promise<Members>, session: Session): Promise<Members> {
  const members = await result;
  if (session.subscriptions?.pending === true) await session.subscriptions.settle();
  return members;
}

function perform(one: SessionRequest): Members | Promise<Members> {
  const call = callOf(one);
  return andThen(dispatch(one.core, call, one.origin.caller), performed, one, call);
}

const performed = (outcome: Outcome, one: SessionRequest, call: Call): Members | Promise<Members> =>
  hasOwn(outcome, "needs") ? askThenRepeat(one, call, outcome) : outcome;

function callOf(one: SessionRequest): Call {
  const { session, request, origin, seen } = one;
  const { method, params, id } = request;
  const meta = metaOf(params);
  return {
    method,
    params,
    id,
    revision: session.revision,
    viewer: session.viewerFor(origin.caller),
    source: session.source,
    listMode: session.listMode,
    options: {
      key: callKey(meta, origin.idempotencyKey),
      peer: origin.caller.peer,
      onReceipt: origin.caller.onReceipt,
      onHandled: origin.caller.onHandled,
      can: session.can,
      trace: seen.trace ?? traceOf(meta),
      signal: one,
      onProgress: progressTo(origin.channel, params, session.revision, one),
      onLog: logTo(origin.channel, session, one),
    },
    onListed: isListMethod(method) ? recordListsOf(session, origin.caller) : undefined,
    checkArguments: undefined,
  };
}

// The call runs again from the top with all answers so far. One that is running goes on, with an error where there is no answer.
async function askThenRepeat(one: SessionRequest, call: Call, first: Needs): Promise<Members> {
  const { core, session, origin } = one;
  const { rounds, answerLength } = core.settings.limits;
  let answers: Record<string, Json> = {};
  let pending = first;
  for (let round = 0; ; round += 1) {
    const questions = questionsOf(pending.needs);
    const missing = unmet(questions, session.can);
    if (missing.length > 0) return refuseToAsk(core, call, missing);
    let next: Call;
    try {
      if (round >= rounds) throw new NoAnswer("CANNOT_ASK", `After ${counted(rounds, "round")} of questions this call still has some.`);
      // All are shaped before the first is sent: the client answers none in vain.
      const shaped = Array.from(questions, ([key, question]) => {
        return { key, ...question, params: shapeQuestion(question, session.revision, () => core.settings.entropy.uuid()) };
      });
      for (const { key, method, params } of shaped) {
        const answer = await session.clientRequests.ask(method, params, (message) => origin.channel.ask(message), one);
        answers = { ...answers, [key]: checkAnswer(key, answer, method, answerLength) };
      }
      next = withAnswers(call, answers);
    } catch (error) {
      if (pending.running !== true || one.aborted) return unanswered(call, error, pending.running === true);
      const open = [...questions.keys()].filter((key) => !Object.hasOwn(answers, key));
      next = withAnswers(call, answers, Object.fromEntries(open.map((key) => [key, rpcOf(error)])));
      if (round > rounds) {
        // It knows that there are no more rounds, and asks on.
        await cancelRunning(core, next);
        return unanswered(call, error, true);
      }
    }
    const outcome = await dispatchRound(core, next);
    if (!hasOwn(outcome, "needs")) return outcome;
    pending = outcome;
  }
}

/** Repeats a call that is running as one that is cancelled: the signal of its first round is this request's own, which is still to be answered. */
async function cancelRunning(core: Core, call: Call): Promise<void> {
  try {
    await dispatchRound(core, { ...call, options: { ...call.options, signal: AbortSignal.abort() } });
  } catch {
    // That it was cancelled.
  }
}

/** Why a question has no answer, for the handler that waits for it. */
function rpcOf(error: unknown): JsonObject {
  if (error instanceof NoAnswer) return error.rpc;
  if (error instanceof Fault) return rpcError(error.message);
  throw error;
}

/** Remembers which lists the client was given, here and at the other nodes. */
function recordListsOf(session: Session, caller: Caller): (lists: Lists, list: keyof Lists) => void {
  return (lists, list) => {
    session.subscriptionsFor(caller).recordList(lists, list);
    session.nodes?.notifyListSent(session, list, lists[list]);
  };
}

function refuseToAsk(core: Core, call: Call, missing: readonly string[]): Members {
  if (!core.settings.dialect.handlerErrors) return cannotAsk(call, missing);
  throw new Fault("INVALID_REQUEST", `This needs a client that accepts questions (${missing.join(", ")}).`, { reason: "input-required" });
}

/** `running`: the call may have done something before its questions. */
function unanswered(call: Call, error: unknown, running: boolean): Members {
  if (!(error instanceof NoAnswer) && !(error instanceof Fault)) throw error;
  // An answer that is not valid is a fault of the protocol; for the caller of the tool it is as if none had been given.
  const code = error instanceof NoAnswer ? error.code : error.kind === "CAPABILITY" ? "CAPABILITY" : "CANNOT_ASK";
  const why = { code, applied: running ? "unknown" : false };
  const done = running ? "What it did until then may stay." : "Nothing was applied.";
  if (call.method === "tools/call") return { members: toolError(`${error.message} ${done}`), meta: { [REFUSED_META]: why } };
  throw error instanceof Fault ? error : new Fault("REFUSED", error.message, { data: why });
}

export function answeredText({ settings }: Core, request: Request, answered: Exclude<Answered, undefined>): string | ReplyText {
  return "error" in answered ? errorText(request.id, answered.error, "legacy", settings.dialect.faults) : answered;
}
