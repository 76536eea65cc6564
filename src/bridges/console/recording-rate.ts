// Owns: how many messages are recorded in a while. Does not own: which.
//
// Recording a message takes several times as long as a pipelined call. 500 a second cost less than 2 % of the
// server, and are more than a person reads.

import type { Clock } from "../../core/contract/index.ts";

const TICK_MS = 250;
const ROWS_A_TICK = 125;
const BYTES_A_TICK = 262_144;

export class RecordingRate {
  readonly #clock: Clock;
  #rowsLeft = ROWS_A_TICK;
  #bytesLeft = BYTES_A_TICK;
  #undoTick: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** No message is recorded before the next tick. */
  get isOutOfRows(): boolean {
    return this.#rowsLeft <= 0;
  }

  /** Whether another message may be recorded now. */
  takes(bytes: number): boolean {
    if (this.isOutOfRows || this.#bytesLeft <= 0) return false;
    this.#rowsLeft -= 1;
    this.#bytesLeft -= bytes;
    this.#undoTick ??= this.#clock.after(TICK_MS, () => {
      this.#undoTick = undefined;
      this.#rowsLeft = ROWS_A_TICK;
      this.#bytesLeft = BYTES_A_TICK;
    });
    return true;
  }

  close(): void {
    this.#undoTick?.();
  }
}
