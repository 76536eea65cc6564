/**
 * Parents and children.
 *
 * C2: an actor's stop is kept first, then its children stop, then it is told of. Until they have, a message for
 * that stands in the outbox (C5): whichever process comes next goes on with it. No child is born of a parent that
 * has stopped, or a send still on its way then would leave one behind.
 */
import { OK_NULL, faults, type Plan } from "../chain/internal.ts";
import type { ActorId, Message, Store } from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";
import type { FaultContext } from "./host.ts";
import type { Job } from "./job.ts";
import type { Registry } from "./registry.ts";

export interface FamilyHost {
  readonly store: Store | undefined;
  readonly registry: Registry;
  /** Whether actors of this kind may be in the store. */
  sleeps(kind: string): boolean;
  /** Ends one actor. `above`: who is stopping already, and need not be told. */
  stop(id: ActorId, reason: string, above: ReadonlySet<ActorId>): Promise<void>;
  /** The message is delivered until it has had its effect. */
  deliver(message: Message, kept: boolean): void;
  /** It has had it, unheard by the outbox. */
  done(messageId: string): void;
  fault(error: unknown, context: FaultContext): void;
}

const MARK = ".children";
/** Children that are stopped at once. */
const AT_ONCE = 128;
/** For a stop that no other is part of. */
export const NOBODY: ReadonlySet<ActorId> = new Set();

/** Stands in the outbox from an actor's stop until its children have ended. No other message has such an id. */
export const farewell = ({ id, life, seq, message }: Plan, at: number, cause: string | undefined): Message => ({
  id: `${life}.${seq}${MARK}`,
  to: id,
  action: "stop",
  args: null,
  at,
  seed: message.seed,
  from: id,
  ...(cause === undefined ? {} : { cause }),
});

export const isFarewell = ({ id }: Message): boolean => id.endsWith(MARK);

export class Family {
  readonly #host: FamilyHost;

  constructor(host: FamilyHost) {
    this.#host = host;
  }

  /** Undefined: there are none. Rejects with the first error once all have been tried. */
  stopChildren(id: ActorId, above: ReadonlySet<ActorId>): Promise<void> | undefined {
    const { store, registry } = this.#host;
    const here = registry.children(id);
    return store === undefined && here.length === 0 ? undefined : this.#stopAll(id, here, above);
  }

  async #stopAll(id: ActorId, here: readonly ActorId[], above: ReadonlySet<ActorId>): Promise<void> {
    const down = new Set([...above, id]);
    const kept = (await this.#host.store?.children(id)) ?? [];
    const children = [...new Set([...here, ...kept])].filter((child) => !down.has(child));
    const failed: unknown[] = [];
    for (let from = 0; from < children.length; from += AT_ONCE) {
      // Each is loaded to be stopped: of many at once nobody else would be served meanwhile.
      if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      const some = children.slice(from, from + AT_ONCE);
      const ends = await Promise.allSettled(some.map((child) => this.#host.stop(child, `its parent ${id} stops`, down)));
      for (const end of ends) if (end.status === "rejected" && !isGone(end.reason)) failed.push(end.reason);
    }
    if (failed.length > 0) throw failed[0];
  }

  /** The first try, while the actor that stops has told nobody yet. Never rejects: what fails is left to the outbox. Undefined: there are no children. */
  leave(message: Message, kept: boolean, above: ReadonlySet<ActorId>): Promise<void> | undefined {
    const stopping = this.stopChildren(message.to, above);
    return stopping && this.#left(stopping, message, kept);
  }

  async #left(stopping: Promise<void>, message: Message, kept: boolean): Promise<void> {
    try {
      await stopping;
      if (kept) this.#host.done(message.id);
    } catch (error) {
      this.#host.fault(error, { where: "outbox", actor: message.to, action: message.action });
      this.#host.deliver(message, kept);
    }
  }

  /** A farewell out of the outbox. */
  delivered(job: Job): void {
    const { to, id } = job.message;
    const known = this.#host.registry.get(to);
    const again = (): void => this.delivered(job);
    if (known?.loading !== undefined) return void known.loading.then(again, again);
    // Another life has begun, which has stopped what was left of the last one: these are its own.
    if (known?.status === "live" && !isOfLife(id, known.life)) return job.done(OK_NULL);
    const stopping = this.stopChildren(to, NOBODY);
    if (stopping === undefined) return job.done(OK_NULL);
    stopping.then(
      () => job.done(OK_NULL),
      (error: unknown) => job.fail(faults.fromStore(error)),
    );
  }

  /** Whether the actor that sent this is in the life it sent it in. Undefined: that is not sure yet, ask `whenSure`. */
  senderLives({ id, from }: Message): boolean | undefined {
    if (from === undefined) return true;
    const sender = this.#host.registry.get(from);
    if (sender === undefined) return this.#host.sleeps(kindOf(from)) ? undefined : false;
    if (sender.loading !== undefined || (sender.status === "stopped" && sender.landing() !== undefined)) return undefined;
    return sender.status !== "stopped" && isOfLife(id, sender.life);
  }

  /** The same, once the store has answered. Rejects with what it throws. */
  async whenSure(message: Message): Promise<boolean> {
    const { id, from } = message;
    for (;;) {
      const sure = this.senderLives(message);
      if (sure !== undefined || from === undefined) return sure ?? true;
      const sender = this.#host.registry.get(from);
      if (sender === undefined) {
        const row = (await this.#host.store?.load(from))?.row;
        if (this.#host.registry.get(from) === undefined) return row !== undefined && row.status !== "stopped" && isOfLife(id, row.life);
      } else {
        await sender.loading;
        await sender.landing();
      }
    }
  }
}

const isOfLife = (messageId: string, life: string): boolean => messageId.startsWith(life) && messageId.charAt(life.length) === ".";

/** A child that is no more needs no stopping. */
const isGone = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "NO_ACTOR";
