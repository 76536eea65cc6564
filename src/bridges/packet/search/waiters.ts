import type { ActorId, Clock } from "../../../core/contract/index.ts";
import { PacketError } from "../packet-error.ts";

interface Waiter {
  readonly id: ActorId | undefined;
  readonly seq: number;
  readonly settle: (error?: PacketError) => void;
}

/** Who waits until something can be found. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(id: ActorId | undefined, seq: number, withinMs: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let undo: (() => void) | undefined;
      const waiter: Waiter = {
        id,
        seq,
        settle: (error) => {
          undo?.();
          this.#waiters.delete(waiter);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#waiters.add(waiter);
      if (withinMs !== undefined) undo = this.#clock.after(withinMs, () => waiter.settle(late(withinMs)));
    });
  }

  waitFor(id: ActorId): boolean {
    for (const waiter of this.#waiters) if (waiter.id === id) return true;
    return false;
  }

  /** How many still wait for that actor. Seq undefined: it has gone, and all with it. */
  reached(id: ActorId, seq: number | undefined): number {
    let left = 0;
    for (const waiter of [...this.#waiters].filter((one) => one.id === id))
      if (seq === undefined || seq >= waiter.seq) waiter.settle();
      else left += 1;
    return left;
  }

  /** Nothing is missing. */
  allDone(): void {
    for (const waiter of this.#waiters) if (waiter.id === undefined) waiter.settle();
  }

  close(): void {
    const error = new PacketError("cancelled", "The search index has been closed: nothing more can be found in it.");
    for (const waiter of this.#waiters) waiter.settle(error);
  }
}

const late = (withinMs: number): PacketError =>
  new PacketError(
    "persistence_failed",
    `After ${withinMs} ms the search index has not come that far: search without waiting for it, or wait longer.`,
    { timeout_ms: withinMs },
  );
