// Owns: receipts, changes, snapshots and memory events whose event id, a hash, is computed only when it is read.
// Does not own: when they are sent (announce.ts), or how an event is hashed (chain).
import { eventOf, type Kind, type Plan, statusOf } from "../chain/internal.ts";
import type { ActorId, Change, ChainEvent, Json, Message, Receipt, Reply, Snapshot, Status } from "../contract/index.ts";

// They are classes because each object literal with a getter
// gets a hidden class of its own, which outlives the object with everything its getter captures.

interface HasHead {
  readonly head: string;
}

export class LazyReceipt implements Receipt {
  readonly actor: ActorId;
  readonly seq: number;
  readonly #of: HasHead;

  constructor(actor: ActorId, seq: number, of: HasHead) {
    this.actor = actor;
    this.seq = seq;
    this.#of = of;
  }

  get head(): string {
    return this.#of.head;
  }

  toJSON(): Receipt {
    return { actor: this.actor, seq: this.seq, head: this.head };
  }
}

export class LazyChange implements Change {
  readonly id: ActorId;
  readonly seq: number;
  readonly status: Status;
  readonly emit?: readonly Json[];
  readonly #of: HasHead;

  constructor(id: ActorId, seq: number, status: Status, of: HasHead, emit?: readonly Json[]) {
    this.id = id;
    this.seq = seq;
    this.status = status;
    this.#of = of;
    if (emit !== undefined) this.emit = emit;
  }

  get head(): string {
    return this.#of.head;
  }

  toJSON(): Change {
    const { id, seq, head, status, emit } = this;
    return { id, seq, head, status, ...(emit === undefined ? undefined : { emit }) };
  }
}

export class LazySnapshot extends LazyChange implements Snapshot {
  readonly uid: string;
  readonly state: Json;
  readonly version: number;
  readonly createdAt: number;
  readonly lastMessageAt: number;
  readonly messageCount: number;
  readonly persistence: Snapshot["persistence"];
  readonly owner?: string;

  constructor(known: Snapshot, of: HasHead, owner: string | undefined) {
    super(known.id, known.seq, known.status, of);
    this.uid = known.uid;
    this.state = known.state;
    this.version = known.version;
    this.createdAt = known.createdAt;
    this.lastMessageAt = known.lastMessageAt;
    this.messageCount = known.messageCount;
    this.persistence = known.persistence;
    if (owner !== undefined) this.owner = owner;
  }

  override toJSON(): Snapshot {
    const { uid, state, version, createdAt, lastMessageAt, messageCount, persistence, owner } = this;
    const known = { uid, state, version, createdAt, lastMessageAt, messageCount, persistence };
    return { ...super.toJSON(), ...known, ...(owner === undefined ? undefined : { owner }) };
  }
}

/**
 * A memory actor's last event, hashed on first read. It names its parent only if the parent's id was read too.
 * Every live memory actor has one, so it retains only what the event's text consists of.
 */
export class MemoryEvent {
  readonly seq: number;
  readonly status: Status;
  readonly #kind: Kind;
  readonly #message: Message;
  readonly #life: string;
  readonly #state: Json;
  readonly #reply: Reply | "later";
  /** Most turns have neither. */
  readonly #more: Pick<Plan, "sent" | "record"> | undefined;
  /** The parent's id until the event is read; then the event. */
  #known: string | ChainEvent | null;

  constructor(kind: Kind, plan: Plan, before: MemoryEvent | undefined) {
    this.seq = plan.seq;
    this.status = statusOf(plan);
    this.#kind = kind;
    this.#message = plan.message;
    this.#life = plan.life;
    this.#state = plan.state;
    this.#reply = plan.reply;
    const { sent, record } = plan;
    this.#more = sent.length === 0 && record === undefined ? undefined : { sent, record };
    this.#known = before === undefined || !isEvent(before.#known) ? null : before.#known.id;
  }

  get event(): ChainEvent {
    if (isEvent(this.#known)) return this.#known;
    const turn = {
      message: this.#message,
      life: this.#life,
      seq: this.seq,
      state: this.#state,
      patch: undefined,
      sent: this.#more?.sent ?? NOTHING,
      reply: this.#reply,
      record: this.#more?.record,
    };
    return (this.#known = eventOf(this.#kind, turn, this.#known, true));
  }

  get head(): string {
    return this.event.id;
  }
}

const NOTHING: readonly string[] = [];

const isEvent = (known: string | ChainEvent | null): known is ChainEvent => typeof known === "object" && known !== null;
