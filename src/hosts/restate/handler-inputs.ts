import type { ActorId, Message } from "../../core/contract/index.ts";
import type { CallKey } from "../../core/chain/internal.ts";
import { isAddress } from "../../core/contract/internal.ts";

/** What came from elsewhere and has keys to look at. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

/** What the handlers of an actor are called with. Whoever reaches the ingress can send anything. */

/** A message from a caller who waits, or sent by a turn. */
export interface TurnInput {
  readonly message: Message;
  /** C4: its reply is kept under it. */
  readonly key?: CallKey;
  /** The node whose caller hears of progress. */
  readonly node?: string;
  /** Actors whose work waits for this call, the first one first. */
  readonly waiting?: readonly ActorId[];
  /** Sent by a turn: how often it has failed. */
  readonly failures?: number;
}

/** A wake that has come. */
export interface TimerInput {
  readonly name: string;
  readonly life: string;
  /** As the wake said. */
  readonly at: number;
  readonly failures: number;
  /** It has failed too often: what its last failure was. */
  readonly dropped?: string;
}

/** The engine's own end of an actor. */
export interface StopInput {
  readonly message: Message;
  readonly reason: string;
  /** Who is stopping already, and need not be told. */
  readonly above: readonly ActorId[];
}

/** An actor nobody wrote to may have to end. */
export interface ExpireInput {
  readonly life: string;
}

/** `ifUnborn`: forgets a beginning that failed, of whatever never began. */
export interface RestartInput {
  readonly ifUnborn?: boolean;
  /** The parent whose word it is. Absent: an operator's. */
  readonly by?: ActorId;
}

export function isRestartInput(value: unknown): value is RestartInput {
  if (!isObject(value)) return false;
  const { ifUnborn, by } = value;
  return (ifUnborn === undefined || typeof ifUnborn === "boolean") && (by === undefined || isAddress(by));
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
    (waiting === undefined || areTexts(waiting)) &&
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
  isObject(value) && isMessage(value["message"]) && typeof value["reason"] === "string" && areTexts(value["above"]);

export const isExpireInput = (value: unknown): value is ExpireInput => isObject(value) && typeof value["life"] === "string";

const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every((text) => typeof text === "string");
