import { type Bag, Cancellation, isBag, type Json, type Progress } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type Call, type Members, withAnswers } from "../call.ts";
import type { Fault, Sayings } from "../errors.ts";
import { wireError } from "../errors.ts";
import { type Question, questionsOf, shapeQuestion } from "../questions.ts";

/** A task's status, and what a client that asks after it is told beside. */
type Stage =
  | { readonly status: "working" | "cancelled" }
  | { readonly status: "input_required"; readonly asked: ReadonlyMap<string, Question> }
  /** JSON of what the call would have been answered. */
  | { readonly status: "completed"; readonly result: string }
  | { readonly status: "failed"; readonly error: string };

export interface TaskOptions {
  readonly id: string;
  /** The call as its client sent it. */
  readonly call: Call;
  /** Of the tool: who lacks them learns nothing of what it did. */
  readonly scopes: readonly string[];
  readonly now: () => number;
  readonly ttlMs: number;
}

/** How often a client should ask, at most. */
const POLL_MS = 1_000;
const LONGEST_MESSAGE = 1_000;

/** A call that goes on after it was answered (SEP-2663). What it runs listens to it: aborted, it is to end. */
export class Task extends Cancellation {
  readonly id: string;
  readonly owner: string | undefined;
  readonly scopes: readonly string[];
  readonly ttlMs: number;
  /** Gone with its end: what was sent may be long. */
  #sent: Call | undefined;
  readonly #length: number;
  readonly #now: () => number;
  readonly #createdAt: number;
  #updatedAt: number;
  #stage: Stage = { status: "working" };
  #message: string | undefined;
  #answers: Readonly<Record<string, Json>> = {};
  #answered: (() => void) | undefined;
  readonly #watchers = new Set<() => void>();
  #asker: Cancellation | undefined;

  constructor({ id, call, scopes, now, ttlMs }: TaskOptions) {
    super();
    this.id = id;
    this.owner = call.viewer.principal;
    this.scopes = scopes;
    this.ttlMs = ttlMs;
    this.#sent = call;
    this.#length = JSON.stringify(call.params).length;
    this.#now = now;
    this.#createdAt = this.#updatedAt = now();
  }

  /** Nothing more happens to it. */
  get over(): boolean {
    const { status } = this.#stage;
    return status !== "working" && status !== "input_required";
  }

  get updatedAt(): number {
    return this.#updatedAt;
  }

  /** Characters of what is kept of it: what was sent, then what came of it. */
  get size(): number {
    if (!this.over) return this.#length;
    return "result" in this.#stage ? this.#stage.result.length : "error" in this.#stage ? this.#stage.error.length : 0;
  }

  /** The call as it is performed now; undefined: not any more. Nobody waits for its log: the request it came with is answered. */
  get call(): Call | undefined {
    if (this.#sent === undefined) return undefined;
    const { answers, ...options } = this.#sent.options;
    const call = { ...this.#sent, options: { ...options, signal: this, onProgress: this.#step, onLog: undefined } };
    return withAnswers(call, { ...answers, ...this.#answers });
  }

  readonly #step: Progress = (done, total, text) => {
    if (this.over) return;
    this.#message = (text ?? (total === undefined ? `${done}` : `${done} of ${total}`)).slice(0, LONGEST_MESSAGE);
    this.#changed();
  };

  #changed(): void {
    this.#updatedAt = this.#now();
    for (const watcher of this.#watchers) watcher();
  }

  /** Told of each change. Returns its undo. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #become(stage: Stage): void {
    if (this.over) return;
    this.#stage = stage;
    if (this.over) {
      this.#sent = undefined;
      this.#withdraw();
    }
    this.#changed();
  }

  /** Whether a client of 2025-11-25 is being asked now. One request asks at a time: the one whose `asker` began last. */
  get isAsking(): boolean {
    return this.#asker !== undefined;
  }

  /** From now on `asker` asks; whoever did before is aborted, as `asker` is once the question needs no answer any more. */
  beginAsking(asker: Cancellation): void {
    this.#withdraw();
    this.#asker = asker;
  }

  /** Another request that waits for the result may ask now. */
  endAsking(asker: Cancellation): void {
    if (this.#asker !== asker) return;
    this.#asker = undefined;
    for (const watcher of this.#watchers) watcher();
  }

  #withdraw(): void {
    const asker = this.#asker;
    this.#asker = undefined;
    asker?.abort();
  }

  /** What its client has to be asked first; settles when all of it is answered, or it was cancelled. */
  ask(needs: Bag): Promise<void> {
    this.#become({ status: "input_required", asked: questionsOf(needs) });
    return new Promise((resolve) => {
      this.#answered = resolve;
      if (this.over) resolve();
    });
  }

  /** What is asked now, by key. */
  get asked(): ReadonlyMap<string, Question> {
    return this.#stage.status === "input_required" ? this.#stage.asked : new Map();
  }

  answer(answers: Bag): void {
    this.#withdraw();
    const left = new Map(Array.from(this.asked).filter(([key]) => !Object.hasOwn(answers, key)));
    this.#answers = { ...this.#answers, ...answers };
    if (left.size > 0) return this.#become({ status: "input_required", asked: left });
    this.#become({ status: "working" });
    this.#answered?.();
  }

  complete({ members, meta }: Members): void {
    const text = typeof members === "string" ? members : members.text;
    const rest = meta === undefined ? "" : `,"_meta":${JSON.stringify(meta)}`;
    this.#become({ status: "completed", result: `{"resultType":"complete",${text}${rest}}` });
  }

  fail(fault: Fault, sayings: Sayings): void {
    this.#become({ status: "failed", error: JSON.stringify(errorOf(fault, sayings)) });
  }

  cancel(): void {
    this.#become({ status: "cancelled" });
    this.abort();
  }

  /** Whatever waits for its client waits no longer. */
  override abort(): void {
    super.abort();
    this.#answered?.();
  }

  /** What its client is told of it: of a new one nothing but how it stands. */
  members(newId: () => string): string {
    const stage = this.#stage;
    const { status } = stage;
    const base = JSON.stringify({
      taskId: this.id,
      status,
      ...(this.#message === undefined ? undefined : { statusMessage: this.#message }),
      createdAt: new Date(this.#createdAt).toISOString(),
      lastUpdatedAt: new Date(this.#updatedAt).toISOString(),
      ttlMs: this.ttlMs,
      pollIntervalMs: POLL_MS,
    }).slice(1, -1);
    if (stage.status === "completed") return `${base},"result":${stage.result}`;
    if (stage.status === "failed") return `${base},"error":${stage.error}`;
    const revision = this.#sent?.revision;
    if (stage.status !== "input_required" || revision === undefined) return base;
    const requests = Array.from(stage.asked, ([key, question]): [string, Bag] => [
      key,
      { method: question.method, params: shapeQuestion(question, revision, newId) },
    ]);
    return `${base},"inputRequests":${JSON.stringify(Object.fromEntries(requests))}`;
  }
}

/** A task of 2026-07-28's shape in that of 2025-11-25, where a result that is an error of the tool is a failure of the task. */
export function legacyTask(told: Bag): Bag {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, result } = told;
  const failed = isBag(result) && result["isError"] === true;
  return omitUndefined({
    taskId,
    status: failed ? "failed" : status,
    statusMessage,
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  });
}

export function errorOf(fault: Fault, sayings: Sayings): Bag {
  const { code, message, data } = wireError(fault, "modern", sayings);
  return { code, message, ...(data === undefined ? undefined : { data }) };
}
