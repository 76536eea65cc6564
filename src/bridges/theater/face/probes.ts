import type { Clock } from "../../../core/contract/index.ts";
import type { ChangeHints } from "./hints.ts";

// Hints say that something changed, but not what. Content that few hints are about is polled this long after one.
const DELAY_MS = 250;

interface Poll {
  readonly read: () => Promise<string>;
  readonly dirty: () => void;
  lastSeen: string | undefined;
  /** A hint came before the first poll, which may already include the change. */
  isHinted: boolean;
}

/** Detects changes that only a poll can show. One poll at a time, whatever the number of watchers and hints. */
export class ChangePolls {
  readonly #hints: ChangeHints;
  readonly #clock: Clock;
  readonly #polls = new Set<Poll>();
  #queue: Promise<void> = Promise.resolve();
  #undo: (() => void) | undefined;
  #timer: (() => void) | undefined;

  constructor(hints: ChangeHints, clock: Clock) {
    this.#hints = hints;
    this.#clock = clock;
  }

  /** `look` returns the content in few characters; a throw counts as a content of its own. Returns a function that ends the watch. */
  add(read: () => Promise<string>, dirty: () => void): () => void {
    const poll: Poll = { read, dirty, lastSeen: undefined, isHinted: false };
    this.#polls.add(poll);
    this.#undo ??= this.#hints.forAll(() => this.#onHint());
    this.#enqueue(() => this.#poll(poll));
    return () => {
      this.#polls.delete(poll);
      if (this.#polls.size > 0) return;
      this.#undo?.();
      this.#timer?.();
      this.#undo = this.#timer = undefined;
    };
  }

  #onHint(): void {
    for (const poll of this.#polls) poll.isHinted = true;
    this.#timer ??= this.#clock.after(DELAY_MS, () => this.#enqueue(() => this.#round()));
  }

  #enqueue(next: () => Promise<void>): void {
    const before = this.#queue;
    this.#queue = (async () => {
      await before;
      await next();
    })();
  }

  async #round(): Promise<void> {
    // A hint from here on is for the next round: at most one waits in the queue.
    this.#timer = undefined;
    for (const poll of Array.from(this.#polls)) await this.#poll(poll);
  }

  async #poll(poll: Poll): Promise<void> {
    if (!this.#polls.has(poll)) return;
    const now = await poll.read().catch(() => "");
    const changed = poll.lastSeen === undefined ? poll.isHinted : poll.lastSeen !== now;
    poll.lastSeen = now;
    if (changed && this.#polls.has(poll)) poll.dirty();
  }
}
