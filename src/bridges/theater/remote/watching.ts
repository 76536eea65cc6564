import type { StageChange } from "../stage.ts";
import type { Settings } from "./options.ts";
import { delay, retryDelay } from "./passed.ts";

type Listener = (change: StageChange) => void;

/** Listeners to changes, and a poll of the list while there are any: no server reports that an actor started or ended. */
export class ChangePoller {
  readonly #settings: Settings;
  readonly #poll: () => Promise<void>;
  readonly #closing: AbortSignal;
  readonly #listeners = new Set<Listener>();
  #pollers = 0;
  #stop = new AbortController();

  constructor(settings: Settings, poll: () => Promise<void>, closing: AbortSignal) {
    this.#settings = settings;
    this.#poll = poll;
    this.#closing = closing;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Returns a function that removes the listener. */
  add(listener: Listener): () => void {
    // A listener added twice is notified twice, and each is removed by itself.
    const own: Listener = (change) => listener(change);
    this.#listeners.add(own);
    const undo = this.startPolling();
    return () => {
      this.#listeners.delete(own);
      undo();
    };
  }

  /** Polls until the returned function is called, which may be called more than once. */
  startPolling(): () => void {
    this.#pollers += 1;
    if (this.#pollers === 1) {
      this.#stop = new AbortController();
      void this.#run(AbortSignal.any([this.#stop.signal, this.#closing]));
    }
    let isStopped = false;
    return () => {
      if (isStopped) return;
      isStopped = true;
      this.#pollers -= 1;
      if (this.#pollers === 0) this.#stop.abort();
    };
  }

  notify(change: StageChange): void {
    for (const listener of Array.from(this.#listeners)) {
      try {
        listener(change);
      } catch {
        this.#settings.log("error", { event: "theater-listener-failed", actor: change.actor, what: change.what });
      }
    }
  }

  async #run(stopped: AbortSignal): Promise<void> {
    const { clock, entropy, limits } = this.#settings;
    for (let failed = 0; !stopped.aborted;) {
      try {
        await this.#poll();
        failed = 0;
      } catch {
        // Connection errors were logged where they occurred.
        failed += 1;
      }
      await delay(clock, limits.pollMs + (failed === 0 ? 0 : retryDelay(limits, entropy, failed)), stopped);
    }
  }
}
