// Owns: how faults are reported, to the operator (onFault) and to callers (EngineError).
// Does not own: what the errors say (chain/engine-errors.ts).
import { faults } from "../chain/internal.ts";
import type { ActorId, Behaviour, Damaged, Message } from "../contract/index.ts";

/** Where a fault happened whose details no caller gets. */
export interface FaultContext {
  readonly where: "turn" | "work" | "load" | "watcher" | "receipt" | "progress" | "store" | "outbox" | "wake" | "idle" | "index";
  readonly actor?: ActorId;
  readonly action?: string;
  /** The id of the message that became a dead letter. */
  readonly letter?: string;
  /** What failed was reported before, by the turn that failed: this is not another fault. */
  readonly repeated?: true;
  /** The message has secret arguments, which an error of the author's code may contain: do not log its text. */
  readonly hasSecrets?: true;
}

/** Of a fault while a message was handled. */
export function messageFault(where: FaultContext["where"], behaviour: Pick<Behaviour, "redact">, message: Message): FaultContext {
  const hasSecrets = behaviour.redact !== undefined && behaviour.redact(message) !== message.args;
  return { where, actor: message.to, action: message.action, ...(hasSecrets && { hasSecrets }) };
}

export type OnFault = (error: unknown, context: FaultContext) => void;

/** A turn that blocked the event loop for more than 100 ms. */
export interface SlowTurn {
  readonly actor: ActorId;
  readonly action: string;
  readonly ms: number;
}

/** At most this many damaged rows of one file are reported. */
const MAX_DAMAGE_REPORTS = 10_000;

/** Reports each damaged row to the operator once, however often the store reads it. */
export function damageReporter(fault: OnFault, where: FaultContext["where"]): Damaged {
  const reported = new Set<string>();
  return (error, actor) => {
    if (reported.size >= MAX_DAMAGE_REPORTS || reported.has(error.message)) return;
    reported.add(error.message);
    fault(error, actor === undefined ? { where } : { where, actor });
  };
}

/** Awaits a store's answer. Throws only `EngineError`. */
export async function fromStore<T>(answer: Promise<T>): Promise<T>;
export async function fromStore<T>(answer: Promise<T> | undefined): Promise<T | undefined>;
export async function fromStore<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    throw faults.fromStore(error);
  }
}
