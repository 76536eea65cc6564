/**
 * One actor in this process.
 *
 * C2: a turn's effects are let out by `#land` alone: commit, announce, reply.
 * C3: the cell changes in `#take` alone, after everything that can throw.
 */
import { EngineError } from "../contract/index.ts";
import type { ActorId, Entry, Json, Message, Reply, Snapshot, Status, Stored, Turn, Work } from "../contract/index.ts";
import { afterCrash } from "./crash.ts";
import {
  type Base,
  begin,
  entryOf,
  type Extra,
  faults,
  hasParent,
  type Kind,
  messagesOf,
  OK_NULL,
  type Plan,
  planTurn,
  received,
  statusOf,
} from "../chain/index.ts";
import { tellDropped } from "./dropped.ts";
import { farewell } from "./family.ts";
import { LastEvent } from "./last-event.ts";
import type { Host } from "./host.ts";
import { Job, type Ring, type Task } from "./job.ts";
import { LateChange, LateReceipt, LateSnapshot } from "./late-head.ts";
import { Flight, Lead, type Durable } from "./lead.ts";
import { Line } from "./line.ts";
import { Tail, wake, type Woken } from "./stored.ts";
import { WorkRun } from "./work.ts";

/** Turns handed over and not yet durable: more would only wait in another queue. */
const LONGEST_LEAD = 512;
const NEVER: readonly number[] = [];
const NOBODY: ReadonlySet<ActorId> = new Set();
const NOTHING: readonly Message[] = [];

type Place = Pick<Snapshot, "seq" | "head" | "status">;

export class Cell extends Line implements Base {
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
  /** Times of crashes within the window. */
  crashes: readonly number[] = NEVER;
  /** A memory actor's only event. */
  last: LastEvent | undefined;
  /** Out of the registry: another cell may stand for the actor. */
  forgotten = false;
  /** Passivation looks at it. */
  watchedOver = false;
  /** While the store is asked what the actor is. */
  loading: Promise<void> | undefined;
  /** The store could not say: this cell has been forgotten, another will ask again. */
  lost: EngineError | undefined;
  #tail: Tail | undefined;
  #lead: Lead | undefined;
  #work: WorkRun | undefined;
  #why: EngineError | undefined;
  /** While its children are stopped. */
  #ending: Promise<void> | undefined;

  constructor(host: Host, kind: Kind, id: ActorId, memory: boolean) {
    super(host, id);
    this.kind = kind;
    this.memory = memory;
    this.extra = kind.plain;
  }

  /** Nothing runs, waits or is on its way to the disk. */
  get quiet(): boolean {
    return this.free && this.#lead === undefined && this.waiting === 0;
  }

  /** Another look at the store would tell the same: not so where crashes have failed it. */
  get mayBeForgotten(): boolean {
    return this.status !== "failed" || this.crashes.length === 0;
  }

  get failure(): EngineError | undefined {
    return this.status === "failed" ? this.#why : undefined;
  }

  protected get room(): number {
    return this.extra.policy.mailbox;
  }

  protected get nextEvent(): number {
    return this.seq + 1;
  }

  protected rest(): void {
    if ((this.status !== "live" || this.host.draining) && this.quiet) this.host.rest(this);
  }

  /** The caller has left, or its time is over: heard up to the commit. */
  cancel(job: Job, error: EngineError): void {
    if (job.phase === "waiting") {
      this.remove(job);
      job.fail(error);
    } else if (job.phase === "work" && this.#work?.job === job) this.abortWork(error);
  }

  /** Raises the fence; the next message may run. */
  abortWork(error: EngineError): void {
    const work = this.#work;
    if (!work?.end(error)) return;
    this.#work = undefined;
    work.job.fail(error);
    this.release();
  }

  /** Settles when the store has answered for all that was handed to it. */
  async settled(): Promise<void> {
    while (this.#lead !== undefined || this.loading !== undefined || this.#ending !== undefined) {
      await this.loading;
      await this.#lead?.over();
      await this.#ending;
    }
  }

  /** Settles when the store has answered for the lead; undefined: there is none. */
  landing(): Promise<void> | undefined {
    return this.#lead?.over();
  }

  /** A reply to a call of that key that is on its way to the disk: settles when it is there, or will not be. */
  answering(key: string): Promise<void> | undefined {
    return this.#lead?.answering(key);
  }

  /** The last durable state (law 2); undefined before there is one. */
  snapshot(): Snapshot | undefined {
    if (this.seq === 0) return undefined;
    const { id, last } = this;
    const { state, seq, head, status, owner } = this.#lead?.durable ?? this.#now();
    if (seq === 0) return undefined;
    const now = this.status === "failed" ? "failed" : status;
    if (head === null && last !== undefined) return new LateSnapshot(id, seq, now, last, state, owner);
    return { id, seq, head: head ?? "", status: now, state, ...(owner === undefined ? undefined : { owner }) };
  }

  #now(): Durable {
    const status = this.status === "unborn" ? "live" : this.status;
    return { state: this.state, seq: this.seq, head: this.#tail?.head ?? null, status, owner: this.extra.owner };
  }

  // ── a message ─────────────────────────────────────────────────────────────

  protected receive(job: Job): void {
    if (job.phase === "over") return;
    const refusal = this.#refusal(job);
    if (refusal) return job.fail(refusal);
    if (this.status === "live") this.#receive(job, this, false);
    else this.#ifParentLives(job, () => this.#bear(job));
  }

  #receive(job: Job, base: Base, born: boolean): void {
    // Not the message's own time: one that waited long in the outbox comes now all the same.
    this.lastAt = this.host.clock.now();
    let effect: Turn<unknown> | Work<unknown>;
    try {
      effect = received(this.kind, base.state, job.message, base.life, this.seq + 1);
    } catch (error) {
      return this.#crash(job, error, "turn");
    }
    if (typeof effect === "function") this.#startWork(job, base, born, effect);
    else this.#conclude(job, base, born, effect, NOBODY);
  }

  #refusal({ message }: Job): EngineError | undefined {
    if (message.deadline !== undefined && message.deadline <= this.host.clock.now()) return faults.deadline(this.id);
    if (this.status === "failed") return this.#why;
    if (this.status === "live") {
      const { owner } = this.extra;
      const stranger = owner !== undefined && message.viewer !== undefined && message.viewer.principal !== owner;
      return stranger ? faults.noActor(this.id) : undefined;
    }
    if (message.start !== undefined) return undefined;
    return this.status === "unborn" ? faults.noActor(this.id) : faults.stopped(this.id);
  }

  /** A send begins no actor once its sender, which would be the parent, has ended that life. */
  #ifParentLives(job: Job, act: () => void): void {
    const { message } = job;
    const { from } = message;
    const { family } = this.host;
    if (job.bounded || from === undefined || !hasParent(this.kind)) return act();
    const go = (lives: boolean): void => (lives ? act() : job.fail(faults.parentStopped(this.id, from)));
    const sure = family.senderLives(message);
    if (sure !== undefined) return go(sure);
    this.hold = "parent";
    family.whenSure(message).then(
      // A moment later it may have stopped after all; nobody has changed it where that would have to be asked again.
      (lives) => this.resume(job, () => go(family.senderLives(message) ?? lives)),
      (error: unknown) => this.resume(job, () => job.fail(faults.fromStore(error))),
    );
  }

  /** Another life begins without the children of the last. */
  #bear(job: Job): void {
    const live = (): void => {
      const base = this.#begin(job);
      if (base !== undefined) this.#receive(job, base, true);
    };
    const stopping = this.life === "" ? undefined : this.host.family.stopChildren(this.id, NOBODY);
    if (stopping === undefined) return live();
    this.hold = "stop";
    stopping.then(
      () => this.resume(job, live),
      (error: unknown) => this.resume(job, () => job.fail(faults.fromStore(error))),
    );
  }

  #begin(job: Job): Base | undefined {
    const { message } = job;
    try {
      const { uid = this.life, muted } = this.extra;
      const base = begin(this.kind, this.id, message, this.life === "" ? undefined : { uid, ...(muted && { muted }) });
      const { persistence } = base.extra.policy;
      if (persistence === "distributed") throw faults.engineMissing(this.kind.name, "engine");
      if (persistence === "disk" && this.host.store === undefined) throw faults.engineMissing(this.kind.name, "store");
      return base;
    } catch (error) {
      if (error instanceof EngineError) job.fail(error);
      else {
        this.host.fault(error, { where: "load", actor: this.id, action: message.action });
        job.fail(this.#failWith(faults.failed(this.id, "its first state could not be made", error)));
      }
      return undefined;
    }
  }

  #failWith(why: EngineError): EngineError {
    this.status = "failed";
    this.#why = why;
    this.#announceNow();
    return why;
  }

  #crash(job: Job, error: unknown, where: "turn" | "work"): void {
    this.host.fault(error, { where, actor: this.id, action: job.message.action });
    const { restart } = this.extra.policy;
    const { times, fails } = afterCrash(this.crashes, this.host.clock.now(), restart);
    this.crashes = times;
    if (fails) this.#failWith(faults.failed(this.id, `it crashed ${times.length} times within ${restart?.withinMs ?? 0} ms`, error));
    job.fail(faults.crashed(this.id, this.seq + 1, error));
  }

  #startWork(job: Job, base: Base, born: boolean, work: Work<unknown>): void {
    // C2: work starts only when all before it is durable; to receive once more is pure.
    if (this.#lead !== undefined) return this.park(job);
    this.hold = "work";
    job.phase = "work";
    const ended = (act: () => void): void => {
      this.#work = undefined;
      job.phase = "waiting";
      this.resume(job, act);
    };
    const run = new WorkRun(this.id, this.host, job, base.extra.policy.workMs, {
      turned: (turn) =>
        ended(() => {
          if (born) this.#ifParentLives(job, () => this.#conclude(job, base, true, turn, NOBODY));
          else this.#conclude(job, base, false, turn, NOBODY);
        }),
      threw: (error) => ended(() => this.#crash(job, error, "work")),
      timedOut: (error) => ended(() => job.fail(error)),
    });
    this.#work = run;
    run.start(work);
  }

  // ── a turn ────────────────────────────────────────────────────────────────

  /** Stops without the behaviour's doing. `above`: who is stopping already, and need not be told. */
  stop(job: Job, reason: string, above: ReadonlySet<ActorId>): void {
    const task: Task = {
      run: () => {
        if (this.seq === 0) job.fail(faults.noActor(this.id));
        else if (this.status === "stopped") job.done(OK_NULL);
        else this.#conclude(job, this, false, { stop: reason }, above);
      },
      abandon: (error) => job.fail(error),
    };
    this.push(task, true);
    this.abortWork(faults.stopped(this.id));
  }

  /** A wake has come: unless it was cancelled or put off meanwhile, it runs like any message. */
  ring({ name, isDue, message, ended, dropped }: Ring): void {
    const task: Task = {
      run: () => {
        const wakeUp = this.extra.wakes[name];
        if (this.status === "failed") return ended(undefined, this.#why ?? faults.stopped(this.id));
        if (this.status !== "live" || wakeUp === undefined || !isDue(wakeUp)) return ended(OK_NULL, undefined);
        const job = new Job(message(this.life));
        job.wake = name;
        job.bounded = false;
        job.ended = ended;
        if (dropped === undefined) this.receive(job);
        else this.#conclude(job, this, false, { record: { dropped } }, NOBODY);
      },
      abandon: (error) => ended(undefined, error),
    };
    this.push(task);
  }

  /** Drops what this process holds of the actor, its failure and its crashes included. */
  restart(job: Job): void {
    const task: Task = {
      run: () => {
        if (this.#lead !== undefined) return this.park(task);
        this.crashes = NEVER;
        if (this.memory) {
          if (this.status === "failed") this.status = this.seq === 0 ? "unborn" : "live";
          return this.#restarted(job);
        }
        void this.load().then(() => (this.lost === undefined ? this.#restarted(job) : job.fail(this.lost)));
      },
      abandon: (error) => job.fail(error),
    };
    this.push(task, true);
    this.abortWork(faults.cancelled(this.id));
  }

  #restarted(job: Job): void {
    this.#announceNow();
    // Its wakes have waited with it.
    this.host.timed(this);
    job.done(OK_NULL);
  }

  /**
   * Puts an event into the chain that is no message's: made of what the store has,
   * when nothing is on its way there. What the cell knows is read anew after it.
   */
  append(make: (stored: Stored) => Entry): Promise<Entry> {
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    const task: Task = {
      run: () => {
        if (this.memory) return reject(faults.noActor(this.id));
        if (this.#lead !== undefined) return this.park(task);
        this.hold = "load";
        this.loading = this.#appended(make)
          .then(resolve, reject)
          .then(() => this.#reload([], () => this.#announceNow()));
      },
      abandon: reject,
    };
    this.push(task);
    return promise;
  }

  async #appended(make: (stored: Stored) => Entry): Promise<Entry> {
    const { store } = this.host;
    try {
      const stored = await store?.load(this.id);
      if (store === undefined || stored === undefined) throw faults.noActor(this.id);
      const entry = make(stored);
      await store.commit(this.id, entry);
      return entry;
    } catch (error) {
      throw faults.fromStore(error);
    }
  }

  #conclude(job: Job, base: Base, born: boolean, turn: Turn<unknown>, above: ReadonlySet<ActorId>): void {
    const { id, extra } = this;
    let plan: Plan | undefined;
    try {
      plan = planTurn(base, job, turn, {
        id,
        seq: this.seq + 1,
        born,
        keyMs: this.host.keyMs,
        answersElsewhere: this.memory && job.consumed !== undefined,
        parentKnows: extra.parent !== undefined && above.has(extra.parent),
      });
      if (plan !== undefined) this.#commit(job, plan, above);
    } catch (error) {
      if (error instanceof EngineError) job.fail(error);
      else this.#crash(job, error, "turn");
      return;
    }
    if (plan !== undefined) return;
    const reply = turn.reply === undefined || turn.reply === "later" ? OK_NULL : turn.reply;
    // C2: a reply that saw the lead is told, or dropped, with it.
    if (this.#lead === undefined) this.#answer(job, reply, turn.emit);
    else this.#lead.ride({ done: () => this.#answer(job, reply, turn.emit), dropped: (error) => job.fail(error) });
  }

  #answer(job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
    const now = emit === undefined || emit.length === 0 || !("ok" in reply) ? undefined : this.snapshot();
    if (now) this.#announce(now, emit);
    job.done(reply);
  }

  #announce(at: Place, emit: readonly Json[] | undefined): void {
    const { watchers } = this.host;
    if (!watchers.hears(this.id, this.kind.topic)) return;
    watchers.tell(new LateChange(this.id, at.seq, at.status, at, emit?.length === 0 ? undefined : emit), this.kind.topic);
  }

  #announceNow(): void {
    const now = this.snapshot();
    if (now) this.#announce(now, undefined);
  }

  #commit(job: Job, plan: Plan, above: ReadonlySet<ActorId>): void {
    if (plan.born ? plan.extra.policy.persistence === "memory" : this.memory) this.#commitHere(job, plan, above);
    else this.#handOver(job, plan, above);
  }

  #commitHere(job: Job, plan: Plan, above: ReadonlySet<ActorId>): void {
    const last = new LastEvent(this.kind, plan, this.last);
    this.memory = true;
    this.#tail = undefined;
    this.#take(plan);
    this.last = last;
    if (plan.born) this.host.began(this);
    const out = plan.sends.length === 0 ? NOTHING : messagesOf(plan, this.host.clock.now(), undefined);
    if (plan.stop === undefined) return this.#land(job, plan, last, out);
    this.host.ended(this);
    this.#leave(job, farewell(plan, this.host.clock.now(), undefined), above, () => this.#land(job, plan, last, out));
  }

  /** A stop that is kept is told of once the actor's children have stopped, or could not be for now. */
  #leave(job: Job, message: Message, above: ReadonlySet<ActorId>, land: () => void): void {
    const leaving = this.host.family.leave(message, !this.memory, above);
    if (leaving === undefined) return land();
    this.hold = "stop";
    this.#ending = this.#left(leaving, job, land);
  }

  async #left(leaving: Promise<void>, job: Job, land: () => void): Promise<void> {
    await leaving;
    this.#ending = undefined;
    this.resume(job, land);
  }

  /** The next turn may run before the store has answered. */
  #handOver(job: Job, plan: Plan, above: ReadonlySet<ActorId>): void {
    const { store } = this.host;
    if (store === undefined) throw faults.engineMissing(this.kind.name, "store");
    const tail = this.#tail ?? new Tail();
    const place = {
      parent: tail.head,
      full: plan.born || tail.wantsFull,
      messageCount: this.messageCount + 1,
      lastMessageAt: this.lastAt,
      consumed: job.consumed,
    };
    const now = this.host.clock.now();
    const turn = entryOf(this.kind, plan, place, now);
    const leave = plan.stop === undefined ? undefined : { message: farewell(plan, now, turn.event.id), above };
    const entry = leave === undefined ? turn : { ...turn, out: [...turn.out, leave.message] };
    this.#lead ??= new Lead(this.id, this.#now(), {
      landed: (flight) => this.#landed(flight),
      shorter: () => this.#shorter(),
      failing: () => (this.hold = "load"),
      dropped: (flights) => this.#recover(flights),
    });
    this.memory = false;
    this.#take(plan);
    // One object in every row: what has not changed is not written again.
    if (plan.setWakes.length > 0) this.extra = { ...plan.extra, wakes: entry.row.wakes };
    tail.grow(entry);
    this.#tail = tail;
    job.phase = "commit";
    this.#lead.add(new Flight(job, plan, entry, leave), store);
    // Another life must not begin on a stop that may be dropped.
    if (plan.stop !== undefined) this.hold = "quiet";
    else if (this.#lead.length >= LONGEST_LEAD) this.hold = "full";
  }

  #take(plan: Plan): void {
    this.state = plan.state;
    this.bytes = plan.bytes;
    this.extra = plan.extra;
    this.seq = plan.seq;
    this.messageCount = plan.born ? 1 : this.messageCount + 1;
    if (plan.born) this.crashes = NEVER;
    this.life = plan.life;
    this.createdAt = plan.createdAt;
    this.status = statusOf(plan);
  }

  #landed({ job, plan, entry, leave, riders }: Flight): void {
    job.kept = job.consumed !== undefined;
    const place = { seq: plan.seq, head: entry.event.id, status: entry.row.status };
    if (leave === undefined) {
      this.#land(job, plan, place, entry.out);
      for (const rider of riders) rider.done();
    } else
      this.#leave(job, leave.message, leave.above, () => {
        this.#land(job, plan, place, entry.out.slice(0, -1));
        for (const rider of riders) rider.done();
      });
  }

  #shorter(): void {
    const left = this.#lead?.length ?? 0;
    if (left === 0) this.#lead = undefined;
    if ((this.hold === "quiet" && left === 0) || (this.hold === "full" && left < LONGEST_LEAD / 2)) this.hold = undefined;
    if (this.free) this.pump();
  }

  /** C2: the commit has been; now announce, then reply. */
  #land(job: Job, plan: Plan, place: Place, out: readonly Message[]): void {
    const { host } = this;
    job.answered = plan.answered;
    this.#announce(place, plan.emit);
    for (const [of, reply] of plan.answers) host.laters.answer(of, reply, (waiting) => this.#receipt(waiting, place));
    if (plan.reply !== "later") {
      this.#receipt(job, place);
      job.done(plan.reply);
    } else if (job.ended === undefined) host.laters.add(plan.message.id, job);
    else job.done(OK_NULL);
    if (out.length > 0) host.deliver(out, !this.memory);
    if (plan.timed) host.timed(this);
    if (this.memory && plan.remembered.length > 0) host.remember(this.id, plan.remembered);
  }

  #receipt(job: Job, place: Place): void {
    const tell = job.options?.onReceipt;
    if (tell === undefined || job.phase === "over") return;
    try {
      tell(place instanceof LastEvent ? new LateReceipt(this.id, place.seq, place) : { actor: this.id, seq: place.seq, head: place.head });
    } catch (error) {
      this.host.fault(error, { where: "receipt", actor: this.id });
    }
  }

  // ── the store ─────────────────────────────────────────────────────────────

  /** Asks the store what the actor is; what waits is refused where it cannot say. */
  load(): Promise<void> {
    this.hold = "load";
    return (this.loading = this.#reload([]));
  }

  /** C2: the whole lead is dropped, and the actor is what the store says it is. */
  #recover(flights: readonly Flight[]): void {
    this.#lead = undefined;
    this.loading = this.#reload(flights);
  }

  async #reload(flights: readonly Flight[], before?: () => void): Promise<void> {
    let lost: EngineError | undefined;
    try {
      this.#become(await wake(this.host.store, this.kind, this.id));
    } catch (error) {
      this.host.fault(error, { where: "store", actor: this.id });
      lost = faults.fromStore(error);
    }
    if (flights.length > 0) await tellDropped(this.id, this.host.store, flights, (flight) => this.#landed(flight));
    this.loading = undefined;
    before?.();
    if (lost === undefined) {
      // Held until the children of an actor that stopped have: that ends by itself.
      if (this.#ending === undefined) this.release();
      return;
    }
    this.lost = lost;
    this.host.forget(this);
    this.refuseAll(lost);
  }

  #become(woken: Woken | undefined): void {
    this.#tail = woken?.tail;
    this.seq = woken?.seq ?? 0;
    this.status = woken?.row.status ?? "unborn";
    if (woken === undefined) return;
    const { row } = woken;
    this.life = row.life;
    this.createdAt = row.createdAt;
    this.lastAt = Math.max(this.lastAt, row.lastMessageAt);
    this.messageCount = row.messageCount;
    this.extra = woken.extra;
    this.state = woken.state;
    this.bytes = woken.bytes;
    if (woken.failure && row.status !== "stopped") {
      this.host.fault(woken.failure, { where: "load", actor: this.id });
      this.#failWith(woken.failure);
    }
  }
}
