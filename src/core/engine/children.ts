// Owns: stopping an actor's children with it, and whether the parent of a new child lives.
// Does not own: how one actor stops or restarts (lifecycle.ts).
import { OK_NULL, faults, type Plan } from "../chain/internal.ts";
import type { ActorId, Message, Status, Store } from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";
import type { OnFault } from "./fault-reports.ts";
import type { Job } from "./job.ts";

/** The part of a cell that tells whether its actor lives. */
interface KnownActor {
  readonly actor: { readonly status: Status | "not-started"; readonly life: string };
  readonly loading: Promise<void> | undefined;
  /** Its turns that the store has not answered for. */
  readonly uncommitted: { whenEmpty(): Promise<void> } | undefined;
}

export interface ChildrenHost {
  readonly store: Store | undefined;
  /** The actors in memory. */
  readonly table: { get(id: ActorId): KnownActor | undefined; children(id: ActorId): readonly ActorId[] };
  /** Whether actors of this kind may be in the store. */
  mayBeStored(kind: string): boolean;
  stop(id: ActorId, reason: string, ancestors: Ancestors): Promise<void>;
  /** Delivers the message until it has had its effect. */
  deliver(message: Message, stored: boolean): void;
  /** The message has had its effect already, without the outbox. */
  done(messageId: string): void;
  readonly fault: OnFault;
}

const ID_SUFFIX = ".children";
const MAX_STOPPED_AT_ONCE = 128;
/** Actors whose stop causes another one: they are stopping already, and are not notified of it. */
export type Ancestors = ReadonlySet<ActorId>;
/** Of a stop that was not caused by a parent's stop. */
export const NO_ACTORS: Ancestors = new Set();

/**
 * Is in the outbox from an actor's stop until its children have stopped, so that the next process can continue after a crash (C5).
 * Only such messages have ids with this suffix.
 */
export const stopChildrenMessage = ({ id, life, seq, message }: Plan, at: number, cause: string | undefined): Message => ({
  id: `${life}.${seq}${ID_SUFFIX}`,
  to: id,
  action: "stop",
  args: null,
  at,
  seed: message.seed,
  from: id,
  ...(cause === undefined ? {} : { cause }),
});

export const isStopChildrenMessage = ({ id }: Message): boolean => id.endsWith(ID_SUFFIX);

/**
 * C2: an actor's stop is committed first, then its children stop, then the stop is published. A stopped parent gets no new children,
 * or a message that was on its way would leave one behind.
 */
export class Children {
  readonly #host: ChildrenHost;

  constructor(host: ChildrenHost) {
    this.#host = host;
  }

  /** Undefined: there are none. Rejects with the first error once all have been tried. */
  stopChildren(id: ActorId, ancestors: Ancestors): Promise<void> | undefined {
    const { store, table } = this.#host;
    const inMemory = table.children(id);
    return store === undefined && inMemory.length === 0 ? undefined : this.#stopAll(id, inMemory, ancestors);
  }

  async #stopAll(id: ActorId, inMemory: readonly ActorId[], ancestors: Ancestors): Promise<void> {
    const stopping = new Set([...ancestors, id]);
    const stored = (await this.#host.store?.children(id)) ?? [];
    const children = [...new Set([...inMemory, ...stored])].filter((child) => !stopping.has(child));
    const failed: unknown[] = [];
    for (let from = 0; from < children.length; from += MAX_STOPPED_AT_ONCE) {
      // Each has to be loaded first: too many at once would delay everything else.
      if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      const some = children.slice(from, from + MAX_STOPPED_AT_ONCE);
      const ends = await Promise.allSettled(some.map((child) => this.#host.stop(child, `its parent ${id} stops`, stopping)));
      for (const end of ends) if (end.status === "rejected" && !isMissing(end.reason)) failed.push(end.reason);
    }
    if (failed.length > 0) throw failed[0];
  }

  /** The first attempt, before the stop is published. Never rejects: failures are left to the outbox. Undefined: there are no children. */
  stopChildrenOf(message: Message, stored: boolean, ancestors: Ancestors): Promise<void> | undefined {
    const stopping = this.stopChildren(message.to, ancestors);
    return stopping && this.#orDeliver(stopping, message, stored);
  }

  async #orDeliver(stopping: Promise<void>, message: Message, stored: boolean): Promise<void> {
    try {
      await stopping;
      if (stored) this.#host.done(message.id);
    } catch (error) {
      this.#host.fault(error, { where: "outbox", actor: message.to, action: message.action });
      this.#host.deliver(message, stored);
    }
  }

  /** The outbox delivers a `stopChildrenMessage`. */
  delivered(job: Job): void {
    const { to, id } = job.message;
    const known = this.#host.table.get(to);
    const again = (): void => this.delivered(job);
    if (known?.loading !== undefined) return void known.loading.then(again, again);
    // A new life has started, and has stopped the children of the last one: the present children are its own.
    if (known?.actor.status === "live" && !isOfLife(id, known.actor.life)) return job.done(OK_NULL);
    const stopping = this.stopChildren(to, NO_ACTORS);
    if (stopping === undefined) return job.done(OK_NULL);
    stopping.then(
      () => job.done(OK_NULL),
      (error: unknown) => job.fail(faults.fromStore(error)),
    );
  }

  /** Whether the sender is still in the life it sent this in. Undefined: not known yet, call `whenSure`. */
  senderLives({ id, from }: Message): boolean | undefined {
    if (from === undefined) return true;
    const sender = this.#host.table.get(from);
    if (sender === undefined) return this.#host.mayBeStored(kindOf(from)) ? undefined : false;
    const { status, life } = sender.actor;
    if (sender.loading !== undefined || (status === "stopped" && sender.uncommitted !== undefined)) return undefined;
    return status !== "stopped" && isOfLife(id, life);
  }

  /** The same, once the store has answered. Rejects with what it throws. */
  async whenSure(message: Message): Promise<boolean> {
    const { id, from } = message;
    for (;;) {
      const lives = this.senderLives(message);
      if (lives !== undefined || from === undefined) return lives ?? true;
      const sender = this.#host.table.get(from);
      if (sender === undefined) {
        const row = (await this.#host.store?.load(from))?.row;
        if (this.#host.table.get(from) === undefined) return row !== undefined && row.status !== "stopped" && isOfLife(id, row.life);
      } else {
        await sender.loading;
        await sender.uncommitted?.whenEmpty();
      }
    }
  }
}

const isOfLife = (messageId: string, life: string): boolean => messageId.startsWith(life) && messageId.charAt(life.length) === ".";

/** A missing child needs no stop. */
const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "NO_ACTOR";
