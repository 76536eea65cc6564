// Owns: the methods that only sessions have, the changes of a session's row that they make, and requests about tasks in the shapes of
// 2025-11-25. Does not own: a task's life (tasks.ts); the tasks are those of the 2026-07-28 extension.
import {
  type JsonObject,
  Cancellation,
  changedSession,
  isJsonObject,
  type Json,
  type SessionChange,
} from "../../../core/contract/index.ts";
import { counted, MAX_URI } from "../../../core/contract/internal.ts";
import { discoverMembers, initializeMembers, offeredTo } from "../capabilities.ts";
import { type Members, methodNotFound } from "../call.ts";
import type { Core } from "../core.ts";
import { Fault, faultFromWire } from "../errors.ts";
import { type Request, shortText } from "../json-rpc.ts";
import { subscribable } from "../find-offer.ts";
import { isLogLevel } from "../active-requests.ts";
import { checkAnswer, type Question, shapeQuestion } from "../question-shapes.ts";
import { has } from "../revision.ts";
import { legacyTask, type Task } from "../task.ts";
import type { Tasks } from "../tasks.ts";
import { NoAnswer } from "./client-requests.ts";
import type { Session } from "./session.ts";
import type { SessionRequest } from "./session-request.ts";

type SessionMethod = (request: SessionRequest) => Members | Promise<Members>;

const NOTHING: Members = { members: "" };

const METHODS: Readonly<Record<string, SessionMethod>> = {
  ping: () => NOTHING,
  "tasks/get": performTaskRequest,
  "tasks/result": performTaskRequest,
  "tasks/list": performTaskRequest,
  "tasks/cancel": performTaskRequest,
  async initialize({ core, session, origin }) {
    // A batch may begin with it, in a session that began with the batch.
    if (core.settings.dialect.batches !== "all") throw new Fault("INVALID_REQUEST", "This session is initialized already.");
    const offered = await offeredTo(core.settings, session.source, session.viewerFor(origin.caller));
    return { members: initializeMembers(core.settings, session.revision, offered) };
  },
  async "server/discover"({ core, session, request, origin }) {
    if (!core.settings.dialect.discoversInSessions) throw methodNotFound(request.method);
    return { members: await discoverMembers(core.settings, session.source, session.viewerFor(origin.caller)), meta: core.serverMeta };
  },
  async "logging/setLevel"({ core, session, request }) {
    const { level } = request.params;
    if (!isLogLevel(level))
      throw new Fault("PARAMS", "The level is one of debug, info, notice, warning, error, critical, alert, emergency.");
    await changeRow(core, session, { logLevel: level });
    return NOTHING;
  },
  "resources/subscribe": (one) => {
    const uri = uriOf(one.request);
    return one.session.inOrder(uri, () => subscribe(one, uri));
  },
  "resources/unsubscribe": (one) => {
    const uri = uriOf(one.request);
    return one.session.inOrder(uri, () => unsubscribe(one, uri));
  },
};

const limited =
  (method: SessionMethod): SessionMethod =>
  (one) => {
    const { core, session, request, origin } = one;
    core.limit(origin.caller, session.viewerFor(origin.caller));
    if (core.settings.dialect.withholds.includes(request.method)) throw methodNotFound(request.method);
    return method(one);
  };

export const SESSION_METHODS: ReadonlyMap<string, SessionMethod> = new Map(
  Object.entries(METHODS).map(([name, method]) => [name, limited(method)]),
);

async function subscribe({ core, session, origin }: SessionRequest, uri: string): Promise<Members> {
  const { source } = session;
  const viewer = session.viewerFor(origin.caller);
  const target = await subscribable(source, viewer, await source.surface(viewer), uri);
  if (target === undefined) throw new Fault("RESOURCE_NOT_FOUND", "Resource not found", { data: { uri } });
  if (isSubscribed(session, uri) !== true) checkSubscriptions(core, [...session.row.subscriptions, uri]);
  // It has ended meanwhile: nothing would end the watch.
  if (session.closed) return NOTHING;
  session.subscriptionsFor(origin.caller).subscribe(uri, target);
  await changeRow(core, session, { subscribe: uri });
  return NOTHING;
}

async function unsubscribe({ core, session }: SessionRequest, uri: string): Promise<Members> {
  session.subscriptions?.unsubscribe(uri);
  if (isSubscribed(session, uri) !== false) await changeRow(core, session, { unsubscribe: uri });
  return NOTHING;
}

// Their length counts as well, since some stores write the whole session with each of them.
function checkSubscriptions({ settings }: Core, uris: readonly string[]): void {
  const { subscriptions: most, subscriptionLength: longest } = settings.limits;
  if (uris.length > most) throw new Fault("BUSY", `A session may subscribe to ${counted(most, "resource")}; unsubscribe from some first.`);
  if (uris.reduce((sum, { length }) => sum + length, 0) > longest)
    throw new Fault("BUSY", `The URIs a session subscribes to may have ${longest} characters in all; unsubscribe from some first.`);
}

// Undefined: another node may have changed that a moment ago.
function isSubscribed({ nodes, row }: Session, uri: string): boolean | undefined {
  return nodes === undefined ? row.subscriptions.includes(uri) : undefined;
}

// A connection's session ends with it; only one that a client can come back to is stored.
async function changeRow(core: Core, session: Session, change: SessionChange): Promise<void> {
  if (session.nodes !== undefined) return session.nodes.rows.change(session, change);
  const before = session.row;
  const changed = changedSession(before, change);
  if (changed === before) return;
  session.row = changed;
  // To write a session that its client has ended would restore it.
  if (!session.stored || session.closed) return;
  const { sessions } = core.settings;
  if (sessions.change === undefined) return sessions.put(changed);
  // Not `put`: the row may be long, and a short request must not cause all of it to be written.
  try {
    await sessions.change(changed.id, change);
  } catch (error) {
    // The client will try again, and this change must be written then, since later changes do not include it.
    if (session.row === changed) session.row = before;
    throw error;
  }
}

function uriOf(request: Request): string {
  const uri = shortText(request.params["uri"], MAX_URI);
  if (uri === undefined) throw new Fault("PARAMS", `${request.method} needs a uri: text of 1 to ${MAX_URI} characters.`);
  return uri;
}

const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** Performs a `tasks/…` request. Rejects with `METHOD` where there are no tasks, `PARAMS` if the principal has no such task, and `SCOPE` if it lacks the tool's. */
async function performTaskRequest(one: SessionRequest): Promise<Members> {
  const { core, session, request, origin } = one;
  const { tasks } = core;
  if (tasks === undefined || !has(session.revision, "tasks")) throw methodNotFound(request.method);
  if (request.method === "tasks/list") return list(tasks, one);
  const viewer = session.viewerFor(origin.caller);
  const id = shortText(request.params["taskId"], 256);
  const task = tasks.known(id, viewer);
  const described = async (): Promise<JsonObject> => (task === undefined ? tasks.stored(id, viewer) : tasks.describe(task));
  if (request.method === "tasks/result") {
    if (task !== undefined) await untilOver(task, one);
    return resultIn(await described());
  }
  if (request.method === "tasks/cancel") {
    const { status } = await described();
    if (task === undefined || task.over) throw new Fault("PARAMS", `This task cannot be cancelled: it is ${JSON.stringify(status)}.`);
    task.cancel();
  }
  return { members: JSON.stringify(legacyTask(await described())).slice(1, -1) };
}

// Tasks of an earlier process are found by their ids, but not listed.
function list(tasks: Tasks, { core, session, request, origin }: SessionRequest): Members {
  const { cursor } = request.params;
  const all = tasks.owned(session.viewerFor(origin.caller));
  const start = cursor === undefined || cursor === null ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
  if (start === 0 && cursor !== undefined && cursor !== null) throw new Fault("PARAMS", "A cursor is text this server gave.");
  const page = all.slice(start, start + core.settings.pageSize);
  const last = page.at(-1);
  const next = last !== undefined && start + page.length < all.length ? `,"nextCursor":${JSON.stringify(last.id)}` : "";
  return { members: `"tasks":${JSON.stringify(page.map((task) => legacyTask(tasks.describe(task))))}${next}` };
}

function resultIn(task: JsonObject): Members {
  const { taskId = null, status, result, error } = task;
  if (isJsonObject(error)) throw faultFromWire(error);
  if (!isJsonObject(result)) throw new Fault("PARAMS", `This task has no result: it is ${JSON.stringify(status)}.`);
  const { resultType: _type, _meta: meta, ...members } = result;
  return {
    members: JSON.stringify(members).slice(1, -1),
    meta: { ...(isJsonObject(meta) ? meta : undefined), [RELATED_TASK]: { taskId } },
  };
}

/**
 * Waits for the task's end, and meanwhile asks its client what it needs, if that client can answer. Of several requests the newest
 * asks, since an older one may have lost its connection. Ends early when the request is cancelled.
 */
async function untilOver(task: Task, request: SessionRequest): Promise<void> {
  const { session } = request;
  let isNew = true;
  while (!task.over && !request.aborted) {
    const open = Array.from(task.questions).find(([, { needs }]) => session.can.includes(needs));
    if (open === undefined || (task.isAsking && !isNew)) await changed(task, request);
    else {
      isNew = false;
      await askOne(task, open[0], open[1], request);
    }
  }
}

async function askOne(task: Task, key: string, question: Question, request: SessionRequest): Promise<void> {
  const { session, origin } = request;
  const { settings } = request.core;
  const { _meta: meta, ...shaped } = shapeQuestion(question, session.revision, () => settings.entropy.uuid());
  const params = { ...shaped, _meta: { ...(isJsonObject(meta) ? meta : undefined), [RELATED_TASK]: { taskId: task.id } } };
  const asker = new Cancellation();
  const leave = (): void => asker.abort();
  request.addEventListener("abort", leave);
  task.beginAsking(asker);
  try {
    const answer: Json = await session.clientRequests.ask(question.method, params, (message) => origin.channel.ask(message), asker);
    task.endAsking(asker);
    task.answer({ [key]: checkAnswer(key, answer, question.method, settings.limits.answerLength) });
  } catch (error) {
    if (!(error instanceof NoAnswer) && !(error instanceof Fault)) throw error;
    if (error instanceof NoAnswer && error.code !== "CANNOT_ASK") return gaveUp(error, session);
    const fault = error instanceof Fault ? error : new Fault("REFUSED", error.message, { data: { code: error.code } });
    task.fail(fault, settings.dialect.faults);
    task.abort();
  } finally {
    request.removeEventListener("abort", leave);
    task.endAsking(asker);
  }
}

/** Another request asks the question, or it needs no answer any more. Throws if only this request has ended. */
function gaveUp({ code, message }: NoAnswer, session: Session): void {
  if (code === "DRAINING") throw new Fault("DRAINING", message);
  if (code === "DEADLINE") throw new Fault("LATE", message);
  if (session.closed) throw new Fault("CANCELLED", message);
}

const changed = (task: Task, request: SessionRequest): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      undo();
      request.removeEventListener("abort", end);
      resolve();
    };
    const undo = task.watch(end);
    request.addEventListener("abort", end);
  });
