// Owns: what handlers answer, and checks of answers. Does not own: their inputs (handler-inputs.ts).
import { faults } from "../../core/chain/internal.ts";
import {
  EngineError,
  TroupeError,
  type Change,
  type EngineCode,
  type Json,
  type Reply,
  type Snapshot,
  type Status,
  type StoreCode,
  type Turn,
} from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { isObject } from "./handler-inputs.ts";

/** How a turn ended, as a value: the server would retry an error. */
export type Outcome = Applied | Failed;

interface Applied {
  /** Absent if the reply is deferred: that to this message, or to an earlier call under its key. */
  readonly reply?: Reply;
  readonly later?: string;
  /** The actor's head, if this turn left an event or emitted lines. */
  readonly change?: ActorHead;
  /** It left that event. */
  readonly committed?: true;
}

export interface Failed {
  readonly fault: Fault;
  /** The message itself was invalid: its sender gets this reply, and no crash is counted. */
  readonly refusal?: Reply;
}

/** A change without its actor. */
export type ActorHead = Omit<Change, "id">;

export type OwnedHead = ActorHead & { readonly owner?: string };

/** An `EngineError`; nothing was applied. */
export interface Fault {
  readonly code: EngineCode | StoreCode;
  readonly message: string;
  readonly data?: Json;
  /** What the author's code threw, for operators. */
  readonly thrown?: string;
}

/** The result of a step, or why nothing was applied. */
export type Guarded<T> = { readonly value: T } | Failed;

export const faultOf = (error: EngineError, thrown?: string): Fault => ({
  code: error.code,
  message: error.message,
  ...omitUndefined({ data: error.data, thrown }),
});

/** Without what is only for operators. */
export function forCaller(outcome: Outcome): Outcome {
  if (!("fault" in outcome)) return outcome;
  const { thrown: _, ...fault } = outcome.fault;
  return { ...outcome, fault };
}

export const errorFrom = ({ code, message, data }: Fault): EngineError =>
  new EngineError(code, message, { applied: false, ...(data === undefined ? {} : { data }) });

/** Runs what a handler does. Errors of Troupe become a value, which is null for nothing; other errors cause another attempt. */
export async function guarded(run: () => unknown): Promise<Guarded<unknown>> {
  try {
    return { value: (await run()) ?? null };
  } catch (error) {
    if (error instanceof TroupeError) return { fault: faultOf(faults.fromStore(error)) };
    throw error;
  }
}

export const isGuarded = (value: unknown): value is Guarded<unknown> => isObject(value) && ("value" in value || isFault(value["fault"]));

/** Undefined if it is a fault, or something else. */
export const valueIn = (answer: unknown): unknown => (isGuarded(answer) && "value" in answer ? answer.value : undefined);

const isFault = (value: unknown): value is Fault =>
  isObject(value) && typeof value["code"] === "string" && typeof value["message"] === "string";

/** A turn from the journal, where this code put it. */
export const isGuardedTurn = (value: unknown): value is Guarded<Turn<unknown>> =>
  isObject(value) && (isFault(value["fault"]) || isObject(value["value"]));

export function isOutcome(value: unknown): value is Outcome {
  if (!isObject(value)) return false;
  if (value["fault"] !== undefined) return isFault(value["fault"]);
  const { reply, later, change } = value;
  if (change !== undefined && !isActorHead(change)) return false;
  if (later !== undefined) return typeof later === "string";
  return isObject(reply) && (Object.hasOwn(reply, "ok") || Object.hasOwn(reply, "refused") || Object.hasOwn(reply, "needs"));
}

const isStatus = (value: unknown): value is Status => value === "live" || value === "failed" || value === "stopped";

export const isActorHead = <T>(value: T): value is T & ActorHead =>
  isObject(value) && typeof value["seq"] === "number" && typeof value["head"] === "string" && isStatus(value["status"]);

const isPersistence = (value: unknown): value is Snapshot["persistence"] =>
  value === "memory" || value === "disk" || value === "distributed";

const NUMBER_FIELDS = ["version", "createdAt", "lastMessageAt", "messageCount"] as const;

export const isSnapshot = (value: unknown): value is Snapshot =>
  isObject(value) &&
  isActorHead(value) &&
  typeof value["id"] === "string" &&
  typeof value["uid"] === "string" &&
  value["state"] !== undefined &&
  NUMBER_FIELDS.every((name) => typeof value[name] === "number") &&
  isPersistence(value["persistence"]);
