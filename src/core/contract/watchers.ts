import type { ActorId } from "./actor.ts";
import type { Change } from "./engine.ts";
import { Listeners } from "./listeners.ts";
import { tellOf } from "./told.ts";

/** One listener watching twice is told twice: each subscription is an object of its own. */
interface Watcher {
  readonly listener: (change: Change) => unknown;
}

/** Who is told of changes: a fact, once, after the commit. */
export class Watchers {
  readonly #topics = new Map<string, Listeners<Watcher>>();
  readonly #fault: (error: unknown, change: Change) => void;

  constructor(fault: (error: unknown, actor: ActorId) => void) {
    this.#fault = (error, { id }) => fault(error, id);
  }

  add(topic: string, listener: (change: Change) => void): () => void {
    const watcher: Watcher = { listener };
    const watchers = this.#topics.get(topic) ?? new Listeners();
    this.#topics.set(topic, watchers);
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
      if (watchers.none && this.#topics.get(topic) === watchers) this.#topics.delete(topic);
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
    const watchers = this.#topics.get(topic);
    if (watchers === undefined) return;
    const list = watchers.list();
    for (const watcher of list) if (watchers.has(watcher, list)) tellOf(watcher.listener, change, this.#fault);
  }
}
