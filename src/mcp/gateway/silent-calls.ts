import type { Clock } from "../../core/contract/index.ts";

const TICK_MS = 2_500;
const TICKS = 4;

/** A call whose client has heard nothing yet. */
export interface SilentCall {
  /** Where it is in the list. -1: it is not. */
  place: number;
  /** The tick it began in. */
  since: number;
  /** Sends the head of an event stream, which is then kept alive by comments. */
  breakSilence(): void;
}

/**
 * Calls over HTTP that have said nothing for some time. Proxies and clients end a response that stays silent (often after 60 s), so
 * after 7.5 to 10 s it becomes an event stream. One timer for all of them, which stops when none is left: nearly all calls end at
 * once. An array, since a `Set` that entries enter and leave with each call keeps its old tables for the collector.
 */
export class SilentCalls {
  readonly #clock: Clock;
  readonly #calls: SilentCall[] = [];
  #tick = 0;
  #ticking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(call: SilentCall): void {
    call.since = this.#tick;
    call.place = this.#calls.push(call) - 1;
    if (!this.#ticking) this.#later();
  }

  /** It was answered, or is an event stream. */
  delete(call: SilentCall): void {
    const { place } = call;
    if (place === -1) return;
    call.place = -1;
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    this.#calls[place] = last;
    last.place = place;
  }

  #later(): void {
    this.#ticking = true;
    this.#clock.after(TICK_MS, () => this.#sweep());
  }

  #sweep(): void {
    this.#ticking = false;
    this.#tick += 1;
    for (const call of this.#calls.filter(({ since }) => this.#tick - since >= TICKS)) {
      // One that ended while the others were seen to is not in the list any more.
      if (call.place === -1) continue;
      this.delete(call);
      call.breakSilence();
    }
    if (this.#calls.length > 0) this.#later();
  }
}
