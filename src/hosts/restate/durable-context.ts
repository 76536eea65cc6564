/** One handler of one virtual object, or of a service, which has no keys. */
export interface Handler {
  readonly object: string;
  readonly key?: string;
  readonly handler: string;
}

/** What a read of an actor needs of whatever makes it durable. */
export interface DurableReader {
  /** The text kept under that name. */
  get(name: string): Promise<string | undefined>;
}

/**
 * What a turn needs of whatever makes it durable: the turn runs again from the top
 * after a crash, and every method then gives what it gave the first time. From the first
 * `set` or `send` on a turn must not end otherwise than by returning: what was set and sent stays.
 * What waits rejects with `Withdrawn` once the invocation has been cancelled.
 */
export interface DurableContext extends DurableReader {
  /** Names this run of the turn, so that it can be cancelled. */
  invocation(): string;
  /** This attempt counts no more: another has begun elsewhere, or will. */
  superseded(): AbortSignal;
  set(name: string, text: string): void;
  clear(name: string): void;
  /** Runs `action` and keeps its JSON; again only where the crash came between the two, or where it throws. */
  run(name: string, action: () => Promise<unknown>): Promise<unknown>;
  /** Waits for another handler's outcome. */
  call(to: Handler, input: unknown): Promise<unknown>;
  /** Waits for all of them: they run beside each other. */
  callAll(calls: readonly (readonly [to: Handler, input: unknown])[]): Promise<readonly unknown[]>;
  /** In order for each pair of objects; `afterMs` from now where it is given, in no order. */
  send(to: Handler, input: unknown, afterMs?: number): void;
  /** Holds the key. */
  sleep(ms: number): Promise<void>;
}

/** The invocation was cancelled: nothing was applied by what waited just now. */
export class Withdrawn extends Error {
  override readonly name = "Withdrawn";
}
