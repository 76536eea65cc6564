import { faults } from "../chain/internal.ts";
import {
  EngineError,
  TroupeError,
  type EngineCode,
  type Json,
  type Message,
  type Reply,
  type Snapshot,
  type StoreCode,
  type Turn,
} from "../contract/index.ts";
import { isObject } from "./is-object.ts";

/**
 * How a turn ended, as a value: an error would make the server try again. `of` is the
 * message that was run, which is an earlier one where the call's key was known.
 */
export type Outcome =
  | { readonly of: string; readonly reply: Reply; readonly committed?: { readonly seq: number; readonly head: string } }
  | { readonly of: string; readonly fault: Fault };

/** An `EngineError` that says nothing was applied. */
export interface Fault {
  readonly code: EngineCode | StoreCode;
  readonly message: string;
  readonly data?: Json;
}

/** What a step made, or why nothing was applied. */
export type Guarded<T> = { readonly value: T } | { readonly fault: Fault };

export const faultOf = (error: EngineError): Fault => ({
  code: error.code,
  message: error.message,
  ...(error.data === undefined ? {} : { data: error.data }),
});

export const errorFrom = ({ code, message, data }: Fault): EngineError =>
  new EngineError(code, message, { applied: false, ...(data === undefined ? {} : { data }) });

/** For handlers that only read: a fault of the chain as a value, all else another attempt. */
export async function settled(reading: Promise<unknown>): Promise<Guarded<unknown>> {
  try {
    return { value: (await reading) ?? null };
  } catch (error) {
    if (error instanceof TroupeError) return { fault: faultOf(faults.fromStore(error)) };
    throw error;
  }
}

export const isGuarded = (value: unknown): value is Guarded<unknown> => isObject(value) && ("value" in value || isFault(value["fault"]));

const isFault = (value: unknown): value is Fault =>
  isObject(value) && typeof value["code"] === "string" && typeof value["message"] === "string";

/** A turn out of the journal, where this code put it. */
export const isGuardedTurn = (value: unknown): value is Guarded<Turn<unknown>> =>
  isObject(value) && (isFault(value["fault"]) || isObject(value["value"]));

export function isOutcome(value: unknown): value is Outcome {
  if (!isObject(value) || typeof value["of"] !== "string") return false;
  const { reply, fault, committed } = value;
  if (fault !== undefined) return isFault(fault);
  if (committed !== undefined && !(isObject(committed) && typeof committed["seq"] === "number" && typeof committed["head"] === "string"))
    return false;
  return isObject(reply) && ("ok" in reply || "refused" in reply || "needs" in reply);
}

/** What `turn` is called with. */
export interface TurnInput {
  readonly message: Message;
}

export function isTurnInput(value: unknown): value is TurnInput {
  if (!isObject(value) || !isObject(value["message"])) return false;
  const { id, to, action, args, at, seed } = value["message"];
  return (
    typeof id === "string" &&
    typeof to === "string" &&
    typeof action === "string" &&
    args !== undefined &&
    typeof at === "number" &&
    typeof seed === "string" &&
    /^[0-9a-f]{32}$/.test(seed)
  );
}

export function isSnapshot(value: unknown): value is Snapshot {
  if (!isObject(value)) return false;
  const { id, seq, head, status, state } = value;
  return typeof id === "string" && typeof seq === "number" && typeof head === "string" && typeof status === "string" && state !== undefined;
}
