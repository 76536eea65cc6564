import type { CancelSignal } from "../../../core/contract/index.ts";
import { inLog } from "../errors.ts";
import type { Settings } from "../settings.ts";

/**
 * How long what was read to its end may still be asked for. Clients come back after seconds; one whose network has gone
 * without a word finds that out by the comments that no longer come, four times a minute.
 */
const KEPT_MS = 120_000;
/** Of more, the oldest is let go at once. */
const MOST = 10_000;

interface Reply {
  readonly session: string;
  readonly stream: string;
  /** Of the client it was sent to. */
  readonly gone: CancelSignal;
  readonly until: number;
}

/** Replies that were sent to their end: the store need not keep those for as long as their sessions last. */
export class Delivered {
  readonly #settings: Settings;
  readonly #replies = new Set<Reply>();
  #undo: (() => void) | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  add(session: string, stream: string, gone: CancelSignal): void {
    const { clock, streams } = this.#settings;
    if (streams.drop === undefined || gone.aborted) return;
    this.#replies.add({ session, stream, gone, until: clock.now() + KEPT_MS });
    if (this.#replies.size > MOST) this.#drop(this.#replies.values().next().value);
    this.#later(KEPT_MS);
  }

  close(): void {
    this.#undo?.();
    this.#replies.clear();
  }

  #later(ms: number): void {
    this.#undo ??= this.#settings.clock.after(ms, () => {
      this.#undo = undefined;
      const now = this.#settings.clock.now();
      for (const reply of this.#replies) {
        if (reply.until > now) return this.#later(reply.until - now);
        this.#drop(reply);
      }
    });
  }

  #drop(reply: Reply | undefined): void {
    if (reply === undefined) return;
    this.#replies.delete(reply);
    // It was sent, and not read to its end.
    if (reply.gone.aborted) return;
    const { streams, log } = this.#settings;
    streams.drop?.(reply.session, reply.stream).catch((error: unknown) => log("error", { event: "stream-drop-failed", ...inLog(error) }));
  }
}
