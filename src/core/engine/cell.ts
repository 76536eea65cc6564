/**
 * One actor in this process: from a message to a turn, or to work and then to a turn.
 *
 * C1: a message is entered while nothing else is. C3: all that can throw comes before the commit.
 */
import { EngineError } from "../contract/index.ts";
import type { ActorId, Json, Message, Reply, Turn, Work } from "../contract/index.ts";
import { invalidMessageReply, hasOwn } from "../contract/internal.ts";
import {
  afterCrash,
  type Base,
  begin,
  failedMessage,
  faults,
  hasParent,
  OK_NULL,
  type Plan,
  planTurn,
  received,
} from "../chain/internal.ts";
import { Commits } from "./commits.ts";
import { NOBODY } from "./family.ts";
import { Job, type Ring, type Task } from "./job.ts";
import type { Lead } from "./lead.ts";
import type { Hold } from "./line.ts";
import { WorkRun } from "./work.ts";

const NEVER: readonly number[] = [];
/** A turn that takes longer holds up everybody, since all share one event loop. */
const SLOW_MS = 100;

export class Cell extends Commits {
  #work: WorkRun | undefined;

  protected rest(): void {
    if ((this.status !== "live" || this.host.draining) && this.quiet) this.host.rest(this);
  }

  protected began(): void {
    this.host.began(this);
  }

  protected ended(): void {
    this.host.ended(this);
  }

  protected timed(): void {
    this.host.timed(this);
  }

  protected forget(): void {
    this.host.forget(this);
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

  // ── a message ─────────────────────────────────────────────────────────────

  protected receive(job: Job): void {
    if (job.phase === "over") return;
    const refusal = this.#refusal(job);
    if (refusal) return this.#lapses(job) ? job.done(OK_NULL) : job.fail(refusal);
    if (this.status === "live") this.#receive(job, this, false);
    else if (this.#isSent(job)) this.#birth(job);
    else this.#bear(job);
  }

  #receive(job: Job, base: Base, born: boolean): void {
    // Not the message's own time: one that waited long in the outbox comes now all the same.
    const from = (this.lastAt = job.fresh ? job.message.at : this.host.clock.now());
    this.#take(job, base, born);
    const ms = this.host.clock.now() - from;
    if (ms >= SLOW_MS) this.host.slow({ actor: this.id, action: job.message.action, ms });
  }

  #take(job: Job, base: Base, born: boolean): void {
    let effect: Turn<unknown> | Work<unknown>;
    try {
      effect = received(this.kind.behaviour, base.state, base, job.message, this.seq + 1);
    } catch (error) {
      return this.#crash(job, error, "turn");
    }
    if (typeof effect === "function") this.#startWork(job, base, born, effect);
    else this.#conclude(job, base, born, effect, NOBODY);
  }

  #refusal({ message }: Job): EngineError | undefined {
    if (message.deadline !== undefined && message.deadline <= this.host.clock.now()) return faults.deadline(this.id, false, false);
    if (this.status === "failed") return this.why;
    if (this.status === "live") {
      const { owner } = this.extra;
      const stranger = owner !== undefined && message.viewer !== undefined && message.viewer.principal !== owner;
      return stranger ? faults.noActor(this.id) : undefined;
    }
    if (message.start !== undefined) return undefined;
    return this.status === "unborn" ? faults.noActor(this.id) : faults.stopped(this.id);
  }

  #lapses({ message }: Job): boolean {
    return (this.status === "stopped" || this.status === "unborn") && this.kind.behaviour.lapses?.(message) === true;
  }

  #isSent({ bounded, message }: Job): boolean {
    return !bounded && message.from !== undefined && hasParent(this.kind);
  }

  // What a function closes over it puts on the heap each time it is entered: a call's way to a birth closes over nothing.
  #birth(job: Job): void {
    this.#ifParentLives(job, () => this.#bear(job));
  }

  /** A send begins no actor once its sender, which would be the parent, has ended that life. */
  #ifParentLives(job: Job, act: () => void): void {
    const { message } = job;
    const { from } = message;
    const { family } = this.host;
    if (from === undefined || !this.#isSent(job)) return act();
    const go = (lives: boolean): void => (lives ? act() : job.fail(faults.parentStopped(this.id, from)));
    const sure = family.senderLives(message);
    if (sure !== undefined) return go(sure);
    // A moment later it may have stopped after all; nobody has changed it where that would have to be asked again.
    this.#wait("parent", job, family.whenSure(message), (lives) => go(family.senderLives(message) ?? lives));
  }

  /** Another life begins without the children of the last. */
  #bear(job: Job): void {
    const stopping = this.life === "" ? undefined : this.host.family.stopChildren(this.id, NOBODY);
    if (stopping === undefined) this.#live(job);
    else this.#liveAfter(job, stopping);
  }

  #live(job: Job): void {
    const base = this.#begin(job);
    if (base !== undefined) this.#receive(job, base, true);
  }

  #liveAfter(job: Job, stopping: Promise<void>): void {
    this.#wait("stop", job, stopping, () => this.#live(job));
  }

  /** Holds the line for an answer, and goes on with it unless the caller has left meanwhile: it was told "not applied". */
  #wait<T>(hold: Hold, job: Job, answer: Promise<T>, act: (value: T) => void): void {
    this.hold = hold;
    job.fresh = false;
    const goOn = (run: () => void): void => {
      this.awaited = undefined;
      this.resume(job, () => {
        if (job.phase !== "over") run();
      });
    };
    this.awaited = answer.then(
      (value) => goOn(() => act(value)),
      (error: unknown) => goOn(() => job.fail(faults.fromStore(error))),
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
      const refusal = invalidMessageReply(error, message);
      if (refusal !== undefined) job.done(refusal);
      else if (error instanceof EngineError) job.fail(error);
      else {
        this.host.fault(error, { where: "load", actor: this.id, action: message.action });
        job.fail(this.failWith(faults.failed(this.id, "its first state could not be made", error)));
      }
      return undefined;
    }
  }

  #unplanned(job: Job, error: EngineError): void {
    const refusal = invalidMessageReply(error, job.message);
    if (refusal !== undefined) return job.done(refusal);
    if (faults.isAuthors(error)) this.host.fault(error, { where: "turn", actor: this.id, action: job.message.action });
    job.fail(error);
  }

  #crash(job: Job, error: unknown, where: "turn" | "work"): void {
    // No crash of the actor's, or whoever sends it could close an actor that bounds them.
    const refusal = invalidMessageReply(error, job.message);
    if (refusal !== undefined) return job.done(refusal);
    this.host.fault(error, { where, actor: this.id, action: job.message.action });
    // What has not begun has nothing to go on from: whoever makes up keys must not leave failures.
    if (this.status === "live") this.#countCrash(job.message, error);
    job.fail(faults.crashed(this.id, this.seq + 1, error));
  }

  #countCrash(message: Message, error: unknown): void {
    const { id, host, extra } = this;
    const { restart } = extra.policy;
    const { times, fails } = afterCrash(this.crashes, host.clock.now(), restart);
    this.crashed(times);
    if (!fails) return;
    const why = `it crashed ${times.length} times within ${restart?.withinMs ?? 0} ms`;
    this.failWith(faults.failed(id, why, error));
    const told = failedMessage(extra, id, why, message, host.clock.now());
    if (told !== undefined) host.deliver([told], false);
  }

  #startWork(job: Job, base: Base, born: boolean, work: Work<unknown>): void {
    // C2: work starts only when all before it is durable; to receive once more is pure.
    if (this.lead !== undefined) return this.park(job);
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
        whole: born || this.memory,
      });
      if (plan !== undefined) this.commit(job, plan, above);
    } catch (error) {
      if (error instanceof EngineError) this.#unplanned(job, error);
      else this.#crash(job, error, "turn");
      return;
    }
    if (plan !== undefined) return;
    const reply = turn.reply === "later" ? OK_NULL : (turn.reply ?? OK_NULL);
    // C2: a reply that saw the lead is told, or dropped, with it.
    if (this.lead === undefined) this.#answer(job, reply, turn.emit);
    else this.#ride(this.lead, job, reply, turn.emit);
  }

  #ride(lead: Lead, job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
    lead.ride({ done: () => this.#answer(job, reply, emit), dropped: (error) => job.fail(error) });
  }

  #answer(job: Job, reply: Reply, emit: readonly Json[] | undefined): void {
    const now = emit === undefined || emit.length === 0 || !hasOwn(reply, "ok") ? undefined : this.snapshot();
    if (now) this.announce(now, emit);
    job.done(reply);
  }

  // ── on the engine's account ───────────────────────────────────────────────

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
    this.#pushBeforeWork(task, faults.stopped(this.id));
  }

  /** Ends the work that holds the line, so that `task` is next. What begins while that runs, by a watcher's call say, goes on. */
  #pushBeforeWork(task: Task, why: EngineError): void {
    const holding = this.#work;
    this.push(task, true);
    if (holding !== undefined && holding === this.#work) this.abortWork(why);
  }

  /** A wake has come: unless it was cancelled or put off meanwhile, it runs like any message. */
  ring({ name, isDue, message, ended, dropped }: Ring): void {
    const task: Task = {
      run: () => {
        const wakeUp = this.extra.wakes[name];
        if (this.status === "failed") return ended(undefined, this.why ?? faults.stopped(this.id));
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
        if (this.lead !== undefined) return this.park(task);
        this.crashed(NEVER);
        if (this.memory) {
          if (this.status === "failed") this.status = this.seq === 0 ? "unborn" : "live";
          return this.#restarted(job);
        }
        void this.load().then(() => (this.lost === undefined ? this.#restarted(job) : job.fail(this.lost)));
      },
      abandon: (error) => job.fail(error),
    };
    this.#pushBeforeWork(task, faults.cancelled(this.id));
  }

  #restarted(job: Job): void {
    this.announceNow();
    // Its wakes have waited with it.
    this.timed();
    job.done(OK_NULL);
  }
}
