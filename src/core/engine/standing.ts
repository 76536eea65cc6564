/** What one actor is in this process, and who is told of it. C3: it changes in `take` and `become` alone. */
import { type Base, type Extra, type Kind, type Plan, statusOf } from "../chain/internal.ts";
import type { ActorId, CallOptions, EngineError, Json, Snapshot, Status } from "../contract/index.ts";
import { notify } from "../contract/internal.ts";
import type { Host } from "./host.ts";
import type { Job } from "./job.ts";
import { LastEvent } from "./last-event.ts";
import { LateChange, LateReceipt, LateSnapshot } from "./late-head.ts";
import type { Lead } from "./lead.ts";
import { Line } from "./line.ts";
import type { Tail, Woken } from "./stored.ts";

const NEVER: readonly number[] = [];

/** What is told of an event. */
export type Place = Pick<Snapshot, "seq" | "head" | "status">;

interface Trouble {
  readonly crashes: readonly number[];
  readonly why: EngineError | undefined;
}

export abstract class Standing extends Line implements Base {
  readonly kind: Kind;
  memory: boolean;
  status: Status | "unborn" = "unborn";
  state: Json = null;
  life = "";
  createdAt = 0;
  extra: Extra;
  bytes = 0;
  seq = 0;
  lastAt = 0;
  messageCount = 0;
  /** When the message of its last event came: `lastAt` moves with messages that leave none, too. */
  lastMessageAt = 0;
  /** Of the state. */
  version = 0;
  /** A memory actor's only event. */
  last: LastEvent | undefined;
  /** Where it waits to be looked at (`idle.ts`). */
  idlePlace = 0;
  idleIndex = 0;
  /** Out of the registry: another cell may stand for the actor. An error: the store could not say what it is. */
  gone: EngineError | true | undefined;
  protected tail: Tail | undefined;
  protected lead: Lead | undefined;
  /** Most never have any. */
  #trouble: Trouble | undefined;

  constructor(host: Host, kind: Kind, id: ActorId, memory: boolean) {
    super(host, id);
    this.kind = kind;
    this.memory = memory;
    this.extra = kind.plain;
  }

  get forgotten(): boolean {
    return this.gone !== undefined;
  }

  /** The store could not say what the actor is: another cell will ask again. */
  get lost(): EngineError | undefined {
    return this.gone === true ? undefined : this.gone;
  }

  /** Times of crashes within the window. */
  get crashes(): readonly number[] {
    return this.#trouble?.crashes ?? NEVER;
  }

  /** Why it has failed, or had before it was restarted. */
  protected get why(): EngineError | undefined {
    return this.#trouble?.why;
  }

  protected crashed(crashes: readonly number[]): void {
    this.#trouble = { crashes, why: this.why };
  }

  /** Nothing runs, waits or is on its way to the disk. */
  get quiet(): boolean {
    return this.free && this.lead === undefined && this.waiting === 0;
  }

  /** Crashes have failed it: no other look at the store would tell. */
  get broken(): boolean {
    return this.status === "failed" && this.crashes.length > 0;
  }

  get failure(): EngineError | undefined {
    return this.status === "failed" ? this.why : undefined;
  }

  protected get room(): number {
    return this.extra.policy.mailbox;
  }

  protected get nextEvent(): number {
    return this.seq + 1;
  }

  /** The last durable state (law 2); undefined before there is one. */
  snapshot(): Snapshot | undefined {
    if (this.seq === 0) return undefined;
    if (this.lead === undefined) return this.now();
    const { durable } = this.lead;
    if (durable.seq === 0) return undefined;
    return this.status === "failed" ? { ...durable, head: durable.head, status: "failed" } : durable;
  }

  protected now(): Snapshot {
    const { id, seq, last, state, version, createdAt, lastMessageAt, messageCount } = this;
    const { owner, uid = this.life } = this.extra;
    const status = this.status === "unborn" ? "live" : this.status;
    const persistence = this.memory ? "memory" : "disk";
    const head = this.tail?.head ?? null;
    const known: Snapshot = { id, uid, seq, head: head ?? "", status, state, version, createdAt, lastMessageAt, messageCount, persistence };
    if (head === null && last !== undefined) return new LateSnapshot(known, last, owner);
    return owner === undefined ? known : { ...known, owner };
  }

  /** A turn has been planned, and nothing of it can throw any more. */
  protected take(plan: Plan): void {
    this.state = plan.state;
    this.bytes = plan.bytes;
    this.extra = plan.extra;
    this.seq = plan.seq;
    this.messageCount = plan.born ? 1 : this.messageCount + 1;
    if (plan.born) this.#trouble = undefined;
    this.life = plan.life;
    this.createdAt = plan.createdAt;
    this.lastMessageAt = this.lastAt;
    this.version = this.kind.behaviour.version;
    this.status = statusOf(plan);
  }

  /** It is what the store says. */
  protected become(woken: Woken | undefined): void {
    this.tail = woken?.tail;
    this.seq = woken?.seq ?? 0;
    this.status = woken?.row.status ?? "unborn";
    if (woken === undefined) return this.#unborn();
    const { row } = woken;
    this.life = row.life;
    this.createdAt = row.createdAt;
    this.lastAt = Math.max(this.lastAt, row.lastMessageAt);
    this.lastMessageAt = row.lastMessageAt;
    this.messageCount = row.messageCount;
    this.version = woken.failure === undefined ? this.kind.behaviour.version : row.version;
    this.extra = woken.extra;
    this.state = woken.state;
    this.bytes = woken.bytes;
    if (woken.failure && row.status !== "stopped") {
      this.host.fault(woken.failure, { where: "load", actor: this.id });
      this.failWith(woken.failure);
    }
  }

  /** Nothing of a life that was removed, or never kept, goes on in the next. */
  #unborn(): void {
    this.life = "";
    this.extra = this.kind.plain;
    this.state = null;
  }

  protected failWith(why: EngineError): EngineError {
    this.status = "failed";
    this.#trouble = { crashes: this.crashes, why };
    this.announceNow();
    return why;
  }

  protected announce(at: Place, emit: readonly Json[] | undefined): void {
    const { watchers } = this.host;
    if (!watchers.hears(this.id, this.kind.topic)) return;
    watchers.tell(new LateChange(this.id, at.seq, at.status, at, emit?.length === 0 ? undefined : emit), this.kind.topic);
  }

  protected announceNow(): void {
    const now = this.snapshot();
    if (now) this.announce(now, undefined);
  }

  protected receipt(job: Job, place: Place): void {
    const tell = job.options?.onReceipt;
    if (tell !== undefined && job.phase !== "over") this.#receipt(tell, place);
  }

  #receipt(tell: NonNullable<CallOptions["onReceipt"]>, place: Place): void {
    const receipt =
      place instanceof LastEvent ? new LateReceipt(this.id, place.seq, place) : { actor: this.id, seq: place.seq, head: place.head };
    notify(tell, receipt, this.host.receiptFault);
  }
}
