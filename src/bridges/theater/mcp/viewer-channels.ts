// Owns: the channels of each viewer, with messages not yet received. Does not own: the tools that use them (messaging-tools.ts).
import type { CancelSignal, Clock, Viewer } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type ChannelPeer, type Stage, type StageChannel, StageError } from "../stage.ts";
import type { FaceLimits } from "./options.ts";
import { withTimeLimit } from "./tool.ts";

interface Received {
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

// Ended channels that are remembered, so that a later call learns why.
const MAX_ENDED = 1_000;

/** The channels of all viewers. Each viewer has access to its own only. */
export class ViewerChannels {
  readonly #stage: Pick<Stage, "open">;
  readonly #clock: Clock;
  readonly #limits: FaceLimits;
  readonly #channels = new Set<ViewerChannel>();
  readonly #byId = new Map<string, ViewerChannel>();
  readonly #timers = new Map<string, () => void>();
  readonly #ended = new Map<string, { readonly owner: string | undefined; readonly why: string }>();
  #closed = false;

  constructor(stage: Pick<Stage, "open">, clock: Clock, limits: FaceLimits) {
    this.#stage = stage;
    this.#clock = clock;
    this.#limits = limits;
  }

  async open(viewer: Viewer, actor: string, initial: Uint8Array, signal: CancelSignal | undefined): Promise<StageChannel> {
    this.#ensureCapacity(viewer);
    const channel = new ViewerChannel(viewer.principal, this.#clock.now(), this.#limits);
    this.#channels.add(channel);
    const opening = this.#stage.open(actor, initial, channel);
    const bounds = { clock: this.#clock, ms: this.#limits.requestMs, signal };
    try {
      const opened = await withTimeLimit(`Opening a channel to ${actor}`, bounds, () => opening);
      if (this.#closed || this.#byId.has(opened.id)) throw new StageError("InternalError", "The channel could not be kept: open another");
      channel.opened(actor, opened);
      this.#byId.set(opened.id, channel);
      this.#ended.delete(opened.id);
      this.#scheduleIdleCheck(opened.id, channel);
      return opened;
    } catch (error) {
      this.#channels.delete(channel);
      // Accepted after the caller has left: no one else would close it.
      void opening.then((openedChannel) => openedChannel.close()).catch(() => undefined);
      throw error;
    }
  }

  /** The channel for a call of its viewer, whose idle time starts again. Throws `ChannelNotFound`. */
  use(viewer: Viewer, id: string): ViewerChannel & { readonly stage: StageChannel } {
    const channel = this.find(viewer, id);
    if (channel === undefined || !isOpened(channel)) throw this.#notFound(viewer, id);
    channel.lastUsedAt = this.#clock.now();
    return channel;
  }

  /** Undefined if this viewer has no channel of that id. */
  find(viewer: Viewer, id: string): ViewerChannel | undefined {
    const channel = this.#byId.get(id);
    return channel?.owner === viewer.principal ? channel : undefined;
  }

  /** Removes a channel whose viewer knows that it has ended. */
  remove(id: string, why: string): void {
    const channel = this.#byId.get(id);
    if (channel === undefined) return;
    this.#byId.delete(id);
    this.#channels.delete(channel);
    this.#timers.get(id)?.();
    this.#timers.delete(id);
    channel.closed(why);
    this.#ended.set(id, { owner: channel.owner, why });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const open = Array.from(this.#byId.values()).filter(({ ended }) => ended === undefined);
    for (const id of Array.from(this.#byId.keys())) this.remove(id, "the server ended");
    await Promise.allSettled(open.map(async ({ stage }) => stage?.close()));
  }

  #notFound(viewer: Viewer, id: string): StageError {
    const ended = this.#ended.get(id);
    return ended !== undefined && ended.owner === viewer.principal
      ? new StageError("ChannelNotFound", `the channel ${id} has ended: ${ended.why}`)
      : new StageError("ChannelNotFound", `you have no channel ${JSON.stringify(id.slice(0, 64))}`);
  }

  #ensureCapacity({ principal }: Viewer): void {
    const ownChannels = [...this.#byId].filter(([, { owner }]) => owner === principal);
    const count = Array.from(this.#channels).filter(({ owner }) => owner === principal).length;
    if (count < this.#limits.channels && this.#channels.size < this.#limits.allChannels) return;
    const [oldest, channel] = ownChannels.find(([, { ended }]) => ended !== undefined) ?? [];
    if (oldest !== undefined && channel?.ended !== undefined) this.remove(oldest, channel.ended);
    else if (count >= this.#limits.channels)
      throw new StageError("InvalidRequest", `you have ${count} channels open, and no more at a time: close_channel one first`);
    else throw new StageError("InvalidRequest", "the server has as many channels open as it can: try again later");
  }

  #scheduleIdleCheck(id: string, channel: ViewerChannel): void {
    const { idleMs } = this.#limits;
    const undo = this.#clock.after(Math.max(1, channel.lastUsedAt + idleMs - this.#clock.now()), () => {
      if (this.#clock.now() - channel.lastUsedAt >= idleMs) {
        // The reason stays available for another idle period.
        if (channel.ended !== undefined) return this.remove(id, channel.ended);
        channel.closed(`there was no call for ${idleMs / 1_000} s`);
        channel.lastUsedAt = this.#clock.now();
        void channel.stage?.close().catch(() => undefined);
      }
      this.#scheduleIdleCheck(id, channel);
    });
    this.#timers.set(id, undo);
  }
}

const isOpened = (channel: ViewerChannel): channel is ViewerChannel & { readonly stage: StageChannel } => channel.stage !== undefined;
