import type { EngineError, Reply, Step } from "../contract/index.ts";
import { MultiMap, safeCall } from "../contract/internal.ts";
import type { Job } from "./job.ts";

/** Callers whose message was told "later". Their rows survive the process, their promises do not. */
export class Laters {
  readonly #waiting = new MultiMap<string, Job>();

  /** `messageId` is the message that was told "later"; a repeated keyed call waits for its first. */
  add(messageId: string, job: Job): void {
    this.#waiting.put(messageId, job);
    job.phase = "later";
    job.guard?.recheck?.();
  }

  /** A caller who does not wait any longer; the answer stays due. */
  leave(messageId: string, job: Job): void {
    this.#waiting.take(messageId, job);
  }

  /** `receipt` is told of each caller before its reply. */
  answer(messageId: string, reply: Reply, receipt: (job: Job) => void): void {
    for (const job of this.#take(messageId)) {
      receipt(job);
      job.done(reply);
    }
  }

  /** Tells them how far it is. `turn`: whose turn says so, and who may be told "later" by it; `fault`: what one of them throws. */
  report(messageId: string, { done, total, text }: Step, turn: Job, fault: (error: unknown) => void): void {
    const waiting = messageId === turn.message.id ? [turn] : this.#waiting.get(messageId);
    for (const { options } of waiting ?? []) safeCall(() => options?.onProgress?.(done, total, text), fault);
  }

  fail(messageId: string, error: EngineError): void {
    for (const job of this.#take(messageId)) job.fail(error);
  }

  failAll(error: EngineError): void {
    for (const messageId of this.#waiting.keys()) this.fail(messageId, error);
  }

  #take(messageId: string): Iterable<Job> {
    const jobs = this.#waiting.get(messageId);
    this.#waiting.delete(messageId);
    return jobs ?? [];
  }
}
