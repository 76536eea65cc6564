import type { Channel } from "../../../core/contract/index.ts";
import { safeCall } from "../../../core/contract/internal.ts";
import type { Task } from "./task.ts";

/** Tells a stream of the tasks it asked for: of each how it stands once the stream can be written to, and nothing of what was before (C8). */
export class TaskNotices {
  readonly #channel: Channel;
  readonly #textOf: (task: Task) => string;
  /** Of each that goes on. */
  readonly #undo = new Map<Task, () => void>();
  readonly #stale: Set<Task>;
  #waits: (() => void) | undefined;

  /** Of each at once: it may have ended before anybody listened. */
  constructor(channel: Channel, tasks: readonly Task[], textOf: (task: Task) => string) {
    this.#channel = channel;
    this.#textOf = textOf;
    this.#stale = new Set(tasks);
    for (const task of tasks) {
      const undo = task.watch(() => {
        this.#stale.add(task);
        this.#tell();
      });
      this.#undo.set(task, undo);
    }
    this.#tell();
  }

  #tell(): void {
    if (this.#waits !== undefined) return;
    for (const task of this.#stale) {
      if (!this.#channel.ready) {
        this.#waits = this.#channel.onReady(() => this.#goOn());
        return;
      }
      this.#stale.delete(task);
      if (task.over) this.#leave(task);
      // Its client has gone: the task, which tells others too, goes on.
      safeCall(
        () => this.#channel.send(this.#textOf(task)),
        () => this.stop(),
      );
    }
  }

  #goOn(): void {
    this.#waits?.();
    this.#waits = undefined;
    this.#tell();
  }

  // What came of it may be long, and a stream may last for months.
  #leave(task: Task): void {
    this.#undo.get(task)?.();
    this.#undo.delete(task);
  }

  stop(): void {
    for (const undo of this.#undo.values()) undo();
    this.#undo.clear();
    this.#stale.clear();
    this.#waits?.();
  }
}
