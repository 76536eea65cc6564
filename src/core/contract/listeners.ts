// Owns: sets of listeners, by topic too, and calling them safely. Does not own: what they are notified of.

import type { ActorId } from "./actor.ts";
import type { Change } from "./engine.ts";

/**
 * A set of listeners. To notify, iterate over `list()`, a cached snapshot, and skip those that `has` denies: a listener that
 * re-subscribes while it is being notified is called once, not forever. The caller iterates, since a closure for each
 * notification would cost a short call more than everything else.
 */
export class Listeners<T extends object> {
  readonly #all = new Set<T>();
  #listed: readonly T[] | undefined;

  get none(): boolean {
    return this.#all.size === 0;
  }

  add(one: T): void {
    this.#all.add(one);
    this.#listed = undefined;
  }

  delete(one: T): void {
    if (this.#all.delete(one)) this.#listed = undefined;
  }

  /** A snapshot to iterate over; cached until the set changes. */
  list(): readonly T[] {
    return (this.#listed ??= Array.from(this.#all));
  }

  /** Whether a listener of the snapshot is still subscribed. */
  has(one: T, list: readonly T[]): boolean {
    return this.#listed === list || this.#all.has(one);
  }
}

/** One subscription. A function that subscribes twice is notified twice. */
interface Watcher {
  readonly listener: (change: Change) => unknown;
}

/** Listeners for changes of actors, by topic: an actor, a kind, or all. Each is notified once per change, after its commit. */
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

  /** Whether any listener matches. If not, the change need not be built. */
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
    for (const watcher of list) if (watchers.has(watcher, list)) notify(watcher.listener, change, this.#fault);
  }
}

/** Calls a caller's function. What it throws or rejects with goes to `fault`. */
export function safeCall(run: () => unknown, fault: (error: unknown) => void): void {
  notify(run, undefined, fault);
}

/** Calls a listener with a value, as safely. On frequent paths this saves the closure that `safeCall` needs. */
export function notify<T>(listener: (value: T) => unknown, value: T, fault: (error: unknown, value: T) => void): void {
  try {
    const answer = listener(value);
    // An unhandled rejection of an async listener would end the process.
    if (answer instanceof Promise) answer.catch((error: unknown) => fault(error, value));
  } catch (error) {
    fault(error, value);
  }
}
