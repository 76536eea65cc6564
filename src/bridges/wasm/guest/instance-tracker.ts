// Owns: which turn a guest's instance is at, and how long its calls took.
import type { ActorId } from "../../../core/contract/index.ts";
import type { Sandbox } from "../sandbox.ts";

/** Measurements of a guest's calls in its current life and this process. */
export interface GuestMeasures {
  /** The number of calls that ended in an error, a trap or a kill. */
  readonly failed: number;
  readonly totalMs: number;
  readonly maxMs: number;
  readonly minMs: number;
  /** Memory of its instance after the last call; null if there is no instance, for example after a trap. */
  readonly memoryBytes: number | null;
}

type Times = Omit<GuestMeasures, "memoryBytes"> & { readonly life: string };

/**
 * An instance matches the state that its last call left. If that turn was not committed, or an event followed that may have another state
 * (an operator's revert or edit), the instance is discarded, since its globals are of another state.
 */
export class InstanceTracker {
  readonly #sandbox: Sandbox;
  readonly #last = new Map<ActorId, { readonly life: string; readonly seq: number }>();
  readonly #times = new Map<ActorId, Times>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** `seq`: the number of the event that the call will leave. */
  beforeCall(id: ActorId, life: string, seq: number): void {
    const last = this.#last.get(id);
    if (last !== undefined && (last.life !== life || last.seq !== seq - 1)) this.discard(id);
  }

  afterCall(id: ActorId, life: string, seq: number): void {
    this.#last.set(id, { life, seq });
  }

  recordDuration(id: ActorId, life: string, ms: number, isFailed: boolean): void {
    const before = this.#times.get(id);
    const { failed, totalMs, maxMs, minMs } =
      before?.life === life ? before : { failed: 0, totalMs: 0, maxMs: 0, minMs: Number.POSITIVE_INFINITY };
    this.#times.set(id, {
      life,
      failed: failed + (isFailed ? 1 : 0),
      totalMs: totalMs + ms,
      maxMs: Math.max(maxMs, ms),
      minMs: Math.min(minMs, ms),
    });
  }

  /** Undefined if no call ended in this process. */
  measured(id: ActorId): GuestMeasures | undefined {
    const times = this.#times.get(id);
    if (times === undefined) return undefined;
    const { failed, totalMs, maxMs, minMs } = times;
    return { failed, totalMs, maxMs, minMs, memoryBytes: this.#sandbox.memoryOf(id) ?? null };
  }

  onStopped(id: ActorId): void {
    this.#times.delete(id);
    this.discard(id);
  }

  discard(id: ActorId): void {
    this.#last.delete(id);
    this.#sandbox.forget(id);
  }
}
