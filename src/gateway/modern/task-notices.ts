import type { Channel } from "../../contract/index.ts";
import { told } from "../../contract/internal.ts";
import type { Task } from "./task.ts";

/** Tells a stream of the tasks it asked for: of each how it stands once the stream can be written to, and nothing of what was before (C8). */
export class TaskNotices {
  readonly #channel: Channel;
  readonly #textOf: (task: Task) => string;
  readonly #undo: readonly (() => void)[];
  readonly #stale: Set<Task>;
  #waits: (() => void) | undefined;

  /** Of each at once: it may have ended before anybody listened. */
  constructor(channel: Channel, tasks: readonly Task[], textOf: (task: Task) => string) {
    this.#channel = channel;
    this.#textOf = textOf;
    this.#stale = new Set(tasks);
    this.#undo = tasks.map((task) =>
      task.watch(() => {
        this.#stale.add(task);
        this.#tell();
      }),
    );
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
      // Its client has gone: the task, which tells others too, goes on.
      told(
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

  stop(): void {
    for (const undo of this.#undo) undo();
    this.#waits?.();
  }
}
