import type { StageChange } from "../stage.ts";
import type { Settings } from "./options.ts";
import { passed, pauseBefore } from "./passed.ts";

type Listener = (change: StageChange) => void;

/** Listeners to changes, and a poll of the list while there are any: no server reports that an actor started or ended. */
export class Watching {
  readonly #settings: Settings;
  readonly #look: () => Promise<void>;
  readonly #closing: AbortSignal;
  readonly #listeners = new Set<Listener>();
  #users = 0;
  #given = new AbortController();

  constructor(settings: Settings, look: () => Promise<void>, closing: AbortSignal) {
    this.#settings = settings;
    this.#look = look;
    this.#closing = closing;
  }

  get listened(): boolean {
    return this.#listeners.size > 0;
  }

  /** Returns a function that removes the listener. */
  add(listener: Listener): () => void {
    // A listener added twice is notified twice, and each is removed by itself.
    const own: Listener = (change) => listener(change);
    this.#listeners.add(own);
    const undo = this.keepLooking();
    return () => {
      this.#listeners.delete(own);
      undo();
    };
  }

  /** Polls until the returned function is called, which may be called more than once. */
  keepLooking(): () => void {
    this.#users += 1;
    if (this.#users === 1) {
      this.#given = new AbortController();
      void this.#run(AbortSignal.any([this.#given.signal, this.#closing]));
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#users -= 1;
      if (this.#users === 0) this.#given.abort();
    };
  }

  tell(change: StageChange): void {
    for (const listener of Array.from(this.#listeners)) {
      try {
        listener(change);
      } catch {
        this.#settings.log("error", { event: "theater-listener-failed", actor: change.actor, what: change.what });
      }
    }
  }

  async #run(over: AbortSignal): Promise<void> {
    const { clock, entropy, limits } = this.#settings;
    for (let failed = 0; !over.aborted;) {
      try {
        await this.#look();
        failed = 0;
      } catch {
        // Connection errors were logged where they occurred.
        failed += 1;
      }
      await passed(clock, limits.pollMs + (failed === 0 ? 0 : pauseBefore(limits, entropy, failed)), over);
    }
  }
}
