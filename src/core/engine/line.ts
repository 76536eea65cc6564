import type { ActorId, EngineError } from "../contract/index.ts";
import { faults } from "../chain/internal.ts";
import type { Host } from "./host.ts";
import { Job, type Task } from "./job.ts";
import { Mailbox } from "./mailbox.ts";

/** Why the next task waits: a load, work, until the lead is durable, children that stop, a parent that is looked for, a lead grown too long. */
export type Hold = "load" | "work" | "quiet" | "stop" | "parent" | "full";

/**
 * One thing at a time, in order, inside the call that brings it where nothing is
 * before it.
 *
 * C1: a task is entered only while none runs and nothing holds the line.
 */
export abstract class Line {
  readonly id: ActorId;
  protected readonly host: Host;
  protected hold: Hold | undefined;
  protected running = false;
  /** Since the clock hand came by (`eviction.ts`). */
  used = true;
  #waiting: Mailbox<Task> | undefined;

  constructor(host: Host, id: ActorId) {
    this.host = host;
    this.id = id;
  }

  /** How many calls may wait. */
  protected abstract get room(): number;
  protected abstract get nextEvent(): number;
  protected abstract receive(job: Job): void;
  /** Nothing runs, waits or holds any more. */
  protected abstract rest(): void;

  get waiting(): number {
    return this.#waiting?.length ?? 0;
  }

  protected get free(): boolean {
    return this.hold === undefined && !this.running;
  }

  push(task: Task, urgent = false): void {
    this.used = true;
    if (this.free && this.waiting === 0) {
      this.enter(task);
      this.pump();
      return;
    }
    this.#waiting ??= new Mailbox();
    if (task instanceof Job) task.fresh = false;
    if (task instanceof Job && task.bounded && this.#waiting.length >= this.room) task.fail(faults.mailboxFull(this.id));
    else if (urgent) this.#waiting.addUrgent(task);
    else this.#waiting.add(task);
  }

  protected remove(job: Job): void {
    this.#waiting?.remove(job);
  }

  /** Refuses what waits. */
  refuseAll(error: EngineError): void {
    for (const task of this.#waiting?.drain() ?? []) {
      if (task instanceof Job) task.fail(error);
      else task.abandon(error);
    }
  }

  protected pump(): void {
    while (this.free) {
      const task = this.#waiting?.shift();
      if (task === undefined) {
        this.#waiting = undefined;
        this.rest();
        return;
      }
      this.enter(task);
    }
  }

  protected release(): void {
    this.hold = undefined;
    if (!this.running) this.pump();
  }

  /** Enters again, before all others, once the lead is durable. */
  protected park(task: Task): void {
    this.hold = "quiet";
    if (task instanceof Job) task.fresh = false;
    this.#waiting ??= new Mailbox();
    this.#waiting.addUrgent(task);
  }

  /** Ends a hold with a last act, which nothing may come before. */
  protected resume(task: Task, act: () => void): void {
    this.hold = undefined;
    this.enter(task, act);
    this.pump();
  }

  // C1: whatever is said to this actor meanwhile, by a listener say, finds it running and waits.
  protected enter(task: Task, act?: () => void): void {
    this.running = true;
    try {
      if (act) act();
      else if (task instanceof Job) this.receive(task);
      else task.run();
    } catch (error) {
      const told = faults.crashed(this.id, this.nextEvent, error);
      this.host.fault(error, { where: "turn", actor: this.id });
      if (task instanceof Job) task.fail(told);
      else task.abandon(told);
    } finally {
      this.running = false;
    }
  }
}
