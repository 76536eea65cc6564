import type { ActorId } from "./actor.ts";
import type { Change } from "./engine.ts";
import { tellOf } from "./told.ts";

/** Who is told of changes: a fact, once, after the commit. */
export class Watchers {
  readonly #topics = new Map<string, Set<(change: Change) => unknown>>();
  readonly #fault: (error: unknown, change: Change) => void;

  constructor(fault: (error: unknown, actor: ActorId) => void) {
    this.#fault = (error, { id }) => fault(error, id);
  }

  add(topic: string, listener: (change: Change) => void): () => void {
    // One listener watching twice is told twice: each subscription has its own undo.
    const own = (change: Change): unknown => listener(change);
    const listeners = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, listeners);
    listeners.add(own);
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#topics.get(topic) === listeners) this.#topics.delete(topic);
    };
  }

  /** Whether anybody would hear: saves building the change. */
  hears(id: ActorId, kindTopic: string): boolean {
    return this.#topics.size > 0 && (this.#topics.has(id) || this.#topics.has(kindTopic) || this.#topics.has("*/*"));
  }

  tell(change: Change, kindTopic: string): void {
    this.#tell(change.id, change);
    this.#tell(kindTopic, change);
    this.#tell("*/*", change);
  }

  #tell(topic: string, change: Change): void {
    const listeners = this.#topics.get(topic);
    if (listeners === undefined) return;
    // Those that are there now: one that leaves and comes back whenever it is told would be told for ever.
    for (const listener of Array.from(listeners)) if (listeners.has(listener)) tellOf(listener, change, this.#fault);
  }
}
