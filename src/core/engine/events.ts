// Owns: how others learn of a turn: watchers by changes, callers by receipts, replies and progress; and what identifies its event.
// Does not own: when that happens (cell.ts), or how an event is hashed (chain).
import { eventOf, type Kind, OK_NULL, type Plan, statusOf } from "../chain/internal.ts";
import type { ActorId, CallOptions, Change, ChainEvent, Json, Message, Receipt, Reply, Snapshot, Status } from "../contract/index.ts";
import { hasOwn, notify } from "../contract/internal.ts";
import type { ActorState } from "./actor-state.ts";
import type { Cell } from "./cell.ts";
import type { Job } from "./job.ts";
import type { CellOps } from "./ops.ts";
import type { CommitWaiter, PendingCommit } from "./uncommitted.ts";

const NO_WAITERS: readonly CommitWaiter[] = [];

/** What identifies an event. */
type EventSummary = Pick<Snapshot, "seq" | "head" | "status">;

/** C2, C8: a turn is committed. Its change is published, then its callers get their replies, then its messages are delivered. */
export function announce(cell: Cell, job: Job, plan: Plan, event: EventSummary, sent: readonly Message[]): void {
  const { actor, ops } = cell;
  job.answered = plan.answered;
  publish(ops, actor, event, plan.emit);
  if (plan.report !== undefined || plan.restart !== undefined) reportAndRestart(ops, job, plan);
  if (plan.answers.length > 0) replyDeferred(ops, actor, plan.answers, event);
  if (plan.reply !== "later") {
    receipt(ops, actor, job, event);
    job.done(plan.reply);
  } else if (job.onEnd === undefined) ops.deferred.add(plan.message.id, job);
  else job.done(OK_NULL);
  if (sent.length > 0) ops.deliver(sent, !actor.memory);
  if (plan.timed) ops.timersChanged(cell);
  if (actor.memory && plan.remembered.length > 0) ops.remember(cell.id, plan.remembered);
}

/** The same for a turn that the store has committed. */
export function announceStored(cell: Cell, turn: PendingCommit, sent: readonly Message[]): void {
  const { job, plan, entry } = turn;
  announce(cell, job, plan, { seq: plan.seq, head: entry.event.id, status: entry.row.status }, sent);
  // Read here, since listeners may just have added waiters.
  for (const waiter of turn.waiters ?? NO_WAITERS) waiter.committed();
}

function publish({ watchers }: CellOps, { id, kind }: ActorState, event: EventSummary, emit: readonly Json[] | undefined): void {
  if (!watchers.hears(id, kind.topic)) return;
  watchers.tell(new LazyChange(id, event.seq, event.status, event, emit?.length === 0 ? undefined : emit), kind.topic);
}

/** Publishes the durable state without a turn. */
export function publishNow(cell: Cell, emit?: readonly Json[]): void {
  const now = cell.snapshot();
  if (now) publish(cell.ops, cell.actor, now, emit);
}

/** The reply of a turn that left no event. What it emits is published all the same, unless it is refused. */
export function replyWithoutEvent(cell: Cell, job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
  if (emit !== undefined && emit.length > 0 && hasOwn(reply, "ok")) publishNow(cell, emit);
  job.done(reply);
}

/** Sends a caller's receipt, which precedes its reply. */
function receipt(ops: CellOps, actor: ActorState, job: Job, event: EventSummary): void {
  const listener = job.options?.onReceipt;
  if (listener !== undefined && job.phase !== "over") sendReceipt(ops, actor, listener, event);
}

function sendReceipt(ops: CellOps, { id }: ActorState, listener: NonNullable<CallOptions["onReceipt"]>, event: EventSummary): void {
  const { seq } = event;
  notify(listener, event instanceof MemoryEvent ? new LazyReceipt(id, seq, event) : { actor: id, seq, head: event.head }, ops.receiptFault);
}

/** Replies to callers whose reply was deferred until now. */
function replyDeferred(ops: CellOps, actor: ActorState, answers: Plan["answers"], event: EventSummary): void {
  for (const [of, reply] of answers) ops.deferred.reply(of, reply, (waiting) => receipt(ops, actor, waiting, event));
}

// Few turns do this. It is a function of its own, so that `announce` stays small enough for V8 to optimise.
function reportAndRestart(ops: CellOps, job: Job, { id, report = {}, restart = [], message: { action } }: Plan): void {
  for (const [of, step] of Object.entries(report))
    ops.deferred.progress(of, step, job, (error) => ops.fault(error, { where: "progress", actor: id, action }));
  // Before the turn's messages are delivered: those are for the restarted child.
  for (const child of restart) ops.restart(child, id);
}

// The classes below compute an event's id, a hash, only when it is read. They are classes because each object literal with a getter
// gets a hidden class of its own, which outlives the object with everything its getter captures.

interface HasHead {
  readonly head: string;
}

class LazyReceipt implements Receipt {
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

class LazyChange implements Change {
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
