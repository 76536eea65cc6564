// Owns: the tasks of this process: beginning, finding, storing and expiring them, and their methods in 2026-07-28. Does not own: the life of
// one task (task.ts), and the methods of 2025-11-25 (legacy/session-methods.ts).
import { type JsonObject, type Catalogue, isJsonObject, type Json, type TaskReport, type Viewer } from "../../core/contract/index.ts";
import {
  counted,
  EXTENSION,
  hasOwn,
  isTexts,
  missingScopes,
  memoize,
  getOwn,
  omitUndefined,
  settledNow,
  tryParseJson,
} from "../../core/contract/internal.ts";
import type { PendingReplies, WorkCounter } from "./active-requests.ts";
import { type Call, type Members, type Method, methodNotFound, type Outcome } from "./call.ts";
import { Fault, inLog, requestFault } from "./errors.ts";
import { objectIn, shortText } from "./json-rpc.ts";
import { requireScopes, type Target } from "./find-offer.ts";
import type { Settings } from "./options.ts";
import { checkAnswer, questionsOf, unmet } from "./question-shapes.ts";
import { eraOf, TASKS } from "./revision.ts";
import { errorOf, legacyTask, Task } from "./task.ts";

const DECLARED = EXTENSION + TASKS;

const MOST_ANSWERS = 64;
/** A call that is done within this time is answered directly. */
const SOON_MS = 50;
/** How long a task stays in the store that was running when its process ended. */
const LONGEST_MS = 7 * 86_400_000;

/** Performs a call, possibly again with what its client has answered meanwhile. */
export type Act = (call: Call) => Outcome | Promise<Outcome>;

const hasTasks = memoize((catalogue: Catalogue): boolean => catalogue.tools.some((offer) => offer.task !== undefined));

/** Whether a call may become a task. Undefined, not known ahead: it may, since a server with tasks must declare them. */
export const offersTasks = (known: Catalogue | undefined): boolean => known === undefined || hasTasks(known);

/** Whether the client of the call can be given a task. */
export const knowsTasks = ({ revision, options }: Call): boolean => eraOf(revision) === "modern" && options.can.includes(DECLARED);

/** The fault for a client that does not know tasks. */
export function needsTasks(message: string): Fault {
  return new Fault("CAPABILITY", message, { data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
}

const noRoom = (): Fault =>
  new Fault("BUSY", "Too many tasks are stored; wait until some are done, or cancel some.", { headers: { "retry-after": "1" } });

const LOST = new Fault(
  "UNAVAILABLE",
  "The server was started anew while this ran, and whether it was applied is not known: look, and call again.",
);

/** In the stored description of a task: its tool, for operators, and the scopes of that. */
const TOOL = "troupe/tool";
const SCOPES = "troupe/scopes";

const textOrNone = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);

const timeOf = (value: Json | undefined): number => (typeof value === "string" ? Date.parse(value) || 0 : 0);

const mayKnow = ({ owner, scopes }: Task, viewer: Viewer): boolean =>
  owner === viewer.principal && missingScopes(scopes, viewer.scopes).length === 0;

/** The tasks of one principal. */
interface Counts {
  all: number;
  running: number;
  /** Characters. */
  size: number;
}

/** What the tasks of a gateway share with its other requests. */
interface TaskCore {
  readonly settings: Settings;
  readonly work: WorkCounter;
  readonly pending: PendingReplies;
}

/** The tasks of this process, each known to its owner only. */
export class Tasks {
  readonly #core: TaskCore;
  readonly #tasks = new Map<string, Task>();
  readonly #counts = new Map<string | undefined, Counts>();
  /** Characters that all tasks hold. */
  #size = 0;

  constructor(core: TaskCore) {
    this.#core = core;
  }

  /**
   * Performs the call, and answers with a task if it is not done soon. Throws, or rejects with, what the call does until then. With too
   * many tasks the client waits for its call, or gets `BUSY` if it `must` be a task.
   */
  begin(call: Call, act: Act, { scopes }: Target, must: boolean): Outcome | Promise<Outcome> {
    const { clock, entropy, taskTtlMs } = this.#core.settings;
    if (!this.#hasRoom(call)) {
      if (!must) return act(call);
      throw noRoom();
    }
    // The id has 122 random bits: without a principal, it alone gives access.
    const task = new Task({ id: entropy.uuid(), call, scopes, now: () => clock.now(), ttlMs: taskTtlMs });
    // The client may have left while the tool was being looked for.
    if (call.options.signal?.aborted === true) task.abort();
    const outcome = act(task.call ?? call);
    return outcome instanceof Promise ? this.#soon(task, act, outcome, call.options) : outcome;
  }

  /**
   * Begins a task at once, as a client of 2025-11-25 requests it, and answers in the shape of that revision. `ttl`: how long, in
   * milliseconds, the client wants it to be available after its end; at most as long as other tasks. Rejects with `BUSY` if there are too
   * many, and with what the call throws at once.
   */
  async start(call: Call, act: Act, { scopes }: Target, ttl: Json | undefined): Promise<Outcome> {
    if (!this.#hasRoom(call)) throw noRoom();
    const { clock, entropy, taskTtlMs } = this.#core.settings;
    const ttlMs = typeof ttl === "number" && ttl >= 0 ? Math.min(ttl, taskTtlMs) : taskTtlMs;
    const task = new Task({ id: entropy.uuid(), call, scopes, now: () => clock.now(), ttlMs });
    await this.#register(task, act, Promise.resolve(act(task.call ?? call)));
    return { members: `"task":${JSON.stringify(legacyTask(this.describe(task)))}` };
  }

  /** The outcome of the call, which may be questions to its client, or the task. */
  #soon(task: Task, act: Act, outcome: Promise<Outcome>, { signal }: Call["options"]): Promise<Outcome> {
    const disconnected = (): void => task.abort();
    signal?.addEventListener("abort", disconnected, { once: true });
    return new Promise((resolve, reject) => {
      let isTask = false;
      const undo = this.#core.settings.clock.after(SOON_MS, () => {
        isTask = true;
        // Stored before its id is sent, so that the client finds it even after a restart. A client that leaves before aborts it.
        this.#register(task, act, outcome)
          .finally(() => signal?.removeEventListener("abort", disconnected))
          .then(resolve, reject);
      });
      // It may be done while a slow store is still writing; the task asks its questions then.
      outcome.finally(undo).then((one) => (isTask && hasOwn(one, "needs") ? undefined : resolve(one)), reject);
    });
  }

  async #register(task: Task, act: Act, outcome: Promise<Outcome>): Promise<Members> {
    this.#tasks.set(task.id, task);
    const counts = this.#counts.get(task.owner) ?? { all: 0, running: 0, size: 0 };
    this.#counts.set(task.owner, counts);
    counts.all += 1;
    counts.running += 1;
    this.#hold(counts, task.size);
    this.#giveUpLater(task, this.#core.settings.taskTtlMs);
    const members = this.#membersOf(task);
    const written = this.#write(task);
    void this.#run(task, act, outcome, written);
    await written;
    return { members, task: true };
  }

  // A task that cannot be written is still known as long as this process runs.
  async #write(task: Task): Promise<void> {
    const { taskStore, clock, log } = this.#core.settings;
    if (taskStore === undefined) return;
    const { id, owner, tool, scopes, over } = task;
    const until = clock.now() + (over ? task.ttlMs : LONGEST_MS);
    const called = tool === undefined ? "" : `,"${TOOL}":${JSON.stringify(tool)}`;
    const needed = scopes.length === 0 ? "" : `,"${SCOPES}":${JSON.stringify(scopes)}`;
    const text = `{${this.#membersOf(task)}${called}${needed}}`;
    try {
      await taskStore.put({ id, ...(owner === undefined ? undefined : { principal: owner }), description: text, over, until });
      if (over) await taskStore.expire(settledNow(clock));
    } catch (error) {
      log("error", { event: "task-not-kept", ...inLog(error) });
    }
  }

  // One principal may have half of all at most, so that there is room for others for as long as its tasks are available.
  #hasRoom({ viewer }: Call): boolean {
    const { inFlight, heldBytes, tasks } = this.#core.settings.limits;
    const { all, running, size } = this.#counts.get(viewer.principal) ?? { all: 0, running: 0, size: 0 };
    if (running >= inFlight || this.#tasks.size >= tasks || this.#size >= heldBytes) return false;
    return all < Math.max(1, tasks / 2) && size < heldBytes / 2;
  }

  async #run(task: Task, act: Act, first: Promise<Outcome>, written: Promise<void>): Promise<void> {
    const { settings } = this.#core;
    const sent = task.size;
    try {
      let outcome = await this.#performed(first);
      for (let round = 1; hasOwn(outcome, "needs"); round += 1) {
        const missing = unmet(questionsOf(outcome.needs), task.call?.options.can ?? []);
        if (missing.length > 0) throw new Fault("CAPABILITY", `This needs a client that accepts questions (${missing.join(", ")}).`);
        if (round > settings.limits.rounds) throw new Fault("REFUSED", `It asks more than ${counted(settings.limits.rounds, "time")}.`);
        await task.ask(outcome.needs);
        const { call } = task;
        if (call === undefined) return;
        outcome = await this.#performed(act(call));
      }
      task.complete(outcome);
    } catch (error) {
      if (!task.over) this.#fail(task, error);
      if (this.#core.pending.over) task.abort();
    } finally {
      this.#end(task, written, sent);
    }
  }

  #fail(task: Task, error: unknown): void {
    task.fail(requestFault(this.#core, "tools/call", error), this.#core.settings.dialect.faults);
  }

  /** Fails a task that has made no progress for too long: its client would otherwise poll forever. */
  #giveUpLater(task: Task, afterMs: number): void {
    const { clock, taskTtlMs } = this.#core.settings;
    clock.after(afterMs, () => {
      if (task.over) return;
      const leftMs = task.updatedAt + taskTtlMs - clock.now();
      if (leftMs > 0) return this.#giveUpLater(task, leftMs);
      this.#fail(task, new Fault("LATE", "Nothing was heard of it for too long; whether it was applied is not known."));
      task.abort();
    });
  }

  /** A task counts as a running request: a server that closes waits for it as long as for one. */
  #performed(outcome: Outcome | Promise<Outcome>): Promise<Outcome> {
    const { work, pending } = this.#core;
    return Promise.resolve(work.during(() => pending.within(outcome)));
  }

  // Its time begins at its end, so that a long task is not dropped before its client polls.
  #end(task: Task, written: Promise<void>, sent: number): void {
    void written.then(() => this.#write(task));
    const counts = this.#counts.get(task.owner);
    if (counts === undefined) return;
    counts.running -= 1;
    const { size } = task;
    this.#hold(counts, size - sent);
    this.#core.settings.clock.after(task.ttlMs, () => {
      this.#tasks.delete(task.id);
      this.#hold(counts, -size);
      counts.all -= 1;
      if (counts.all === 0) this.#counts.delete(task.owner);
    });
  }

  #hold(counts: Counts, more: number): void {
    counts.size += more;
    this.#size += more;
  }

  /** `tasks/get`, `tasks/update`, `tasks/cancel`. */
  readonly methods: Readonly<Record<string, Method>> = {
    "tasks/get": (call) => {
      const task = this.#find(call);
      return task === undefined ? this.#stored(call) : { members: this.#membersOf(task) };
    },
    "tasks/update": (call) => {
      const task = this.#find(call);
      if (task === undefined) return this.#acknowledged(call);
      task.answer(this.#answersIn(call, task));
      return { members: "" };
    },
    "tasks/cancel": (call) => {
      const task = this.#find(call);
      if (task === undefined) return this.#acknowledged(call);
      task.cancel();
      return { members: "" };
    },
  };

  async #stored(call: Call): Promise<Outcome> {
    const task = await this.stored(shortText(call.params["taskId"], 256), call.viewer);
    return { members: JSON.stringify(task).slice(1, -1) };
  }

  /**
   * Describes a task of an earlier process, which ended with it, in the shape of 2026-07-28. Rejects with `PARAMS` if the principal has no
   * such task, and with `SCOPE`.
   */
  async stored(id: string | undefined, { principal, scopes: held }: Viewer): Promise<JsonObject> {
    const { taskStore, clock, dialect } = this.#core.settings;
    const row = await taskStore?.get(id ?? "");
    if (row === undefined || row.principal !== principal || row.until <= clock.now())
      throw new Fault("PARAMS", "There is no task of this taskId: its time is over, or it never was.");
    const stored: unknown = JSON.parse(row.description);
    if (!isJsonObject(stored)) throw new Fault("INTERNAL", "What was stored of this task cannot be read.");
    const { [SCOPES]: scopes, [TOOL]: _tool, ...task } = stored;
    if (isTexts(scopes)) requireScopes(scopes, held);
    if (row.over) return task;
    const { inputRequests: _requests, ...rest } = task;
    return { ...rest, status: "failed", error: errorOf(LOST, dialect.faults) };
  }

  async #acknowledged(call: Call): Promise<Outcome> {
    await this.#stored(call);
    return { members: "" };
  }

  /** The viewer's task of that id. Throws `SCOPE` if its token no longer has the scopes of the tool, as a call would. */
  known(id: string | undefined, { principal, scopes }: Viewer): Task | undefined {
    const task = id === undefined ? undefined : this.#tasks.get(id);
    if (task === undefined || task.owner !== principal) return undefined;
    requireScopes(task.scopes, scopes);
    return task;
  }

  /** The tasks with these ids that the viewer may know of. */
  those(ids: readonly string[], viewer: Viewer): readonly Task[] {
    return [...new Set(ids)].flatMap((id) => {
      const task = this.#tasks.get(id);
      return task !== undefined && mayKnow(task, viewer) ? [task] : [];
    });
  }

  /** All tasks in this process that the viewer may know of, oldest first. */
  owned(viewer: Viewer): readonly Task[] {
    return Array.from(this.#tasks.values()).filter((task) => mayKnow(task, viewer));
  }

  /** All tasks in this process, oldest first, for operators. */
  *reports(): Generator<TaskReport> {
    for (const task of this.#tasks.values()) yield task.report();
  }

  /** Tasks of earlier processes, for operators. */
  async earlier(limit: number): Promise<readonly TaskReport[]> {
    const { taskStore, clock } = this.#core.settings;
    const rows = (await taskStore?.list?.(limit)) ?? [];
    return rows.flatMap(({ id, principal, description, over, until }): TaskReport[] => {
      const task: unknown = tryParseJson(description);
      if (this.#tasks.has(id) || until <= clock.now() || !isJsonObject(task)) return [];
      const { status, statusMessage, createdAt, lastUpdatedAt, [TOOL]: tool } = task;
      return [
        {
          id,
          ...omitUndefined({ principal, tool: textOrNone(tool), message: textOrNone(statusMessage) }),
          status: over ? (textOrNone(status) ?? "unknown") : "lost",
          createdAt: timeOf(createdAt),
          updatedAt: timeOf(lastUpdatedAt),
        },
      ];
    });
  }

  /** An operator cancels a task. Undefined: there is none. False: it has ended. */
  cancelByOperator(id: string): boolean | undefined {
    const task = this.#tasks.get(id);
    if (task === undefined) return undefined;
    if (task.over) return false;
    task.cancel();
    return true;
  }

  /** A task in the shape of 2026-07-28. */
  describe(task: Task): JsonObject {
    const described: unknown = JSON.parse(`{${this.#membersOf(task)}}`);
    return isJsonObject(described) ? described : {};
  }

  /** The text of `notifications/tasks` for one subscription. */
  notice(task: Task, meta: JsonObject): string {
    return `{"jsonrpc":"2.0","method":"notifications/tasks","params":{${this.#membersOf(task)},"_meta":${JSON.stringify(meta)}}}`;
  }

  #membersOf(task: Task): string {
    return task.members(() => this.#core.settings.entropy.uuid());
  }

  /** Unknown, expired, and another principal's: all answer alike. */
  #find(call: Call): Task | undefined {
    const offered = offersTasks(call.source.catalogue?.(call.viewer)) || this.#tasks.size > 0;
    if (!offered || eraOf(call.revision) !== "modern") throw methodNotFound(call.method);
    if (!knowsTasks(call)) throw needsTasks(`${call.method} is for clients that declare ${TASKS}.`);
    return this.known(shortText(call.params["taskId"], 256), call.viewer);
  }

  // Answers to no open question are ignored.
  #answersIn(call: Call, task: Task): JsonObject {
    const given = objectIn(call.params, "inputResponses");
    if (given === undefined || Object.keys(given).length > MOST_ANSWERS)
      throw new Fault("PARAMS", `tasks/update needs inputResponses: an object of at most ${MOST_ANSWERS} answers.`);
    const answers: [string, Json][] = [];
    for (const [key, { method }] of task.questions) {
      const answer = getOwn(given, key);
      if (answer !== undefined) answers.push([key, checkAnswer(key, answer, method, this.#core.settings.limits.answerLength)]);
    }
    return Object.fromEntries(answers);
  }
}
