// Owns: how the engine reports what goes wrong: to its operator (onFault), and as EngineErrors to its callers.
import { faults } from "../chain/internal.ts";
import type { ActorId, Damaged } from "../contract/index.ts";

/** Where a fault happened of which no caller gets the details. */
export interface FaultContext {
  readonly where: "turn" | "work" | "load" | "watcher" | "receipt" | "progress" | "store" | "outbox" | "wake" | "idle";
  readonly actor?: ActorId;
  readonly action?: string;
  /** The id of the message that became a dead letter. */
  readonly letter?: string;
}

export type OnFault = (error: unknown, context: FaultContext) => void;

/** A turn that blocked the event loop for more than 100 ms. */
export interface SlowTurn {
  readonly actor: ActorId;
  readonly action: string;
  readonly ms: number;
}

/** Damaged rows of one file are reported up to this many. */
const MAX_DAMAGE_REPORTS = 10_000;

/** Reports each damaged row to the operator once, however often the store comes across it. */
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
