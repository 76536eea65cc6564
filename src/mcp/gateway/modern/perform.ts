import type { Bag, Caller, Exchange, Json, Observer, Source } from "../../../core/contract/index.ts";
import { hasOwn, getOwn } from "../../../core/contract/internal.ts";
import { type Aside, logTo, progressTo } from "../aside.ts";
import { type Call, type Members, type Outcome, withAnswers } from "../call.ts";
import { cacheHints } from "../cache-hints.ts";
import { type Core, viewerOf } from "../core.ts";
import { callKey, traceOf } from "../envelope.ts";
import { Fault } from "../errors.ts";
import { bagIn, EMPTY } from "../json.ts";
import type { Request } from "../json-rpc.ts";
import { cannotAsk } from "../methods/cannot-ask.ts";
import { observed, replyFailure } from "../observed.ts";
import { checkAnswer, questionsOf, shapeQuestion, unmet } from "../questions.ts";
import { modernReply, type ReplyText } from "../reply.ts";
import { requestFault } from "../fault-answers.ts";
import { isModernRevision } from "../revision.ts";
import type { Running } from "../running.ts";
import { GivenUp } from "../unfinished.ts";
import { discoverMembers } from "./discover.ts";
import { checkServed, claimedVersion, type Envelope, openEnvelope } from "./envelope.ts";
import { checkParamHeaders, checkStandardHeaders, checkVersionHeader } from "./headers.ts";
import { openState, type Remembered, sealState } from "./request-state.ts";

export interface ModernAsking {
  readonly caller: Caller;
  readonly source: Source;
  readonly aside: Aside;
  /** The client is gone or cancelled: up to the commit nothing happens. Aborted here too, where the server closes. */
  readonly signal: Running;
  /** Only over HTTP: headers repeat what the body says. */
  readonly header?: Exchange["header"];
  /** The trace that the call goes on in; absent: its client's. */
  readonly trace?: Bag | undefined;
}

/** Everything a modern request must be before it is performed. Throws faults in the order clients rely on. */
export function openRequest({ settings }: Core, request: Request, header: Exchange["header"] | undefined): Envelope {
  const claimed = claimedVersion(request.params);
  if (header !== undefined && claimed !== undefined) checkVersionHeader(header, claimed);
  else if (header !== undefined) checkServed(header, settings.profile.supported);
  const envelope = openEnvelope(request.params, settings.profile.supported);
  if (header !== undefined) checkStandardHeaders(header, request, settings.profile.namesFirst, settings.tasks);
  return envelope;
}

/** Performs one modern request but `subscriptions/listen`. Throws, or rejects with, a `Fault`; undefined: it was cancelled. */
export function performModern(core: Core, request: Request, asking: ModernAsking): ReplyText | undefined | Promise<ReplyText | undefined> {
  const { observer } = core.settings;
  return observer === undefined ? perform(core, request, asking) : performObserved(core, observer, request, asking);
}

function performObserved(
  core: Core,
  observer: Observer,
  request: Request,
  asking: ModernAsking,
): ReplyText | undefined | Promise<ReplyText | undefined> {
  const claimed = claimedVersion(request.params);
  const revision = claimed !== undefined && isModernRevision(claimed) ? claimed : undefined;
  return observed(
    core,
    observer,
    { request, era: "modern", caller: asking.caller, revision, session: undefined },
    (trace) => perform(core, request, { ...asking, trace }),
    (text) => replyFailure(request, text),
  );
}

function perform(core: Core, request: Request, asking: ModernAsking): ReplyText | undefined | Promise<ReplyText | undefined> {
  const failed = (error: unknown): undefined => {
    if (asking.signal.aborted) return undefined;
    if (error instanceof GivenUp) asking.signal.abort();
    throw requestFault(core, request.method, error);
  };
  try {
    core.admit();
    const envelope = openRequest(core, request, asking.header);
    if (request.method === "server/discover") {
      const found = discover(core, request, asking);
      return found instanceof Promise ? core.unfinished.within(found, asking.signal).catch(failed) : found;
    }
    if (!core.knows(request.method) || (core.settings.profile.refusesTasks && "task" in request.params))
      throw new Fault("METHOD", `Method not found: ${request.method}`);
    const replied = reply(core, request, envelope, asking);
    return replied instanceof Promise ? core.unfinished.within(replied, asking.signal).catch(failed) : replied;
  } catch (error) {
    return failed(error);
  }
}

function discover(core: Core, request: Request, { caller, source }: ModernAsking): ReplyText | Promise<ReplyText> {
  core.limit(caller);
  const hints = cacheHints(core.settings, request.method, request.params, true);
  const told = (members: string): ReplyText => modernReply(request.id, { members }, "complete", hints, core.serverMeta);
  const members = discoverMembers(core.settings, source, viewerOf(caller, undefined));
  return members instanceof Promise ? members.then(told) : told(members);
}

function reply(
  core: Core,
  request: Request,
  envelope: Envelope,
  asking: ModernAsking,
): ReplyText | undefined | Promise<ReplyText | undefined> {
  const call = callOf(core, request, envelope, asking);
  const remembered = rememberedIn(core, call);
  const answers = remembered === "foreign" ? undefined : answersOf(core, request, remembered);
  const told = (outcome: Outcome): ReplyText | undefined => {
    if (asking.signal.aborted) return undefined;
    if (hasOwn(outcome, "needs")) return inputRequired(core, call, outcome.needs, answers ?? EMPTY);
    return modernReply(
      request.id,
      outcome,
      outcome.task === true ? "task" : "complete",
      cacheHints(core.settings, call.method, call.params, outcome.lasting === true),
      core.serverMeta,
    );
  };
  const outcome = core.serve(answers === undefined ? call : withAnswers(call, answers), asking.caller);
  return outcome instanceof Promise ? outcome.then(told) : told(outcome);
}

function callOf(core: Core, request: Request, envelope: Envelope, asking: ModernAsking): Call {
  const { header } = asking;
  const { logLevel } = envelope;
  return {
    method: request.method,
    params: request.params,
    id: request.id,
    revision: envelope.revision,
    viewer: viewerOf(asking.caller, undefined),
    source: asking.source,
    posture: postureOf(core, asking.caller),
    options: {
      key: callKey(envelope.meta, header?.("idempotency-key")),
      peer: asking.caller.peer,
      can: envelope.can,
      trace: asking.trace ?? traceOf(envelope.meta),
      signal: asking.signal,
      onProgress: progressTo(asking.aside, request.params, envelope.revision, asking.signal),
      onLog: logLevel === undefined ? undefined : logTo(asking.aside, { logLevel }, asking.signal),
    },
    checkArguments: header === undefined ? undefined : (offer, args) => checkParamHeaders(header, offer, args),
    onListed: undefined,
  };
}

/** Lists may vary by authorization and by nothing else: without a principal they are the whole catalogue. */
export function postureOf(core: Core, caller: Caller): "dynamic" | "gated" {
  return core.settings.modernPosture === "dynamic" && caller.principal !== undefined ? "dynamic" : "gated";
}

function rememberedIn(core: Core, call: Call): Remembered | "foreign" | undefined {
  const state = call.params["requestState"] ?? undefined;
  if (state === undefined) return undefined;
  if (typeof state !== "string") throw new Fault("STATE", "requestState is text this server gave.");
  try {
    return openState(core.settings, call, state);
  } catch (error) {
    if (core.settings.profile.ignoresStates) return "foreign";
    throw error;
  }
}

// What was not asked is ignored; what was asked and is missing is asked again, by the turn itself.
function answersOf(core: Core, request: Request, remembered: Remembered | undefined): Bag | undefined {
  const given = request.params["inputResponses"] ?? undefined;
  // A task's are its own.
  if (given === undefined || request.method === "tasks/update") return remembered?.answers;
  const responses = bagIn(request.params, "inputResponses");
  if (responses === undefined || Object.keys(responses).length > 64)
    throw new Fault("PARAMS", "inputResponses is an object of at most 64 answers.");
  const answers: [string, Json][] = [];
  for (const [key, answer] of Object.entries(responses)) {
    const method = getOwn(remembered?.asked, key);
    if (remembered !== undefined && method === undefined) continue;
    answers.push([key, checkAnswer(key, answer, method, core.settings.limits.answerLength)]);
  }
  return { ...remembered?.answers, ...Object.fromEntries(answers) };
}

function inputRequired(core: Core, call: Call, needs: Bag, answers: Bag): ReplyText {
  const questions = questionsOf(needs);
  const missing = unmet(questions, call.options.can);
  if (missing.length > 0) cannotAsk(call, missing);
  const inputRequests = Object.fromEntries(
    [...questions].map(([key, question]) => [
      key,
      { method: question.method, params: shapeQuestion(question, call.revision, () => core.settings.entropy.uuid()) },
    ]),
  );
  const asked = Object.fromEntries([...questions].map(([key, question]) => [key, question.method]));
  const requestState = sealState(core.settings, call, { answers, asked });
  const outcome: Members = { members: `"inputRequests":${JSON.stringify(inputRequests)},"requestState":"${requestState}"` };
  return modernReply(call.id, outcome, "input_required", "", core.serverMeta);
}
