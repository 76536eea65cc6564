// Owns: one request of 2026-07-28 on its way to its reply: envelope and headers, dispatch, and the rounds in which it asks its client for
// input. Does not own: the steps of a method (dispatch.ts), `subscriptions/listen` (listen.ts), and the transport.
import {
  type JsonObject,
  type CancelSignal,
  type Caller,
  type Exchange,
  isJsonObject,
  type Json,
  type Source,
} from "../../../core/contract/index.ts";
import { canonical, getOwn, hasOwn, andThen, andThenElse } from "../../../core/contract/internal.ts";
import { base64urlOf, fromBase64, hmacSha256, sameBytes, sha256Base64url, textOf, utf8Of } from "../../../core/platform/index.ts";
import { ActiveRequest, GivenUp, logTo, type OutOfBandChannel, progressTo } from "../active-requests.ts";
import { discoverMembers } from "../capabilities.ts";
import { type Call, methodNotFound, type Outcome, withAnswers } from "../call.ts";
import { type Core, viewerOf } from "../core.ts";
import { dispatch, dispatchRound } from "../dispatch.ts";
import { callKey, checkServed, claimedVersion, type Envelope, openEnvelope, traceOf } from "../envelope.ts";
import { Fault, requestFault } from "../errors.ts";
import { objectIn, EMPTY, type Request } from "../json-rpc.ts";
import { observe, type RequestObserver, UNOBSERVED } from "../observer.ts";
import type { Settings } from "../options.ts";
import { type AskMethod, cannotAsk, checkAnswer, isAskMethod, questionsOf, shapeQuestion, unmet } from "../question-shapes.ts";
import { cacheHints, modernReply, type ReplyText } from "../result-shapes.ts";
import { checkParamHeaders, checkStandardHeaders, checkVersionHeader } from "./headers.ts";

const MOST_ANSWERS = 64;

/** How a request came in. */
export interface ModernOrigin {
  readonly caller: Caller;
  readonly source: Source;
  readonly channel: OutOfBandChannel;
  /** Over HTTP only, where headers repeat what the body contains. */
  readonly header?: Exchange["header"];
  /** Over HTTP only: aborted when the client has left. */
  readonly disconnected?: CancelSignal;
}

/** Checks what must hold of a request before it is performed. Throws faults in the order that clients rely on. */
export function openRequest({ settings }: Core, request: Request, header: Exchange["header"] | undefined): Envelope {
  const claimed = claimedVersion(request.params);
  if (header !== undefined && claimed !== undefined) checkVersionHeader(header, claimed);
  else if (header !== undefined) checkServed(header, settings.dialect.supported);
  const envelope = openEnvelope(request.params, settings.dialect.supported);
  if (header !== undefined) checkStandardHeaders(header, request, settings.dialect.namesFirst, settings.tasks);
  return envelope;
}

/** Without a principal, lists are the whole catalogue: they may vary by authorization and by nothing else. */
export function listModeOf(core: Core, caller: Caller): "dynamic" | "static" {
  return core.settings.modernListMode === "dynamic" && caller.principal !== undefined ? "dynamic" : "static";
}

/** Undefined: the request was cancelled. */
export type ModernReply = ReplyText | undefined;

/**
 * Any request but `subscriptions/listen`. Aborted when its client has left or cancelled it: nothing happens then up to the commit. Without
 * private members, like `SessionRequest`.
 */
export class ModernRequest extends ActiveRequest {
  readonly core: Core;
  readonly request: Request;
  readonly origin: ModernOrigin;
  seen: RequestObserver = UNOBSERVED;
  /** Whether the client's leaving aborts it: only once something listens to it. */
  follows = false;
  /** Of its call: how many rounds after this one take no token of their own. */
  roundsLeft: number;

  constructor(core: Core, request: Request, origin: ModernOrigin) {
    super(request.id);
    this.core = core;
    this.roundsLeft = core.settings.limits.rounds;
    this.request = request;
    this.origin = origin;
  }

  override get aborted(): boolean {
    return super.aborted || this.origin.disconnected?.aborted === true;
  }

  override addEventListener(type: "abort", listener: () => void): void {
    super.addEventListener(type, listener);
    if (this.follows || this.origin.disconnected === undefined) return;
    this.follows = true;
    this.origin.disconnected.addEventListener("abort", () => this.abort(), { once: true });
  }

  /** Throws, or rejects with, a `Fault`. */
  perform(): ModernReply | Promise<ModernReply> {
    this.seen = observe(this.core, this.request, "modern", this.origin.caller, undefined);
    return this.seen.during(this);
  }

  run(): ModernReply | Promise<ModernReply> {
    const { core, request, origin } = this;
    try {
      core.admit();
      const envelope = openRequest(core, request, origin.header);
      return andThenElse(core.pending.within(replyTo(this, envelope), this), replied, fail, this);
    } catch (error) {
      return fail(error, this);
    }
  }
}

function replied(reply: ModernReply, { seen }: ModernRequest): ModernReply {
  seen.replied(reply);
  return reply;
}

function fail(error: unknown, one: ModernRequest): undefined {
  if (one.aborted) {
    one.seen.replied(undefined);
    return undefined;
  }
  if (error instanceof GivenUp) one.abort();
  const fault = requestFault(one.core, one.request.method, error);
  one.seen.failed(fault);
  throw fault;
}

function replyTo(one: ModernRequest, envelope: Envelope): ModernReply | Promise<ModernReply> {
  const { core, request, origin } = one;
  const { method, params } = request;
  if (method === "server/discover") return discover(one);
  if (!core.methods.has(method) || (core.settings.dialect.refusesTasks && "task" in params)) throw methodNotFound(method);
  const call = callOf(one, envelope);
  const remembered = rememberedIn(core, call);
  const answers = remembered === "foreign" ? undefined : answersOf(core, call, remembered);
  const answered = answers === undefined ? call : withAnswers(call, answers);
  const outcome = isFurtherRound(one) ? dispatchRound(core, answered) : dispatch(core, answered, origin.caller);
  return andThen(outcome, encode, one, call, answers);
}

/** The call has its token since its first round. Each `requestState` counts once: it may be sent as often as its client likes. */
function isFurtherRound(one: ModernRequest): boolean {
  const { requestState } = one.request.params;
  if (typeof requestState !== "string") return false;
  const { openCalls } = one.core;
  const signature = requestState.slice(requestState.indexOf(".") + 1);
  const left = openCalls.get(signature);
  if (left === undefined) return false;
  openCalls.delete(signature);
  one.roundsLeft = left;
  return true;
}

function discover({ core, request, origin }: ModernRequest): ModernReply | Promise<ModernReply> {
  const { settings, serverMeta, limit } = core;
  limit(origin.caller);
  const hints = cacheHints(settings, "server/discover", request.params, true);
  return andThen(discoverMembers(settings, origin.source, viewerOf(origin.caller, undefined)), (members: string) =>
    modernReply(request.id, { members }, "complete", hints, serverMeta),
  );
}

function encode(outcome: Outcome, { core, aborted, roundsLeft }: ModernRequest, call: Call, answers: JsonObject | undefined): ModernReply {
  if (aborted) return undefined;
  if (hasOwn(outcome, "needs")) return inputRequired(core, call, outcome.needs, answers ?? EMPTY, roundsLeft);
  const hints = cacheHints(core.settings, call.method, call.params, outcome.lasting === true);
  return modernReply(call.id, outcome, outcome.task === true ? "task" : "complete", hints, core.serverMeta);
}

function callOf(one: ModernRequest, envelope: Envelope): Call {
  const { method, params, id } = one.request;
  const { caller, source, channel, header } = one.origin;
  const { logLevel, revision, can, meta } = envelope;
  return {
    method,
    params,
    id,
    revision,
    viewer: viewerOf(caller, undefined),
    source,
    listMode: listModeOf(one.core, caller),
    options: {
      key: callKey(meta, header?.("idempotency-key")),
      peer: caller.peer,
      onReceipt: caller.onReceipt,
      onHandled: caller.onHandled,
      can,
      trace: one.seen.trace ?? traceOf(meta),
      signal: one,
      onProgress: progressTo(channel, params, revision, one),
      onLog: logLevel === undefined ? undefined : logTo(channel, { logLevel }, one),
    },
    checkArguments: header === undefined ? undefined : (offer, args) => checkParamHeaders(header, offer, args),
    onListed: undefined,
  };
}

function rememberedIn(core: Core, call: Call): Remembered | "foreign" | undefined {
  const state = call.params["requestState"] ?? undefined;
  if (state === undefined) return undefined;
  if (typeof state !== "string") throw new Fault("STATE", "requestState is text this server gave.");
  try {
    return openState(core.settings, call, state);
  } catch (error) {
    if (core.settings.dialect.ignoresStates) return "foreign";
    throw error;
  }
}

// An answer to no question is ignored. The turn itself repeats a question that has no answer.
function answersOf(core: Core, { method, params }: Call, remembered: Remembered | undefined): JsonObject | undefined {
  const given = params["inputResponses"] ?? undefined;
  // Those of `tasks/update` belong to the task.
  if (given === undefined || method === "tasks/update") return remembered?.answers;
  const responses = objectIn(params, "inputResponses");
  if (responses === undefined || Object.keys(responses).length > MOST_ANSWERS)
    throw new Fault("PARAMS", `inputResponses is an object of at most ${MOST_ANSWERS} answers.`);
  const answers: [string, Json][] = [];
  for (const [key, answer] of Object.entries(responses)) {
    const question = getOwn(remembered?.questions, key);
    if (remembered !== undefined && question === undefined) continue;
    answers.push([key, checkAnswer(key, answer, question, core.settings.limits.answerLength)]);
  }
  return { ...remembered?.answers, ...Object.fromEntries(answers) };
}

function inputRequired(core: Core, call: Call, needs: JsonObject, answers: JsonObject, roundsLeft: number): ReplyText {
  const questions = questionsOf(needs);
  const missing = unmet(questions, call.options.can);
  if (missing.length > 0) cannotAsk(call, missing);
  const entries = Array.from(questions);
  const inputRequests = Object.fromEntries(
    entries.map(([key, question]) => [
      key,
      { method: question.method, params: shapeQuestion(question, call.revision, () => core.settings.entropy.uuid()) },
    ]),
  );
  const methods = Object.fromEntries(entries.map(([key, { method }]) => [key, method]));
  const { requestState, signature } = sealState(core.settings, call, { answers, questions: methods });
  if (roundsLeft > 0) core.openCalls.set(signature, roundsLeft - 1);
  const members = `"inputRequests":${JSON.stringify(inputRequests)},"requestState":"${requestState}"`;
  return modernReply(call.id, { members }, "input_required", "", core.serverMeta);
}

/** What a call remembers between its rounds, in its client's hands. */
interface Remembered {
  /** The answers of earlier rounds, by key. */
  readonly answers: JsonObject;
  /** The methods of the questions of the last round, by key. */
  readonly questions: Readonly<Record<string, AskMethod>>;
}

/**
 * Signed, not encrypted: the client gave these answers itself. It is valid for one principal, one request and a limited time, and can be
 * used more than once: what must happen only once needs a key.
 */
function sealState(
  settings: Settings,
  call: Call,
  { answers, questions }: Remembered,
): { readonly requestState: string; readonly signature: string } {
  const until = settings.clock.now() + settings.limits.stateMs;
  const payload = base64urlOf(utf8Of(JSON.stringify({ until, of: boundTo(call), answers, asked: questions })));
  const signature = sign(settings, payload);
  return { requestState: `${payload}.${signature}`, signature };
}

const rejected = (why: string): Fault => new Fault("STATE", `This requestState ${why}; call again without it.`);

/** Throws `STATE` unless it was sealed here, for this caller and request, and not too long ago. */
function openState(settings: Settings, call: Call, state: string): Remembered {
  const dot = state.indexOf(".");
  const payload = state.slice(0, dot);
  const signature = utf8Of(sign(settings, payload));
  if (dot === -1 || !sameBytes(utf8Of(state.slice(dot + 1)), signature)) throw rejected("is not one of this server");
  const content: unknown = JSON.parse(textOf(fromBase64(payload)) ?? "null");
  if (!isJsonObject(content)) throw rejected("is not one of this server");
  const { until, of, answers, asked } = content;
  if (typeof until !== "number" || until < settings.clock.now()) throw rejected("has expired");
  if (of !== boundTo(call)) throw rejected("belongs to another request");
  return { answers: isJsonObject(answers) ? answers : EMPTY, questions: methodsIn(asked) };
}

function methodsIn(questions: Json | undefined): Record<string, AskMethod> {
  const found: [string, AskMethod][] = isJsonObject(questions)
    ? Object.entries(questions).flatMap(([key, method]) => (isAskMethod(method) ? [[key, method]] : []))
    : [];
  return Object.fromEntries(found);
}

function boundTo(call: Call): string {
  const { name, uri, arguments: args } = call.params;
  const about = [call.viewer.principal ?? null, call.method, name ?? uri ?? null, canonical(args ?? EMPTY)];
  return sha256Base64url(JSON.stringify(about));
}

function sign(settings: Settings, payload: string): string {
  return base64urlOf(hmacSha256(settings.requestStateKey, "troupe requestState\n", payload));
}
