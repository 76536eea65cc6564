import { type Bag, type Caller, changedSession, type Json, type Observer, type SessionChange } from "../../../core/contract/index.ts";
import { type Aside, isLogLevel, logTo, progressTo } from "../aside.ts";
import { type Call, isListMethod, type Members, type Outcome, REFUSED_META, withAnswers } from "../call.ts";
import { toolError } from "../content.ts";
import { type Core, draining } from "../core.ts";
import { callKey, metaOf, traceOf } from "../envelope.ts";
import { Fault } from "../errors.ts";
import { shortText } from "../json.ts";
import { errorText, type Notification, type Request } from "../json-rpc.ts";
import { cannotAsk } from "../methods/cannot-ask.ts";
import { faultFailure, observed, replyFailure } from "../observed.ts";
import { hasOwn, MAX_URI } from "../../../core/contract/internal.ts";
import { checkAnswer, questionsOf, shapeQuestion, unmet } from "../questions.ts";
import { offeredTo } from "../offered.ts";
import { legacyReply, type ReplyText } from "../reply.ts";
import { discoverMembers } from "../modern/discover.ts";
import { requestFault } from "../fault-answers.ts";
import { Running } from "../running.ts";
import { subscribable } from "../subscribable.ts";
import { GivenUp } from "../unfinished.ts";
import type { Lists } from "../../source/index.ts";
import { NoAnswer } from "./client-requests.ts";
import { initializeMembers } from "./initialize.ts";
import type { Session } from "./session.ts";
import { performTaskRequest } from "./tasks.ts";

/** The way out for one request: messages before its reply, also requests to the client. */
export interface LegacyAside extends Aside {
  ask(message: Bag): void;
}

export interface Asking {
  readonly caller: Caller;
  readonly aside: LegacyAside;
  readonly idempotencyKey: string | undefined;
  /** Reply and notifications share one ordered stream. */
  readonly ordered: boolean;
  /** The trace that the call goes on in; absent: its client's. */
  readonly trace?: Bag | undefined;
}

/** A reply as it goes out; undefined: the request was cancelled, and nobody waits for one. */
export type Answered = ReplyText | { readonly error: Fault } | undefined;

// What waits is apart, here and below: what a function closes over it puts on the heap each time it is entered.
/** Answers one request of an initialized session. Never throws. */
export function performLegacy(core: Core, session: Session, request: Request, asking: Asking): Answered | Promise<Answered> {
  const { observer } = core.settings;
  return observer === undefined ? perform(core, session, request, asking) : performObserved(core, observer, session, request, asking);
}

function performObserved(core: Core, observer: Observer, session: Session, request: Request, asking: Asking): Answered | Promise<Answered> {
  return observed<Answered>(
    core,
    observer,
    { request, era: "legacy", caller: asking.caller, revision: session.revision, session: session.name },
    (trace) => perform(core, session, request, { ...asking, trace }),
    (answered) =>
      answered !== undefined && "error" in answered ? faultFailure(core, "legacy", answered.error) : replyFailure(request, answered),
  );
}

function perform(core: Core, session: Session, request: Request, asking: Asking): Answered | Promise<Answered> {
  const running = begin(core, session, request);
  if (running instanceof Fault) return { error: running };
  try {
    const result = resultOf(core, session, request, asking, running);
    if (asking.ordered && (result instanceof Promise || session.told?.pending === true))
      return answeredLater(core, session, request, running, settled(session, result));
    if (result instanceof Promise) return answeredLater(core, session, request, running, result);
    return ended(core, session, request, running, result);
  } catch (error) {
    return failed(core, session, request, running, error);
  }
}

function answeredLater(core: Core, session: Session, request: Request, running: Running, late: Promise<Members>): Promise<Answered> {
  return core.unfinished.within(late, running).then(
    (members) => ended(core, session, request, running, members),
    (error: unknown) => failed(core, session, request, running, error),
  );
}

function ended(core: Core, session: Session, request: Request, running: Running, members: Members): Answered {
  session.running.delete(running);
  if (running.aborted) return undefined;
  try {
    return legacyReply(request.id, members);
  } catch (error) {
    return failed(core, session, request, running, error);
  }
}

function failed(core: Core, session: Session, request: Request, running: Running, error: unknown): Answered {
  session.running.delete(running);
  if (running.aborted) return undefined;
  if (error instanceof GivenUp) running.abort();
  return { error: requestFault(core, request.method, error) };
}

// C8: on one stream the notification comes before the reply of the call that caused it.
async function settled(session: Session, result: Members | Promise<Members>): Promise<Members> {
  const members = result instanceof Promise ? await result : result;
  if (session.told?.pending === true) await session.told.settle();
  return members;
}

function begin(core: Core, session: Session, request: Request): Running | Fault {
  if (core.work.closed) return draining();
  const { running } = session;
  if (running.get(request.id) !== undefined) return new Fault("ID_IN_USE", "A request with this id is still running.");
  if (running.size >= core.settings.limits.inFlight) return new Fault("BUSY", "Too many requests of this session run at once.");
  const one = new Running(request.id);
  running.add(one);
  return one;
}

function resultOf(core: Core, session: Session, request: Request, asking: Asking, running: Running): Members | Promise<Members> {
  const own = OWN_METHODS.get(request.method);
  if (own !== undefined) {
    core.limit(asking.caller, session.viewerFor(asking.caller));
    if (core.settings.profile.withholds.includes(request.method)) throw new Fault("METHOD", `Method not found: ${request.method}`);
    return own(core, session, request, asking, running);
  }
  if (core.settings.profile.refusesTasks && "task" in request.params)
    throw new Fault("METHOD", "Method not found: there are no tasks here.", { reason: "task-argument" });
  if (asking.ordered && session.started !== undefined) return onceStarted(core, session, session.started, request, asking, running);
  return performed(core, session, callOf(session, request, asking, running), asking, running);
}

async function onceStarted(
  core: Core,
  session: Session,
  started: Promise<void>,
  request: Request,
  asking: Asking,
  running: Running,
): Promise<Members> {
  await started;
  session.started = undefined;
  return performed(core, session, callOf(session, request, asking, running), asking, running);
}

function callOf(session: Session, request: Request, asking: Asking, running: Running): Call {
  const meta = metaOf(request.params);
  return {
    method: request.method,
    params: request.params,
    id: request.id,
    revision: session.revision,
    viewer: session.viewerFor(asking.caller),
    source: session.source,
    posture: session.posture,
    options: {
      key: callKey(meta, asking.idempotencyKey),
      peer: asking.caller.peer,
      can: session.can,
      trace: asking.trace ?? traceOf(meta),
      signal: running,
      onProgress: progressTo(asking.aside, request.params, session.revision, running),
      onLog: logTo(asking.aside, session, running),
    },
    onListed: isListMethod(request.method) ? showingTo(session, asking.caller) : undefined,
    checkArguments: undefined,
  };
}

function showingTo(session: Session, caller: Caller): (lists: Lists, list: keyof Lists) => void {
  return (lists, list) => {
    session.audience(caller).saw(lists, list);
    session.nodes?.shown(session, list, lists[list]);
  };
}

function performed(core: Core, session: Session, call: Call, asking: Asking, running: Running): Members | Promise<Members> {
  const outcome = core.serve(call, asking.caller);
  return outcome instanceof Promise || hasOwn(outcome, "needs") ? performedLater(core, session, call, asking, running, outcome) : outcome;
}

async function performedLater(
  core: Core,
  session: Session,
  call: Call,
  asking: Asking,
  running: Running,
  late: Outcome | Promise<Outcome>,
): Promise<Members> {
  const outcome = await late;
  return hasOwn(outcome, "needs") ? afterAsking(core, session, call, asking, running, outcome.needs) : outcome;
}

// What the domain needs is asked of the client; the call then runs again from the top with all answers so far.
async function afterAsking(core: Core, session: Session, call: Call, asking: Asking, running: Running, first: Bag): Promise<Members> {
  let answers: Record<string, Json> = {};
  let needs = first;
  for (let round = 0; round < core.settings.limits.rounds; round += 1) {
    const questions = questionsOf(needs);
    const missing = unmet(questions, session.can);
    if (missing.length > 0) return notAsked(core, call, missing);
    try {
      // All are looked at before the first is asked: a person is asked nothing in vain.
      const shaped = Array.from(questions, ([key, question]) => {
        return { key, ...question, params: shapeQuestion(question, session.revision, () => core.settings.entropy.uuid()) };
      });
      for (const { key, method, params } of shaped) {
        const answer = await session.requests.ask(method, params, (message) => asking.aside.ask(message), running);
        answers = { ...answers, [key]: checkAnswer(key, answer, method, core.settings.limits.answerLength) };
      }
    } catch (error) {
      return unanswered(call, error);
    }
    const outcome = await core.serve(withAnswers(call, answers), asking.caller);
    if (!hasOwn(outcome, "needs")) return outcome;
    needs = outcome.needs;
  }
  return unanswered(call, new NoAnswer("CANNOT_ASK", `After ${core.settings.limits.rounds} rounds of questions this call still has some.`));
}

function notAsked(core: Core, call: Call, missing: readonly string[]): Members {
  if (!core.settings.profile.handlerErrors) return cannotAsk(call, missing);
  throw new Fault("INVALID_REQUEST", `This needs a client that can be asked (${missing.join(", ")}).`, { reason: "input-required" });
}

function unanswered(call: Call, error: unknown): Members {
  if (!(error instanceof NoAnswer) && !(error instanceof Fault)) throw error;
  // A client's answer that cannot be taken is a fault of the protocol; to whoever called the tool, nobody was asked.
  const code = error instanceof NoAnswer ? error.code : error.kind === "CAPABILITY" ? "CAPABILITY" : "CANNOT_ASK";
  const why = { code, applied: false };
  if (call.method === "tools/call") return { members: toolError(`${error.message} Nothing was applied.`), meta: { [REFUSED_META]: why } };
  throw error instanceof Fault ? error : new Fault("REFUSED", error.message, { data: why });
}

type OwnMethod = (core: Core, session: Session, request: Request, asking: Asking, running: Running) => Members | Promise<Members>;

const taskRequest: OwnMethod = (core, session, request, { caller, aside }, running) => {
  const viewer = session.viewerFor(caller);
  return performTaskRequest({ core, session, request, viewer, running, ask: (message) => aside.ask(message) });
};

const NOTHING: Members = { members: "" };

/** What only legacy revisions have. */
const OWN_METHODS: ReadonlyMap<string, OwnMethod> = new Map(
  Object.entries<OwnMethod>({
    ping: () => NOTHING,
    "tasks/get": taskRequest,
    "tasks/result": taskRequest,
    "tasks/list": taskRequest,
    "tasks/cancel": taskRequest,
    async initialize(core, session, request, { caller }) {
      // A batch may begin with it, in a session that began with the batch.
      if (core.settings.profile.batches === "all")
        return {
          members: initializeMembers(core, session.revision, await offeredTo(core.settings, session.source, session.viewerFor(caller))),
        };
      throw new Fault("INVALID_REQUEST", "This session is initialized already.");
    },
    async "server/discover"(core, session, request, { caller }) {
      if (!core.settings.profile.discoversInSessions) throw new Fault("METHOD", `Method not found: ${request.method}`);
      return { members: await discoverMembers(core.settings, session.source, session.viewerFor(caller)), meta: core.serverMeta };
    },
    async "logging/setLevel"(core, session, request) {
      const { level } = request.params;
      if (!isLogLevel(level))
        throw new Fault("PARAMS", "The level is one of debug, info, notice, warning, error, critical, alert, emergency.");
      await keep(core, session, { logLevel: level });
      return NOTHING;
    },
    async "resources/subscribe"(core, session, request, { caller }) {
      const uri = uriOf(request);
      const { source } = session;
      const viewer = session.viewerFor(caller);
      const target = await subscribable(source, viewer, await source.surface(viewer), uri);
      if (target === undefined) throw new Fault("RESOURCE_NOT_FOUND", "Resource not found", { data: { uri } });
      if (known(session, uri) === true) return NOTHING;
      checkSubscriptions(core, [...session.row.subscriptions, uri]);
      session.audience(caller).subscribe(uri, target);
      await keep(core, session, { subscribe: uri });
      return NOTHING;
    },
    async "resources/unsubscribe"(core, session, request) {
      const uri = uriOf(request);
      session.told?.unsubscribe(uri);
      if (known(session, uri) !== false) await keep(core, session, { unsubscribe: uri });
      return NOTHING;
    },
  }),
);

// Their length counts, too: some stores write a session whole with each of them.
function checkSubscriptions({ settings }: Core, uris: readonly string[]): void {
  const { subscriptions: most, subscriptionLength: longest } = settings.limits;
  if (uris.length > most) throw new Fault("BUSY", `A session may subscribe to ${most} resources; unsubscribe from some first.`);
  if (uris.reduce((sum, { length }) => sum + length, 0) > longest)
    throw new Fault("BUSY", `The URIs a session subscribes to may have ${longest} characters in all; unsubscribe from some first.`);
}

// Undefined where another node may have changed that a moment ago.
function known({ nodes, row }: Session, uri: string): boolean | undefined {
  return nodes === undefined ? row.subscriptions.includes(uri) : undefined;
}

// A connection's session ends with it; only one that a client can come back to is kept.
async function keep(core: Core, session: Session, change: SessionChange): Promise<void> {
  if (session.nodes !== undefined) return session.nodes.rows.change(session, change);
  const before = session.row;
  const changed = changedSession(before, change);
  if (changed === before) return;
  session.row = changed;
  // Written once more, a session that its client has ended would be there again.
  if (!session.kept || session.closed) return;
  const { sessions } = core.settings;
  if (sessions.change === undefined) return sessions.put(changed);
  // Not `put`: the row may be long, and a short request must not have all of it written.
  try {
    await sessions.change(changed.id, change);
  } catch (error) {
    // The client will try again, and then it must be written: no later change writes it as well.
    if (session.row === changed) session.row = before;
    throw error;
  }
}

function uriOf(request: Request): string {
  const uri = shortText(request.params["uri"], MAX_URI);
  if (uri === undefined) throw new Fault("PARAMS", `${request.method} needs a uri: text of 1 to ${MAX_URI} characters.`);
  return uri;
}

/** `notifications/cancelled`: the request is aborted and gets no reply. False: no such request runs here; it is ignored. */
export function noticed(session: Session, notification: Notification): boolean {
  if (notification.method !== "notifications/cancelled") return true;
  const { requestId } = notification.params;
  if (typeof requestId !== "string" && typeof requestId !== "number") return true;
  const running = session.running.get(requestId);
  running?.abort();
  return running !== undefined;
}

export function answeredText({ settings }: Core, request: Request, answered: Exclude<Answered, undefined>): string | ReplyText {
  return "error" in answered ? errorText(request.id, answered.error, "legacy", settings.profile.faults) : answered;
}
