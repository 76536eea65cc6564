/**
 * Requests about tasks as revision 2025-11-25 has them (Utilities, Tasks). The tasks are those of the 2026-07-28 extension.
 *
 * Owns the shapes of that revision, and asking what a task needs while its client waits for the result. Does not own a task's life.
 */
import { type Bag, Cancellation, isBag, type Json, type Viewer } from "../../../core/contract/index.ts";
import type { Members } from "../call.ts";
import type { Core } from "../core.ts";
import { Fault, faultFromWire } from "../errors.ts";
import { shortText } from "../json.ts";
import type { Request } from "../json-rpc.ts";
import { legacyTask, type Task } from "../modern/task.ts";
import type { Tasks } from "../modern/tasks.ts";
import { checkAnswer, type Question, shapeQuestion } from "../questions.ts";
import { has } from "../revision.ts";
import type { Running } from "../running.ts";
import { NoAnswer } from "./client-requests.ts";
import type { Session } from "./session.ts";

const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** One request about tasks, and how to ask its client something before it is answered. */
export interface TaskRequest {
  readonly core: Core;
  readonly session: Session;
  readonly request: Request;
  readonly viewer: Viewer;
  readonly running: Running;
  readonly ask: (message: Bag) => void;
}

/** Performs a `tasks/…` request. Throws `METHOD` where there are no tasks, and `PARAMS` for a task that is not this principal's, `SCOPE` where it lacks the tool's. */
export async function performTaskRequest(asked: TaskRequest): Promise<Members> {
  const { core, session, request, viewer } = asked;
  const { tasks } = core;
  if (tasks === undefined || !has(session.revision, "tasks")) throw new Fault("METHOD", `Method not found: ${request.method}`);
  if (request.method === "tasks/list") return list(tasks, asked);
  const id = shortText(request.params["taskId"], 256);
  const task = tasks.known(id, viewer);
  const told = async (): Promise<Bag> => (task === undefined ? tasks.stored(id, viewer) : tasks.told(task));
  if (request.method === "tasks/result") {
    if (task !== undefined) await untilOver(task, asked);
    return resultIn(await told());
  }
  if (request.method === "tasks/cancel") {
    const { status } = await told();
    if (task === undefined || task.over) throw new Fault("PARAMS", `This task cannot be cancelled: it is ${JSON.stringify(status)}.`);
    task.cancel();
  }
  return { members: JSON.stringify(legacyTask(await told())).slice(1, -1) };
}

// Tasks of an earlier process are found by their ids, but not listed.
function list(tasks: Tasks, { core, request, viewer }: TaskRequest): Members {
  const { cursor } = request.params;
  const all = tasks.owned(viewer);
  const start = cursor === undefined || cursor === null ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
  if (start === 0 && cursor !== undefined && cursor !== null) throw new Fault("PARAMS", "A cursor is text this server gave.");
  const page = all.slice(start, start + core.settings.pageSize);
  const last = page.at(-1);
  const next = last !== undefined && start + page.length < all.length ? `,"nextCursor":${JSON.stringify(last.id)}` : "";
  return { members: `"tasks":${JSON.stringify(page.map((task) => legacyTask(tasks.told(task))))}${next}` };
}

function resultIn(told: Bag): Members {
  const { taskId = null, status, result, error } = told;
  if (isBag(error)) throw faultFromWire(error);
  if (!isBag(result)) throw new Fault("PARAMS", `This task has no result: it is ${JSON.stringify(status)}.`);
  const { resultType: _type, _meta: meta, ...members } = result;
  return {
    members: JSON.stringify(members).slice(1, -1),
    meta: { ...(isBag(meta) ? meta : undefined), [RELATED_TASK]: { taskId } },
  };
}

/**
 * Waits for the task's end, and asks its client what it needs meanwhile, if that client can be asked. The newest of several requests
 * asks: an older one may have lost its connection. Ends early when the request is cancelled.
 */
async function untilOver(task: Task, asked: TaskRequest): Promise<void> {
  const { running, session } = asked;
  let isNew = true;
  while (!task.over && !running.aborted) {
    const open = Array.from(task.asked).find(([, { needs }]) => session.can.includes(needs));
    if (open === undefined || (task.isAsking && !isNew)) await changed(task, running);
    else {
      isNew = false;
      await askOne(task, open[0], open[1], asked);
    }
  }
}

async function askOne(task: Task, key: string, question: Question, { core, session, running, ask }: TaskRequest): Promise<void> {
  const { settings } = core;
  const { _meta: meta, ...shaped } = shapeQuestion(question, session.revision, () => settings.entropy.uuid());
  const params = { ...shaped, _meta: { ...(isBag(meta) ? meta : undefined), [RELATED_TASK]: { taskId: task.id } } };
  const asker = new Cancellation();
  const leave = (): void => asker.abort();
  running.addEventListener("abort", leave);
  task.beginAsking(asker);
  try {
    const answer: Json = await session.requests.ask(question.method, params, ask, asker);
    task.endAsking(asker);
    task.answer({ [key]: checkAnswer(key, answer, question.method, settings.limits.answerLength) });
  } catch (error) {
    if (!(error instanceof NoAnswer) && !(error instanceof Fault)) throw error;
    if (error instanceof NoAnswer && error.code !== "CANNOT_ASK") return gaveUp(error, session);
    const fault = error instanceof Fault ? error : new Fault("REFUSED", error.message, { data: { code: error.code } });
    task.fail(fault, settings.profile.faults);
    task.abort();
  } finally {
    running.removeEventListener("abort", leave);
    task.endAsking(asker);
  }
}

/** The question goes on: another request asks it, or it needs no answer any more. Throws where only this request has ended. */
function gaveUp({ code, message }: NoAnswer, session: Session): void {
  if (code === "DRAINING") throw new Fault("DRAINING", message);
  if (code === "DEADLINE") throw new Fault("LATE", message);
  if (session.closed) throw new Fault("CANCELLED", message);
}

const changed = (task: Task, running: Running): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      undo();
      running.removeEventListener("abort", end);
      resolve();
    };
    const undo = task.watch(end);
    running.addEventListener("abort", end);
  });
