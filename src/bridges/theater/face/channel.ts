import type { ChannelPeer, StageChannel } from "../stage.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import type { FaceLimits } from "./options.ts";

export interface Received {
  readonly messages: readonly Uint8Array[];
  /** How many messages before these were dropped. */
  readonly dropped: number;
  /** Why no more messages will come. */
  readonly closed?: string;
}

/** One channel of one viewer, with the messages it has not received yet. */
export class ViewerChannel implements ChannelPeer {
  readonly owner: string | undefined;
  readonly #limits: Pick<FaceLimits, "pendingMessages" | "pendingBytes">;
  readonly #listeners = new Set<() => void>();
  #actor = "";
  #stage: StageChannel | undefined;
  #pending: Uint8Array[] = [];
  #bytes = 0;
  #dropped = 0;
  #closed: string | undefined;
  /** When its viewer last used it. */
  lastUsedAt: number;

  constructor(owner: string | undefined, now: number, limits: Pick<FaceLimits, "pendingMessages" | "pendingBytes">) {
    this.owner = owner;
    this.lastUsedAt = now;
    this.#limits = limits;
  }

  opened(actor: string, stage: StageChannel): void {
    this.#actor = actor;
    this.#stage = stage;
  }

  get actor(): string {
    return this.#actor;
  }

  /** Undefined until the actor has accepted. */
  get stage(): StageChannel | undefined {
    return this.#stage;
  }

  /** Why it has ended. */
  get ended(): string | undefined {
    return this.#closed;
  }

  message(data: Uint8Array): void {
    if (this.#closed !== undefined) return;
    this.#pending.push(data);
    this.#bytes += data.length;
    while (this.#pending.length > this.#limits.pendingMessages || this.#bytes > this.#limits.pendingBytes) {
      this.#bytes -= this.#pending.shift()?.length ?? 0;
      this.#dropped += 1;
    }
    this.#notify();
  }

  closed(why: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = why.slice(0, 1_024);
    this.#notify();
  }

  /** Removes nothing. */
  peek(): Received {
    return {
      messages: [...this.#pending],
      dropped: this.#dropped,
      ...omitUndefined({ closed: this.#closed }),
    };
  }

  /** Removes the oldest messages, at most `limit`. `closed` comes with the last of them. */
  take(limit: number): Received {
    const messages = this.#pending.splice(0, limit);
    for (const { length } of messages) this.#bytes -= length;
    const dropped = this.#dropped;
    this.#dropped = 0;
    const closed = this.#pending.length === 0 ? this.#closed : undefined;
    if (messages.length > 0) this.#notify();
    return { messages, dropped, ...omitUndefined({ closed }) };
  }

  /** Whether `take` would return anything. */
  get hasPending(): boolean {
    return this.#pending.length > 0 || this.#closed !== undefined;
  }

  /** Calls `listener` when the pending messages have changed. Returns a function that removes it. */
  listen(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  #notify(): void {
    for (const listener of Array.from(this.#listeners)) listener();
  }
}
