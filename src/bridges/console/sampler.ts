// Owns: what is measured once a second: turns, messages, and how long the event loop was blocked. Does not own: the figures that engines
// and gateways keep themselves.

import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ActorId, Clock, Engine } from "../../core/contract/index.ts";

const SECONDS = 60;
const RESOLUTION_MS = 10;
const NANOSECONDS = 1e6;

export interface SampledFigures {
  readonly uptimeMs: number;
  readonly turnsPerSecond: number;
  readonly requestsPerSecond: number;
  /** The longest time that the loop was blocked in the last minute. */
  readonly loopMs: number;
}

export class Sampler {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #delays: number[] = [];
  /** Loading modules blocks the loop, and no client waits for that. */
  #hasStarted = false;
  #engine: Engine | undefined;
  #unwatch: (() => void) | undefined;
  #changed: ActorId | undefined;
  #turns = 0;
  #received = 0;
  #lastAt: number;
  #turnsPerSecond = 0;
  #requestsPerSecond = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = this.#lastAt = clock.elapsed?.() ?? clock.now();
    this.#delay.enable();
  }

  #now(): number {
    return this.#clock.elapsed?.() ?? this.#clock.now();
  }

  /**
   * Once a second. `received`: messages since the start. In development the engine is another one after each reload. Returns the actor
   * that changed last, if one did.
   */
  sample(engine: Engine | undefined, received: number): ActorId | undefined {
    if (engine !== this.#engine) {
      this.#unwatch?.();
      this.#engine = engine;
      this.#unwatch = engine?.watch("*/*", ({ id }) => {
        this.#turns += 1;
        this.#changed = id;
      });
    }
    const now = this.#now();
    const seconds = Math.max(0.001, (now - this.#lastAt) / 1_000);
    this.#turnsPerSecond = Math.round(this.#turns / seconds);
    this.#requestsPerSecond = Math.round((received - this.#received) / seconds);
    this.#turns = 0;
    this.#received = received;
    this.#lastAt = now;
    if (this.#hasStarted) this.#delays.push(this.#blockedMs());
    this.#hasStarted = true;
    if (this.#delays.length > SECONDS) this.#delays.shift();
    this.#delay.reset();
    const changed = this.#changed;
    this.#changed = undefined;
    return changed;
  }

  // The histogram has the whole time between two looks.
  #blockedMs(): number {
    return this.#delay.count === 0 ? 0 : Math.max(0, this.#delay.max / NANOSECONDS - RESOLUTION_MS);
  }

  figures(): SampledFigures {
    return {
      uptimeMs: Math.round(this.#now() - this.#startedAt),
      turnsPerSecond: this.#turnsPerSecond,
      requestsPerSecond: this.#requestsPerSecond,
      loopMs: Math.round(Math.max(this.#hasStarted ? this.#blockedMs() : 0, ...this.#delays) * 10) / 10,
    };
  }

  close(): void {
    this.#unwatch?.();
    this.#delay.disable();
  }
}
