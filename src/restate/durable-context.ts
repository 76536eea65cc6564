import type { Message } from "../contract/index.ts";

/** What a read of an actor needs of whatever makes it durable. */
export interface DurableReader {
  /** Undefined or null where nothing is kept under that name. */
  get(name: string): Promise<unknown>;
}

/**
 * What a turn needs of whatever makes it durable: the turn runs again from the top
 * after a crash, and every method then gives what it gave the first time. All that was
 * set and sent takes effect with the end of the turn, or not at all.
 */
export interface DurableContext extends DurableReader {
  /** `value` is JSON. */
  set(name: string, value: unknown): void;
  /** Runs `action`, which never throws, and keeps its JSON; again only where the crash came between the two. */
  run(name: string, action: () => Promise<unknown>): PromiseLike<unknown>;
  /** Milliseconds since 1970. */
  now(): Promise<number>;
  /** In order for each pair of actors. */
  send(message: Message): void;
}
