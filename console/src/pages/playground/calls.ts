// Owns: the calls of this playground: running one to its end, tasks included, cancelling it, and what came of each. Does not own: the
// protocol (mcp/client.ts), and calls that are saved (saved.ts).
import { signal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { objectIn, textIn } from "../../json.ts";
import { McpError, type McpClient } from "../../mcp/client.ts";
import { wait } from "../../wait.ts";
import { client, lists, reason } from "./connection.ts";

export type TargetKind = "tool" | "prompt" | "resource";

export interface Target {
  readonly kind: TargetKind;
  /** A URI, of a resource. */
  readonly name: string;
}

export interface CallRow extends Target {
  readonly n: number;
  readonly at: number;
  readonly arguments: JsonObject;
  readonly revision: string;
  readonly status: "running" | "ok" | "tool-error" | "error" | "cancelled";
  readonly ms?: number;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** The last step. */
  readonly progress?: JsonObject;
  /** The call goes on as this task. */
  readonly task?: JsonObject;
}

export interface CallOptions {
  /** 2025-11-25: the client asks for a task. In 2026-07-28 the server decides. */
  readonly asTask?: boolean;
  readonly key?: string;
}

const MAX_CALLS = 100;
const METHODS: Readonly<Record<TargetKind, string>> = { tool: "tools/call", prompt: "prompts/get", resource: "resources/read" };

/** Newest first. */
export const calls = signal<readonly CallRow[]>([]);
const running = new Map<number, AbortController>();
let last = 0;

const update = (n: number, more: Partial<CallRow>): void => {
  calls.value = calls.value.map((row) => (row.n === n ? { ...row, ...more } : row));
};

/** Runs it; what came of it is in `calls`. */
export async function call({ kind, name }: Target, args: JsonObject, { asTask = false, key }: CallOptions = {}): Promise<void> {
  const from = client.value;
  if (from === undefined) return;
  last += 1;
  const n = last;
  const controller = new AbortController();
  running.set(n, controller);
  const { revision } = from;
  calls.value = [{ n, at: Date.now(), kind, name, arguments: args, revision, status: "running" }, ...calls.value.slice(0, MAX_CALLS - 1)];
  const began = performance.now();
  const ended = (more: Partial<CallRow>): void => update(n, { ...more, ms: performance.now() - began });
  const definition = kind === "tool" ? lists.value.tools?.find((tool) => tool["name"] === name) : undefined;
  const params = { ...(kind === "resource" ? { uri: name } : { name, arguments: args }), ...(asTask ? { task: {} } : {}) };
  try {
    const first = await from.request(METHODS[kind], params, {
      signal: controller.signal,
      onProgress: (progress) => update(n, { progress }),
      ...(definition === undefined ? {} : { definition }),
      ...(key === undefined || key === "" ? {} : { key }),
    });
    const result = await throughTask(from, first, (task) => update(n, { task }), controller.signal);
    ended({ result, status: result["isError"] === true ? "tool-error" : "ok" });
  } catch (error) {
    if (controller.signal.aborted) ended({ status: "cancelled" });
    else ended({ status: "error", error: { code: error instanceof McpError ? error.code : 0, message: reason(error), ...dataOf(error) } });
  } finally {
    running.delete(n);
  }
}

const dataOf = (error: unknown): { readonly data?: unknown } =>
  error instanceof McpError && error.data !== undefined ? { data: error.data } : {};

/** Also a task: it is cancelled at the server. */
export function cancel(n: number): void {
  const task = textIn(calls.value.find((row) => row.n === n)?.task, "taskId");
  if (task !== undefined) void client.value?.request("tasks/cancel", { taskId: task }).catch(() => undefined);
  running.get(n)?.abort();
}

/** A result as it is; of a task, what it ends with. */
export async function throughTask(
  from: McpClient,
  first: JsonObject,
  onTask: (task: JsonObject) => void,
  cancelled: AbortSignal,
): Promise<JsonObject> {
  if (from.era === "legacy") {
    const task = objectIn(first, "task");
    const taskId = textIn(task, "taskId");
    if (taskId === undefined) return first;
    onTask(task);
    const polling = poll(from, task, onTask, cancelled).catch(() => undefined);
    const result = await from.request("tasks/result", { taskId }, { signal: cancelled });
    await polling;
    return result;
  }
  return first["resultType"] === "task" ? await poll(from, first, onTask, cancelled) : first;
}

const isOver = (task: JsonObject): boolean => task["status"] !== "working" && task["status"] !== "input_required";

/** The task's result. Answers what it asks. Rejects with its error. */
async function poll(from: McpClient, begun: JsonObject, onTask: (task: JsonObject) => void, cancelled: AbortSignal): Promise<JsonObject> {
  const taskId = textIn(begun, "taskId") ?? "";
  let task = begun;
  for (;;) {
    onTask(task);
    if (isOver(task)) break;
    if (from.era === "modern" && task["status"] === "input_required")
      await from.request("tasks/update", { taskId, inputResponses: await from.answers(task) }, { signal: cancelled });
    else await wait(Math.min(Math.max(Number(task["pollIntervalMs"] ?? task["pollInterval"] ?? 1_000), 200), 2_000), cancelled);
    task = await from.request("tasks/get", { taskId }, { signal: cancelled });
  }
  const { code, message, data } = objectIn(task, "error");
  if (task["status"] === "failed" && from.era === "modern")
    throw new McpError(typeof code === "number" ? code : 0, typeof message === "string" ? message : "The task failed.", data);
  if (task["status"] === "cancelled") throw new McpError(0, "The task was cancelled.");
  return objectIn(task, "result");
}
