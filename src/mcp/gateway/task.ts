// Owns: the life of one task: its status, questions and result, and its description. Does not own: which tasks there are (tasks.ts).
import { type JsonObject, Cancellation, isJsonObject, type Json, type Progress, type TaskReport } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { type Call, type Members, withAnswers } from "./call.ts";
import { type Fault, type FaultOverrides, wireError } from "./errors.ts";
import { shortText } from "./json-rpc.ts";
import { type Question, questionsOf, shapeQuestion } from "./question-shapes.ts";

/** A task's status, and what goes with it. */
type Stage =
  | { readonly status: "working" | "cancelled" }
  | { readonly status: "input_required"; readonly questions: ReadonlyMap<string, Question> }
  /** The JSON of the call's result. */
  | { readonly status: "completed"; readonly result: string }
  | { readonly status: "failed"; readonly error: string };

export interface TaskOptions {
  readonly id: string;
  /** The call as its client sent it. */
  readonly call: Call;
  /** The scopes of the tool; without them a viewer learns nothing about the task. */
  readonly scopes: readonly string[];
  readonly now: () => number;
  readonly ttlMs: number;
}

/** How often a client should poll, at most. */
const POLL_MS = 1_000;
const LONGEST_MESSAGE = 1_000;
const LONGEST_NAME = 256;

/** A call that goes on after it was answered (SEP-2663). It is the signal of its own work, which is to end when it is aborted. */
export class Task extends Cancellation {
  readonly id: string;
  readonly owner: string | undefined;
  readonly scopes: readonly string[];
  readonly ttlMs: number;
  /** Dropped at its end, since it may be long. */
  #sent: Call | undefined;
  readonly #length: number;
  readonly #tool: string | undefined;
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
    this.#tool = shortText(call.params["name"], LONGEST_NAME);
    this.#now = now;
    this.#createdAt = this.#updatedAt = now();
  }

  /** It has ended. */
  get over(): boolean {
    const { status } = this.#stage;
    return status !== "working" && status !== "input_required";
  }

  get tool(): string | undefined {
    return this.#tool;
  }

  get updatedAt(): number {
    return this.#updatedAt;
  }

  /** For operators: without arguments and results. */
  report(): TaskReport {
    return {
      id: this.id,
      ...omitUndefined({ principal: this.owner, tool: this.#tool, message: this.#message }),
      status: this.#stage.status,
      createdAt: this.#createdAt,
      updatedAt: this.#updatedAt,
    };
  }

  /** Characters that it holds: the params of its call, and after its end the result. */
  get size(): number {
    if (!this.over) return this.#length;
    return "result" in this.#stage ? this.#stage.result.length : "error" in this.#stage ? this.#stage.error.length : 0;
  }

  /** The call to perform; undefined: it has ended. It has no log, since the request it came with has been answered. */
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

  /** Calls `watcher` on each change. Returns its undo. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #enter(stage: Stage): void {
    if (this.over) return;
    this.#stage = stage;
    if (this.over) {
      this.#sent = undefined;
      this.#withdraw();
    }
    this.#changed();
  }

  /** Whether a request of a client of 2025-11-25 asks its questions now. One request asks at a time, the one that began last. */
  get isAsking(): boolean {
    return this.#asker !== undefined;
  }

  /** `asker` asks from now on; the one before is aborted, as `asker` is once the question needs no answer any more. */
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

  /** Settles when the client has answered all of these questions, or the task was cancelled. */
  ask(needs: JsonObject): Promise<void> {
    this.#enter({ status: "input_required", questions: questionsOf(needs) });
    return new Promise((resolve) => {
      this.#answered = resolve;
      if (this.over) resolve();
    });
  }

  /** The open questions, by key. */
  get questions(): ReadonlyMap<string, Question> {
    return this.#stage.status === "input_required" ? this.#stage.questions : new Map();
  }

  answer(answers: JsonObject): void {
    this.#withdraw();
    const left = new Map(Array.from(this.questions).filter(([key]) => !Object.hasOwn(answers, key)));
    this.#answers = { ...this.#answers, ...answers };
    if (left.size > 0) return this.#enter({ status: "input_required", questions: left });
    this.#enter({ status: "working" });
    this.#answered?.();
  }

  complete({ members, meta }: Members): void {
    const text = typeof members === "string" ? members : members.text;
    const rest = meta === undefined ? "" : `,"_meta":${JSON.stringify(meta)}`;
    this.#enter({ status: "completed", result: `{"resultType":"complete",${text}${rest}}` });
  }

  fail(fault: Fault, overrides: FaultOverrides): void {
    this.#enter({ status: "failed", error: JSON.stringify(errorOf(fault, overrides)) });
  }

  cancel(): void {
    this.#enter({ status: "cancelled" });
    this.abort();
  }

  /** Also ends the wait for its client's answers. */
  override abort(): void {
    super.abort();
    this.#answered?.();
  }

  /** The members of its description for clients of 2026-07-28. */
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
    const requests = Array.from(stage.questions, ([key, question]): [string, JsonObject] => [
      key,
      { method: question.method, params: shapeQuestion(question, revision, newId) },
    ]);
    return `${base},"inputRequests":${JSON.stringify(Object.fromEntries(requests))}`;
  }
}

/** A description of 2026-07-28 in the shape of 2025-11-25, where the error of a tool is a failure of the task. */
export function legacyTask(task: JsonObject): JsonObject {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, result } = task;
  const failed = isJsonObject(result) && result["isError"] === true;
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

export function errorOf(fault: Fault, overrides: FaultOverrides): JsonObject {
  const { code, message, data } = wireError(fault, "modern", overrides);
  return { code, message, ...(data === undefined ? undefined : { data }) };
}
