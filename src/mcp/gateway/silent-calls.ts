// Owns: turning a call over HTTP that is silent for too long into an event stream. Does not own: what is sent on that stream (progress.ts).
import type { Clock } from "../../core/contract/index.ts";

const TICK_MS = 2_500;
const TICKS = 4;

/** A call over HTTP whose response has not begun yet. */
export interface SilentCall {
  /** Its index in the list; -1: it is not in it. */
  place: number;
  /** The tick in which it began. */
  since: number;
  /** Sends the head of an event stream, which comments then keep alive. */
  breakSilence(): void;
}

/**
 * Proxies and clients end a response that stays silent, often after 60 s: a call that has been silent for 7.5 to 10 s becomes an event
 * stream. There is one timer for all calls, which stops when no call is left, since nearly all end at once. An array, since a `Set`
 * that entries enter and leave with each call survives, with its old tables, into the collector's old space.
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
    if (!this.#ticking) this.#startTimer();
  }

  /** The call was answered, or has become an event stream. */
  delete(call: SilentCall): void {
    const { place } = call;
    if (place === -1) return;
    call.place = -1;
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    this.#calls[place] = last;
    last.place = place;
  }

  #startTimer(): void {
    this.#ticking = true;
    this.#clock.after(TICK_MS, () => this.#sweep());
  }

  #sweep(): void {
    this.#ticking = false;
    this.#tick += 1;
    for (const call of this.#calls.filter(({ since }) => this.#tick - since >= TICKS)) {
      // It may have ended while another was handled.
      if (call.place === -1) continue;
      this.delete(call);
      call.breakSilence();
    }
    if (this.#calls.length > 0) this.#startTimer();
  }
}
