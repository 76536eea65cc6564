import type { ActorId } from "../../../core/contract/index.ts";
import type { Sandbox } from "../sandbox.ts";

/** What this process measured of a guest's calls in its present life. */
export interface GuestMeasures {
  /** Calls that ended in an error, a trap or a kill. */
  readonly failed: number;
  readonly totalMs: number;
  readonly maxMs: number;
  readonly minMs: number;
  /** Of its instance after the last call; null: there is no instance, as after a trap. */
  readonly memoryBytes: number | null;
}

type Times = Omit<GuestMeasures, "memoryBytes"> & { readonly life: string };

/** An instance goes with the state its last call left: where that call's turn was not kept, it goes too, its globals with it. */
export class InstanceTracker {
  readonly #sandbox: Sandbox;
  readonly #last = new Map<ActorId, { readonly life: string; readonly seq: number }>();
  readonly #times = new Map<ActorId, Times>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Before a call whose turn would be that event. */
  beforeCall(id: ActorId, life: string, seq: number): void {
    const last = this.#last.get(id);
    if (last !== undefined && (last.life !== life || last.seq >= seq)) this.discard(id);
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

  /** Undefined: no call ended in this process. */
  measured(id: ActorId): GuestMeasures | undefined {
    const times = this.#times.get(id);
    if (times === undefined) return undefined;
    const { failed, totalMs, maxMs, minMs } = times;
    return { failed, totalMs, maxMs, minMs, memoryBytes: this.#sandbox.memoryOf(id) ?? null };
  }

  /** It has stopped. */
  onStopped(id: ActorId): void {
    this.#times.delete(id);
    this.discard(id);
  }

  discard(id: ActorId): void {
    this.#last.delete(id);
    this.#sandbox.forget(id);
  }
}
