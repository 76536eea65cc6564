/**
 * What names an event whose id is found when somebody asks for it: a memory actor's is hashed only for those who look.
 * Classes, since each object literal with a getter gets a hidden class of its own, which outlives it with all it closed over.
 */
import type { ActorId, Change, Json, Receipt, Snapshot, Status } from "../contract/index.ts";

/** Where the id comes from. */
export interface Headed {
  readonly head: string;
}

export class LateReceipt implements Receipt {
  readonly actor: ActorId;
  readonly seq: number;
  readonly #of: Headed;

  constructor(actor: ActorId, seq: number, of: Headed) {
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

export class LateChange implements Change {
  readonly id: ActorId;
  readonly seq: number;
  readonly status: Status;
  readonly emit?: readonly Json[];
  readonly #of: Headed;

  constructor(id: ActorId, seq: number, status: Status, of: Headed, emit?: readonly Json[]) {
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

export class LateSnapshot extends LateChange implements Snapshot {
  readonly uid: string;
  readonly state: Json;
  readonly version: number;
  readonly createdAt: number;
  readonly lastMessageAt: number;
  readonly messageCount: number;
  readonly persistence: Snapshot["persistence"];
  readonly owner?: string;

  constructor(known: Snapshot, of: Headed, owner: string | undefined) {
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
