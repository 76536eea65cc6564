import { type Bag, type Catalogue, isBag, type Json, type Viewer } from "../../../core/contract/index.ts";
import { EXTENSION, hasOwn, isTexts, missingScopes, memoize, getOwn, settledNow } from "../../../core/contract/internal.ts";
import type { Call, Members, Method, Outcome } from "../call.ts";
import type { Core } from "../core.ts";
import { Fault, inLog } from "../errors.ts";
import { bagIn, shortText } from "../json.ts";
import type { Target } from "../offers.ts";
import { checkAnswer, questionsOf, unmet } from "../questions.ts";
import { requestFault } from "../fault-answers.ts";
import { eraOf } from "../revision.ts";
import { demand } from "../scopes.ts";
import { errorOf, legacyTask, Task } from "./task.ts";

/** The extension by which a call may go on after it was answered (SEP-2663). */
export const TASKS = "io.modelcontextprotocol/tasks";
const DECLARED = EXTENSION + TASKS;

const MOST_ANSWERS = 64;
/** Who waits this long anyway is spared to ask again. */
const SOON_MS = 50;
/** As long it is known of one that was running that its process has ended. */
const LONGEST_MS = 7 * 86_400_000;

/** Performs a call, which may be another time with what its client has answered meanwhile. */
export type Act = (call: Call) => Outcome | Promise<Outcome>;

export const offersTasks = memoize((catalogue: Catalogue): boolean => catalogue.tools.some((offer) => offer.task !== undefined));

/** Whether that client can be given a task. */
export const knowsTasks = ({ revision, options }: Call): boolean => eraOf(revision) === "modern" && options.can.includes(DECLARED);

/** That only a client who knows tasks can be served. */
export function needsTasks(message: string): Fault {
  return new Fault("CAPABILITY", message, { data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
}

const noRoom = (): Fault =>
  new Fault("BUSY", "Too many tasks are kept; wait until some are done, or cancel some.", { headers: { "retry-after": "1" } });

const LOST = new Fault(
  "UNAVAILABLE",
  "The server was started anew while this ran, and whether it was applied is not known: look, and call again.",
);

/** Beside what is told of a kept task: the scopes of its tool. */
const SCOPES = "troupe/scopes";

const mayKnow = ({ owner, scopes }: Task, viewer: Viewer): boolean =>
  owner === viewer.principal && missingScopes(scopes, viewer.scopes).length === 0;

/** Of one principal. */
interface Counts {
  all: number;
  running: number;
  /** Characters. */
  size: number;
}

type Around = Pick<Core, "settings" | "work" | "unfinished">;

/** The tasks of this process, each known to whoever began it. */
export class Tasks {
  readonly #core: Around;
  readonly #tasks = new Map<string, Task>();
  readonly #counts = new Map<string | undefined, Counts>();
  /** Characters of what is kept of all. */
  #size = 0;

  constructor(core: Around) {
    this.#core = core;
  }

  /**
   * Performs it, and gives its client a task where it is not done soon. Throws, or rejects with, what it does until then. Without room
   * its client waits for it, or gets `BUSY` where it `must` be a task.
   */
  begin(call: Call, act: Act, { scopes }: Target, must: boolean): Outcome | Promise<Outcome> {
    const { clock, entropy, taskTtlMs } = this.#core.settings;
    if (!this.#hasRoom(call)) {
      if (!must) return act(call);
      throw noRoom();
    }
    // Whoever has no principal is known by it: 122 random bits.
    const task = new Task({ id: entropy.uuid(), call, scopes, now: () => clock.now(), ttlMs: taskTtlMs });
    // What it took to find the tool may have been longer than its client waited.
    if (call.options.signal?.aborted === true) task.abort();
    const outcome = act(task.call ?? call);
    return outcome instanceof Promise ? this.#soon(task, act, outcome, call.options) : outcome;
  }

  /**
   * Begins a task at once, as a client of 2025-11-25 asks for one. Answers as that revision has it. `ttl`: how long the client wants
   * it kept after its end, in milliseconds; not longer than other tasks. Throws `BUSY` without room, and what the call throws at once.
   */
  async start(call: Call, act: Act, { scopes }: Target, ttl: Json | undefined): Promise<Outcome> {
    if (!this.#hasRoom(call)) throw noRoom();
    const { clock, entropy, taskTtlMs } = this.#core.settings;
    const ttlMs = typeof ttl === "number" && ttl >= 0 ? Math.min(ttl, taskTtlMs) : taskTtlMs;
    const task = new Task({ id: entropy.uuid(), call, scopes, now: () => clock.now(), ttlMs });
    await this.#keep(task, act, Promise.resolve(act(task.call ?? call)));
    return { members: `"task":${JSON.stringify(legacyTask(this.told(task)))}` };
  }

  /** Its own outcome, which may be what its client is asked first; or the task. */
  #soon(task: Task, act: Act, outcome: Promise<Outcome>, { signal }: Call["options"]): Promise<Outcome> {
    const gone = (): void => task.abort();
    signal?.addEventListener("abort", gone, { once: true });
    return new Promise((resolve, reject) => {
      let isKept = false;
      const undo = this.#core.settings.clock.after(SOON_MS, () => {
        isKept = true;
        // A client that has its name finds it, be it after a restart. One that leaves until then never learns it.
        this.#keep(task, act, outcome)
          .finally(() => signal?.removeEventListener("abort", gone))
          .then(resolve, reject);
      });
      // While a store is slow it may be done all the same; what it asks, the task asks by now.
      outcome.finally(undo).then((one) => (isKept && hasOwn(one, "needs") ? undefined : resolve(one)), reject);
    });
  }

  async #keep(task: Task, act: Act, outcome: Promise<Outcome>): Promise<Members> {
    this.#tasks.set(task.id, task);
    const counts = this.#counts.get(task.owner) ?? { all: 0, running: 0, size: 0 };
    this.#counts.set(task.owner, counts);
    counts.all += 1;
    counts.running += 1;
    this.#hold(counts, task.size);
    this.#giveUpLater(task, this.#core.settings.taskTtlMs);
    const members = this.#membersOf(task);
    const kept = this.#write(task);
    void this.#run(task, act, outcome, kept);
    await kept;
    return { members, task: true };
  }

  // What cannot be written is still known as long as this process lives.
  async #write(task: Task): Promise<void> {
    const { taskStore, clock, log } = this.#core.settings;
    if (taskStore === undefined) return;
    const { id, owner, scopes, over } = task;
    const until = clock.now() + (over ? task.ttlMs : LONGEST_MS);
    const needed = scopes.length === 0 ? "" : `,"${SCOPES}":${JSON.stringify(scopes)}`;
    const told = `{${this.#membersOf(task)}${needed}}`;
    try {
      await taskStore.put({ id, ...(owner === undefined ? undefined : { principal: owner }), told, over, until });
      if (over) await taskStore.expire(settledNow(clock));
    } catch (error) {
      log("error", { event: "task-not-kept", ...inLog(error) });
    }
  }

  // Nobody takes more than half of it: the others would have no room for as long as tasks are kept.
  #hasRoom({ viewer }: Call): boolean {
    const { inFlight, heldBytes, tasks } = this.#core.settings.limits;
    const { all, running, size } = this.#counts.get(viewer.principal) ?? { all: 0, running: 0, size: 0 };
    if (running >= inFlight || this.#tasks.size >= tasks || this.#size >= heldBytes) return false;
    return all < Math.max(1, tasks / 2) && size < heldBytes / 2;
  }

  async #run(task: Task, act: Act, first: Promise<Outcome>, kept: Promise<void>): Promise<void> {
    const { settings } = this.#core;
    const sent = task.size;
    try {
      let outcome = await this.#performed(first);
      for (let round = 1; hasOwn(outcome, "needs"); round += 1) {
        const missing = unmet(questionsOf(outcome.needs), task.call?.options.can ?? []);
        if (missing.length > 0) throw new Fault("CAPABILITY", `This needs a client that can be asked (${missing.join(", ")}).`);
        if (round > settings.limits.rounds) throw new Fault("REFUSED", `It asks more than ${settings.limits.rounds} times.`);
        await task.ask(outcome.needs);
        const { call } = task;
        if (call === undefined) return;
        outcome = await this.#performed(act(call));
      }
      task.complete(outcome);
    } catch (error) {
      if (!task.over) this.#fail(task, error);
      if (this.#core.unfinished.over) task.abort();
    } finally {
      this.#end(task, kept, sent);
    }
  }

  #fail(task: Task, error: unknown): void {
    task.fail(requestFault(this.#core, "tools/call", error), this.#core.settings.profile.faults);
  }

  /** Of what nobody answers, or never ends, its client would ask for ever. A step of progress is a sign of life. */
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

  /** It counts as a request that runs: a server that closes waits for it as long as for one. */
  #performed(outcome: Outcome | Promise<Outcome>): Promise<Outcome> {
    const { work, unfinished } = this.#core;
    return Promise.resolve(work.during(() => (outcome instanceof Promise ? unfinished.within(outcome) : outcome)));
  }

  // Kept from its end on: one that took long would be gone before its client asks.
  #end(task: Task, kept: Promise<void>, sent: number): void {
    void kept.then(() => this.#write(task));
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
    const told = await this.stored(shortText(call.params["taskId"], 256), call.viewer);
    return { members: JSON.stringify(told).slice(1, -1) };
  }

  /** A task of an earlier process, whose tasks have ended with it, as 2026-07-28 has it. Throws `PARAMS`: there is none, or not that principal's; `SCOPE`. */
  async stored(id: string | undefined, { principal, scopes: held }: Viewer): Promise<Bag> {
    const { taskStore, clock, profile } = this.#core.settings;
    const row = await taskStore?.get(id ?? "");
    if (row === undefined || row.principal !== principal || row.until <= clock.now())
      throw new Fault("PARAMS", "There is no task of this taskId: its time is over, or it never was.");
    const kept: unknown = JSON.parse(row.told);
    if (!isBag(kept)) throw new Fault("INTERNAL", "What was kept of this task cannot be read.");
    const { [SCOPES]: scopes, ...told } = kept;
    if (isTexts(scopes)) demand(scopes, held);
    if (row.over) return told;
    const { inputRequests: _asked, ...rest } = told;
    return { ...rest, status: "failed", error: errorOf(LOST, profile.faults) };
  }

  async #acknowledged(call: Call): Promise<Outcome> {
    await this.#stored(call);
    return { members: "" };
  }

  /** The viewer's task of that id. Throws `SCOPE` where its token no longer has what the tool needs, as a call of it would. */
  known(id: string | undefined, { principal, scopes }: Viewer): Task | undefined {
    const task = id === undefined ? undefined : this.#tasks.get(id);
    if (task === undefined || task.owner !== principal) return undefined;
    demand(task.scopes, scopes);
    return task;
  }

  /** Those that this viewer may know of, of these ids. */
  those(ids: readonly string[], viewer: Viewer): readonly Task[] {
    return [...new Set(ids)].flatMap((id) => {
      const task = this.#tasks.get(id);
      return task !== undefined && mayKnow(task, viewer) ? [task] : [];
    });
  }

  /** All in this process that this viewer may know of, oldest first. */
  owned(viewer: Viewer): readonly Task[] {
    return Array.from(this.#tasks.values()).filter((task) => mayKnow(task, viewer));
  }

  /** A task as 2026-07-28 has it. */
  told(task: Task): Bag {
    const told: unknown = JSON.parse(`{${this.#membersOf(task)}}`);
    return isBag(told) ? told : {};
  }

  /** `notifications/tasks`, as one subscription is told. */
  notice(task: Task, meta: Bag): string {
    return `{"jsonrpc":"2.0","method":"notifications/tasks","params":{${this.#membersOf(task)},"_meta":${JSON.stringify(meta)}}}`;
  }

  #membersOf(task: Task): string {
    return task.members(() => this.#core.settings.entropy.uuid());
  }

  /** Of somebody else, expired and never begun answer alike. */
  #find(call: Call): Task | undefined {
    const catalogue = call.source.catalogue?.(call.viewer);
    const offered = catalogue === undefined || offersTasks(catalogue) || this.#tasks.size > 0;
    if (!offered || eraOf(call.revision) !== "modern") throw new Fault("METHOD", `Method not found: ${call.method}`);
    if (!knowsTasks(call)) throw needsTasks(`${call.method} is for clients that declare ${TASKS}.`);
    return this.known(shortText(call.params["taskId"], 256), call.viewer);
  }

  // What was not asked, or is answered already, is no answer.
  #answersIn(call: Call, task: Task): Bag {
    const given = bagIn(call.params, "inputResponses");
    if (given === undefined || Object.keys(given).length > MOST_ANSWERS)
      throw new Fault("PARAMS", `tasks/update needs inputResponses: an object of at most ${MOST_ANSWERS} answers.`);
    const answers: [string, Json][] = [];
    for (const [key, { method }] of task.asked) {
      const answer = getOwn(given, key);
      if (answer !== undefined) answers.push([key, checkAnswer(key, answer, method, this.#core.settings.limits.answerLength)]);
    }
    return Object.fromEntries(answers);
  }
}
