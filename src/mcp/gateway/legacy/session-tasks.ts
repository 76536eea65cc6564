// Owns: requests about tasks in the shapes of revision 2025-11-25 (Utilities, Tasks), and asking a client what its task needs while it waits
// for the result. Does not own: a task's life (tasks.ts); the tasks are those of the 2026-07-28 extension.
import { type Bag, Cancellation, isBag, type Json } from "../../../core/contract/index.ts";
import { type Members, methodNotFound } from "../core.ts";
import { Fault, faultFromWire } from "../errors.ts";
import { shortText } from "../json-rpc.ts";
import { checkAnswer, type Question, shapeQuestion } from "../questions.ts";
import { has } from "../revision.ts";
import { legacyTask, type Task } from "../task.ts";
import type { Tasks } from "../tasks.ts";
import { NoAnswer } from "./client-requests.ts";
import type { Session } from "./session.ts";
import type { SessionRequest } from "./session-request.ts";

const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** Performs a `tasks/…` request. Rejects with `METHOD` where there are no tasks, `PARAMS` if the principal has no such task, and `SCOPE` if it lacks the tool's. */
export async function performTaskRequest(one: SessionRequest): Promise<Members> {
  const { core, session, request, origin } = one;
  const { tasks } = core;
  if (tasks === undefined || !has(session.revision, "tasks")) throw methodNotFound(request.method);
  if (request.method === "tasks/list") return list(tasks, one);
  const viewer = session.viewerFor(origin.caller);
  const id = shortText(request.params["taskId"], 256);
  const task = tasks.known(id, viewer);
  const described = async (): Promise<Bag> => (task === undefined ? tasks.stored(id, viewer) : tasks.describe(task));
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

function resultIn(task: Bag): Members {
  const { taskId = null, status, result, error } = task;
  if (isBag(error)) throw faultFromWire(error);
  if (!isBag(result)) throw new Fault("PARAMS", `This task has no result: it is ${JSON.stringify(status)}.`);
  const { resultType: _type, _meta: meta, ...members } = result;
  return {
    members: JSON.stringify(members).slice(1, -1),
    meta: { ...(isBag(meta) ? meta : undefined), [RELATED_TASK]: { taskId } },
  };
}

/**
 * Waits for the task's end, and meanwhile asks its client what it needs, if that client can be asked. Of several requests the newest
 * asks, since an older one may have lost its connection. Ends early when the request is cancelled.
 */
async function untilOver(task: Task, request: SessionRequest): Promise<void> {
  const { session } = request;
  let isNew = true;
  while (!task.over && !request.aborted) {
    const open = Array.from(task.asked).find(([, { needs }]) => session.can.includes(needs));
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
  const params = { ...shaped, _meta: { ...(isBag(meta) ? meta : undefined), [RELATED_TASK]: { taskId: task.id } } };
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
