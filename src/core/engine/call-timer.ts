// Owns: how long a call waited in its actor's mailbox and how long it ran, for callers that listen. Does not own: who listens.
import type { ActorId, Clock, Handled } from "../contract/index.ts";
import { safeCall } from "../contract/internal.ts";

const elapsed = (clock: Clock): number => clock.elapsed?.() ?? clock.now();

export class CallTimer {
  readonly #actor: ActorId;
  readonly #clock: Clock;
  readonly #listener: (handled: Handled) => void;
  readonly #sentAt: number;
  #begunAt: number | undefined;
  #isOver = false;

  constructor(actor: ActorId, clock: Clock, listener: (handled: Handled) => void) {
    this.#actor = actor;
    this.#clock = clock;
    this.#listener = listener;
    this.#sentAt = elapsed(clock);
  }

  /** Its turn begins. Work that has to wait for commits begins again after them. */
  begun(): void {
    this.#begunAt = elapsed(this.#clock);
  }

  /** It is committed, refused, or waits for the reply of a later turn. */
  ended(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const now = elapsed(this.#clock);
    const begunAt = this.#begunAt ?? now;
    // The listener only observes: a call does not fail for it.
    safeCall(
      () => this.#listener({ actor: this.#actor, waitedMs: begunAt - this.#sentAt, ranMs: now - begunAt }),
      () => undefined,
    );
  }
}
