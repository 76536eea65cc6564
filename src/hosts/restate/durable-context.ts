// Owns: what turns need from outside: a durable context, and the node that runs them. Does not own: the SDK's implementation (sdk.ts),
// the node's (node.ts).
import type { IndexChanges } from "../../core/chain/internal.ts";
import type { Change, Message, RolesByKind, Step, Viewer } from "../../core/contract/index.ts";
import type { WorkHost } from "./durable-work.ts";
import type { Names } from "./names.ts";
import type { Sealer } from "./sealer.ts";

/** A handler of a virtual object, or of a service, which has no keys. */
export interface Handler {
  readonly object: string;
  readonly key?: string;
  readonly handler: string;
}

/** Reads durable state. */
export interface DurableReader {
  /** The text stored under that name. */
  get(name: string): Promise<string | undefined>;
}

/** Reads and writes durable state. */
export interface DurableWriter extends DurableReader {
  set(name: string, text: string): void;
  clear(name: string): void;
}

/**
 * What makes a turn durable. After a crash the turn runs again from the start, and every method returns what it returned the first time.
 * After the first `set` or `send`, a turn must end by returning, since what was set and sent stays. Once the invocation is cancelled,
 * pending methods reject with `InvocationCancelled`.
 */
export interface DurableContext extends DurableWriter {
  /** Id of this invocation, by which it can be cancelled. */
  invocation(): string;
  /** Aborted once another attempt has started elsewhere, or will start. */
  superseded(): AbortSignal;
  /** Runs `action` and journals its JSON. Runs it again only after a crash in between, or if it throws. */
  run(name: string, action: () => Promise<unknown>): Promise<unknown>;
  /** Calls another handler and waits for its result. */
  call(to: Handler, input: unknown): Promise<unknown>;
  /** Calls all of them concurrently. */
  callAll(calls: readonly (readonly [to: Handler, input: unknown])[]): Promise<readonly unknown[]>;
  /** Sends in order per pair of objects. With `afterMs`, sends after that time, in no order. */
  send(to: Handler, input: unknown, afterMs?: number): void;
  /** Holds the key. */
  sleep(ms: number): Promise<void>;
}

/** The invocation was cancelled. What was being waited for was not applied. */
export class InvocationCancelled extends Error {
  override readonly name = "InvocationCancelled";
}

/** Runs `step` to completion despite cancellation, by running it again. Its commands are journalled, so every attempt does the same. */
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
  /** How turns change the indexes of this node. */
  readonly indexes: IndexChanges;
  /** How long replies to keyed calls are stored (C4). */
  readonly keyMs: number;
  /** Pause after a delivery's first failure; four times as long after the second. */
  readonly retryMs: number;
  knows(kind: string): boolean;
  /** True if a link may reach actors of that kind: their keyed calls are found by their keys alone. */
  isLinked(kind: string): boolean;
  sealerFor(kind: string): Sealer;
  /** The roles of this caller, in the kinds of this node. */
  rolesOf(viewer: Viewer): RolesByKind;
  seed(): string;
  /**
   * Announces a change that is about to be durable; receivers read the actor before they notify anyone (C2). `message`: its caller is
   * notified anyway.
   */
  hint(change: Change, message?: Message): void;
  /** Reports progress to callers, at any node, that wait for the deferred replies to these messages. */
  report(steps: Readonly<Record<string, Step>>): void;
}
