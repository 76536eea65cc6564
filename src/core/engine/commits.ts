/**
 * From a planned turn to the disk and back.
 *
 * C2: a turn's effects are let out by `#land` alone: commit, announce, reply.
 */
import { entryOf, faults, messagesOf, OK_NULL, type Plan } from "../chain/internal.ts";
import type { ActorId, EngineError, Entry, Message, Stored } from "../contract/index.ts";
import { asked } from "./asked.ts";
import { tellDropped } from "./dropped.ts";
import { farewell } from "./family.ts";
import type { Job, Task } from "./job.ts";
import { LastEvent } from "./last-event.ts";
import { Flight, Lead, type LeadEnds, type Rider } from "./lead.ts";
import { type Place, Standing } from "./standing.ts";
import { Tail, wake } from "./stored.ts";

/** Turns handed over and not yet durable: more would only wait in another queue. */
const LONGEST_LEAD = 512;
const NOTHING: readonly Message[] = [];
const NOBODY: readonly Rider[] = [];

/** The part of a cell between a plan and its reply: in memory, or on the disk with a lead. */
export abstract class Commits extends Standing implements LeadEnds {
  /** While the store is asked what the actor is. */
  loading: Promise<void> | undefined;
  /** What has to be known before the actor's next life begins. */
  protected awaited: Promise<void> | undefined;
  /** While its children are stopped. */
  #ending: Promise<void> | undefined;

  /** A memory actor has begun. */
  protected abstract began(): void;
  /** A memory actor has ended. */
  protected abstract ended(): void;
  /** Its wakes or its expiry are others now. */
  protected abstract timed(): void;
  /** Another cell shall stand for the actor. */
  protected abstract forget(): void;

  /** Settles when the store has answered for all that was handed to it. */
  async settled(): Promise<void> {
    while (this.lead !== undefined || this.loading !== undefined || this.awaited !== undefined || this.#ending !== undefined) {
      await this.awaited;
      await this.loading;
      await this.lead?.over();
      await this.#ending;
    }
  }

  /** Settles when the store has answered for the lead; undefined: there is none. */
  landing(): Promise<void> | undefined {
    return this.lead?.over();
  }

  /** A reply to a call of that key that is on its way to the disk: settles when it is there, or will not be. */
  answering(key: string): Promise<void> | undefined {
    return this.lead?.answering(key);
  }

  protected commit(job: Job, plan: Plan, above: ReadonlySet<ActorId>): void {
    if (plan.born ? plan.extra.policy.persistence === "memory" : this.memory) this.#commitHere(job, plan, above);
    else this.#handOver(job, plan, above);
  }

  #commitHere(job: Job, plan: Plan, above: ReadonlySet<ActorId>): void {
    const last = new LastEvent(this.kind, plan, this.last);
    this.memory = true;
    this.tail = undefined;
    this.take(plan);
    this.last = last;
    if (plan.born) this.began();
    const out = plan.sends.length === 0 ? NOTHING : messagesOf(plan, this.host.clock.now(), undefined);
    if (plan.stop === undefined) return this.#land(job, plan, last, out);
    job.phase = "commit";
    this.#leaveHere(job, plan, last, out, above);
  }

  // What a function closes over it puts on the heap each time it is entered, closed over or not: those of turns close over nothing.
  #leaveHere(job: Job, plan: Plan, last: LastEvent, out: readonly Message[], above: ReadonlySet<ActorId>): void {
    this.ended();
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
    const { handOver } = this.host;
    if (handOver === undefined) throw faults.engineMissing(this.kind.name, "store");
    const tail = this.tail ?? new Tail();
    const place = {
      parent: tail.head,
      full: plan.born || tail.wantsFull,
      messageCount: plan.born ? 1 : this.messageCount + 1,
      lastMessageAt: this.lastAt,
      consumed: job.consumed,
    };
    const now = this.host.clock.now();
    const turn = entryOf(this.kind, plan, place, now);
    const leave = plan.stop === undefined ? undefined : { message: farewell(plan, now, turn.event.id), above };
    const entry = leave === undefined ? turn : { ...turn, out: [...turn.out, leave.message] };
    this.lead ??= new Lead(this.id, this.now(), this);
    this.memory = false;
    this.take(plan);
    // One object in every row: what has not changed is not written again.
    if (plan.setWakes.length > 0) this.extra = { ...plan.extra, wakes: entry.row.wakes };
    tail.grow(entry);
    this.tail = tail;
    job.phase = "commit";
    this.lead.add(new Flight(this.lead, job, plan, entry, leave), handOver);
    // Another life must not begin on a stop that may be dropped.
    if (plan.stop !== undefined) this.hold = "quiet";
    else if (this.lead.length >= LONGEST_LEAD) this.hold = "full";
  }

  // ── what its lead tells ───────────────────────────────────────────────────

  landed(flight: Flight): void {
    const { job, leave } = flight;
    job.kept = job.consumed !== undefined;
    if (leave === undefined) this.#touchDown(flight, flight.entry.out);
    else this.#leaveFlight(flight, leave);
  }

  shorter(): void {
    const left = this.lead?.length ?? 0;
    if (left === 0) this.lead = undefined;
    if ((this.hold === "quiet" && left === 0) || (this.hold === "full" && left < LONGEST_LEAD / 2)) this.hold = undefined;
    if (this.free) this.pump();
  }

  failing(): void {
    this.hold = "load";
  }

  /** C2: the whole lead is dropped, and the actor is what the store says it is. */
  dropped(flights: readonly Flight[]): void {
    this.lead = undefined;
    this.loading = this.#reload(flights);
  }

  #leaveFlight(flight: Flight, { message, above }: NonNullable<Flight["leave"]>): void {
    this.#leave(flight.job, message, above, () => this.#touchDown(flight, flight.entry.out.slice(0, -1)));
  }

  #touchDown(flight: Flight, out: readonly Message[]): void {
    const { job, plan, entry } = flight;
    this.#land(job, plan, { seq: plan.seq, head: entry.event.id, status: entry.row.status }, out);
    // Whoever is told of it may have come to ride.
    for (const rider of flight.riders ?? NOBODY) rider.done();
  }

  /** C2: the commit has been; now announce, then reply. */
  #land(job: Job, plan: Plan, place: Place, out: readonly Message[]): void {
    const { host } = this;
    job.answered = plan.answered;
    this.announce(place, plan.emit);
    if (plan.report !== undefined || plan.restart !== undefined) this.#landRare(job, plan);
    if (plan.answers.length > 0) this.#answer(plan.answers, place);
    if (plan.reply !== "later") {
      this.receipt(job, place);
      job.done(plan.reply);
    } else if (job.ended === undefined) host.laters.add(plan.message.id, job);
    else job.done(OK_NULL);
    if (out.length > 0) host.deliver(out, !this.memory);
    if (plan.timed) this.timed();
    if (this.memory && plan.remembered.length > 0) host.remember(this.id, plan.remembered);
  }

  #answer(answers: Plan["answers"], place: Place): void {
    for (const [of, reply] of answers) this.host.laters.answer(of, reply, (waiting) => this.receipt(waiting, place));
  }

  // Apart: each branch more on the way of all turns is one that V8 has to look through.
  #landRare(job: Job, { report = {}, restart = [], message: { action } }: Plan): void {
    const { host, id } = this;
    for (const [of, step] of Object.entries(report))
      host.laters.report(of, step, job, (error) => host.fault(error, { where: "progress", actor: id, action }));
    // Before what it sends them: that is for who has been restarted.
    for (const child of restart) host.restart(child, id);
  }

  // ── the store ─────────────────────────────────────────────────────────────

  /**
   * Puts an event into the chain that is no message's: made of what the store has,
   * when nothing is on its way there. What the cell knows is read anew after it.
   */
  append(make: (stored: Stored) => Entry): Promise<Entry> {
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    const task: Task = {
      run: () => {
        if (this.memory) return reject(faults.noActor(this.id));
        if (this.lead !== undefined) return this.park(task);
        this.hold = "load";
        this.loading = asked(this.#appended(make))
          .then(resolve, reject)
          .then(() => this.#reload([], () => this.announceNow()));
      },
      abandon: reject,
    };
    this.push(task);
    return promise;
  }

  async #appended(make: (stored: Stored) => Entry): Promise<Entry> {
    const { store } = this.host;
    const stored = await store?.load(this.id);
    if (store === undefined || stored === undefined) throw faults.noActor(this.id);
    const entry = make(stored);
    await store.commit(this.id, entry);
    return entry;
  }

  /** Asks the store what the actor is; what waits is refused where it cannot say. */
  load(): Promise<void> {
    this.hold = "load";
    return (this.loading = this.#reload([]));
  }

  async #reload(flights: readonly Flight[], before?: () => void): Promise<void> {
    let lost: EngineError | undefined;
    try {
      this.become(await wake(this.host.store, this.kind, this.id));
    } catch (error) {
      this.host.fault(error, { where: "store", actor: this.id });
      lost = faults.fromStore(error);
    }
    const landed = (flight: Flight): void => this.landed(flight);
    if (flights.length > 0) await tellDropped(this.id, this.host, flights, landed);
    this.loading = undefined;
    before?.();
    if (lost === undefined) {
      // Held until the children of an actor that stopped have: that ends by itself.
      if (this.#ending === undefined) this.release();
      return;
    }
    this.gone = lost;
    this.forget();
    this.refuseAll(lost);
  }
}
