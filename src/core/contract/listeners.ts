// Owns: sets of listeners, by topic too, and calling them safely. Does not own: what they are notified of.

import type { ActorId } from "./actor.ts";
import type { Change } from "./engine.ts";

/**
 * Who is told of something. Who is there is listed once for many tellings, since it seldom changes; a telling goes through the list
 * that it began with, past those who are not there any more. So one that leaves and comes back whenever it is told is told once,
 * where it would be told for ever. Whoever tells walks the list: a function for each telling costs a short call more than the rest.
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

  /** As they are now: what a telling begins with. */
  list(): readonly T[] {
    return (this.#listed ??= Array.from(this.#all));
  }

  /** Whether one of `list` is still there. */
  has(one: T, list: readonly T[]): boolean {
    return this.#listed === list || this.#all.has(one);
  }
}

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
    for (const watcher of list) if (watchers.has(watcher, list)) notify(watcher.listener, change, this.#fault);
  }
}

/** A caller's listener has run: what it throws, or rejects with, is its own fault, and nobody else hears of it. */
export function safeCall(tell: () => unknown, fault: (error: unknown) => void): void {
  notify(tell, undefined, fault);
}

/** The same of a listener that is told something: for whoever tells often, no function is made of the two. */
export function notify<T>(listener: (what: T) => unknown, what: T, fault: (error: unknown, what: T) => void): void {
  try {
    const answer = listener(what);
    // Of an async listener nobody would hear, and Node ends the process over that.
    if (answer instanceof Promise) answer.catch((error: unknown) => fault(error, what));
  } catch (error) {
    fault(error, what);
  }
}
