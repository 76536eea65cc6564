import type { IndexChanges } from "../../core/chain/internal.ts";
import type { Change, Message, RolesByKind, Step, Viewer } from "../../core/contract/index.ts";
import type { WorkHost } from "./durable-work.ts";
import type { Names } from "./names.ts";
import type { Sealer } from "./sealer.ts";

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
export class InvocationCancelled extends Error {
  override readonly name = "Withdrawn";
}

/** For what must be done whoever cancels it: `step` is begun again. Its commands are journalled with those before, so every attempt does the same. */
export async function uncancellable<T>(step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof InvocationCancelled)) throw error;
    }
  }
}

/** What actors need of the node that runs their turns. */
export interface NodeHost extends WorkHost {
  readonly names: Names;
  /** What turns mean for the indexes of this node. */
  readonly indexes: IndexChanges;
  /** How long replies to keyed calls are kept (C4). */
  readonly keyMs: number;
  /** The wait after a delivery's first failure, four times as long after the second. */
  readonly retryMs: number;
  knows(kind: string): boolean;
  sealerFor(kind: string): Sealer;
  /** The roles that this caller has, in the kinds of this node. */
  rolesOf(viewer: Viewer): RolesByKind;
  seed(): string;
  /** What is durable in a moment: whoever hears of it asks the actor before telling anybody (C2). `message`: whose caller is told anyway. */
  hint(change: Change, message?: Message): void;
  /** Callers of any node who wait for these messages' answers are told how far that is. */
  report(steps: Readonly<Record<string, Step>>): void;
}
