import type { StageChange } from "../stage.ts";
import type { Settings } from "./options.ts";
import { passed, pauseBefore } from "./passed.ts";

type Listener = (change: StageChange) => void;

/** Who listens, and a look at who is there now and then, for as long as anybody does: no server tells that an actor began or ended. */
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

  /** Returns its undo. */
  add(listener: Listener): () => void {
    // One that listens twice is told twice: each has its own undo.
    const own: Listener = (change) => listener(change);
    this.#listeners.add(own);
    const undo = this.keepLooking();
    return () => {
      this.#listeners.delete(own);
      undo();
    };
  }

  /** Until its undo, which may be called again. */
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
        // What cannot be reached was logged where it was tried.
        failed += 1;
      }
      await passed(clock, limits.pollMs + (failed === 0 ? 0 : pauseBefore(limits, entropy, failed)), over);
    }
  }
}
