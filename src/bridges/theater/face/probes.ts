import type { Clock } from "../../../core/contract/index.ts";
import type { Hints } from "./hints.ts";

// Hints say that something changed, but not what. Content that few hints are about is polled this long after one.
const AFTER_MS = 250;

interface Probe {
  readonly look: () => Promise<string>;
  readonly dirty: () => void;
  seen: string | undefined;
  /** A hint came before the first poll, which may already include the change. */
  missed: boolean;
}

/** Detects changes that only a poll can show. One poll at a time, whatever the number of watchers and hints. */
export class Probes {
  readonly #hints: Hints;
  readonly #clock: Clock;
  readonly #probes = new Set<Probe>();
  #line: Promise<void> = Promise.resolve();
  #undo: (() => void) | undefined;
  #due: (() => void) | undefined;

  constructor(hints: Hints, clock: Clock) {
    this.#hints = hints;
    this.#clock = clock;
  }

  /** `look` returns the content in few characters; a throw counts as a content of its own. Returns a function that ends the watch. */
  add(look: () => Promise<string>, dirty: () => void): () => void {
    const probe: Probe = { look, dirty, seen: undefined, missed: false };
    this.#probes.add(probe);
    this.#undo ??= this.#hints.all(() => this.#hint());
    this.#inLine(() => this.#look(probe));
    return () => {
      this.#probes.delete(probe);
      if (this.#probes.size > 0) return;
      this.#undo?.();
      this.#due?.();
      this.#undo = this.#due = undefined;
    };
  }

  #hint(): void {
    for (const probe of this.#probes) probe.missed = true;
    this.#due ??= this.#clock.after(AFTER_MS, () => this.#inLine(() => this.#round()));
  }

  #inLine(next: () => Promise<void>): void {
    const before = this.#line;
    this.#line = (async () => {
      await before;
      await next();
    })();
  }

  async #round(): Promise<void> {
    // A hint from here on is for the next round: at most one waits in the queue.
    this.#due = undefined;
    for (const probe of Array.from(this.#probes)) await this.#look(probe);
  }

  async #look(probe: Probe): Promise<void> {
    if (!this.#probes.has(probe)) return;
    const now = await probe.look().catch(() => "");
    const changed = probe.seen === undefined ? probe.missed : probe.seen !== now;
    probe.seen = now;
    if (changed && this.#probes.has(probe)) probe.dirty();
  }
}
