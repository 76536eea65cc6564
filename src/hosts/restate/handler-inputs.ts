// Owns: inputs of an actor's handlers, and their checks, since any client of the ingress can send anything. Does not own: what handlers
// answer (outcome.ts).
import type { ActorId, Message } from "../../core/contract/index.ts";
import type { CallKey } from "../../core/chain/internal.ts";
import { isAddress, isTexts } from "../../core/contract/internal.ts";

/** A value from outside that has properties. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

/** A message of a waiting caller, or one that a turn sent. */
export interface TurnInput {
  readonly message: Message;
  /** C4: its reply is stored under this key. */
  readonly key?: CallKey;
  /** The node whose caller gets progress. */
  readonly node?: string;
  /** Actors whose work waits for this call, outermost first. */
  readonly waiting?: readonly ActorId[];
  /** How often the delivery of a turn's message has failed. */
  readonly failures?: number;
}

/** A timer that is due. */
export interface TimerInput {
  readonly name: string;
  readonly life: string;
  /** As the timer was set. */
  readonly at: number;
  readonly failures: number;
  /** It failed too often: the last failure. */
  readonly dropped?: string;
}

/** A stop by the engine. */
export interface StopInput {
  readonly message: Message;
  readonly reason: string;
  /** Ancestors that are stopping already, and need no notice. */
  readonly above: readonly ActorId[];
}

/** An idle actor may have to expire. */
export interface ExpireInput {
  readonly life: string;
}

export interface RestartInput {
  /** The parent on whose behalf it is. Absent: an operator's. */
  readonly by?: ActorId;
}

export function isRestartInput(value: unknown): value is RestartInput {
  if (!isObject(value)) return false;
  const { by } = value;
  return by === undefined || isAddress(by);
}

export function isMessage(value: unknown): value is Message {
  if (!isObject(value)) return false;
  const { id, to, action, args, at, seed } = value;
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

export function isTurnInput(value: unknown): value is TurnInput {
  if (!isObject(value) || !isMessage(value["message"])) return false;
  const { key, node, waiting, failures } = value;
  return (
    (key === undefined || (isObject(key) && typeof key["key"] === "string" && typeof key["call"] === "string")) &&
    (node === undefined || typeof node === "string") &&
    (waiting === undefined || isTexts(waiting)) &&
    (failures === undefined || typeof failures === "number")
  );
}

export function isTimerInput(value: unknown): value is TimerInput {
  if (!isObject(value)) return false;
  const { name, life, at, failures, dropped } = value;
  return (
    typeof name === "string" &&
    typeof life === "string" &&
    typeof at === "number" &&
    typeof failures === "number" &&
    (dropped === undefined || typeof dropped === "string")
  );
}

export const isStopInput = (value: unknown): value is StopInput =>
  isObject(value) && isMessage(value["message"]) && typeof value["reason"] === "string" && isTexts(value["above"]);

export const isExpireInput = (value: unknown): value is ExpireInput => isObject(value) && typeof value["life"] === "string";
