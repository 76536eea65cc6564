import type { CancelSignal, Clock, Viewer } from "../../../core/contract/index.ts";
import { type Stage, type StageChannel, StageError } from "../stage.ts";
import { Channel } from "./channel.ts";
import type { FaceLimits } from "./options.ts";
import { within } from "./within.ts";

// Ended channels that are remembered, so that a later call learns why.
const MOST_ENDED = 1_000;

/** The channels of all viewers. Each viewer has access to its own only. */
export class Channels {
  readonly #stage: Pick<Stage, "open">;
  readonly #clock: Clock;
  readonly #limits: FaceLimits;
  readonly #held = new Set<Channel>();
  readonly #byId = new Map<string, Channel>();
  readonly #timers = new Map<string, () => void>();
  readonly #ended = new Map<string, { readonly owner: string | undefined; readonly why: string }>();
  #closed = false;

  constructor(stage: Pick<Stage, "open">, clock: Clock, limits: FaceLimits) {
    this.#stage = stage;
    this.#clock = clock;
    this.#limits = limits;
  }

  async open(viewer: Viewer, actor: string, initial: Uint8Array, signal: CancelSignal | undefined): Promise<StageChannel> {
    this.#makeRoom(viewer);
    const channel = new Channel(viewer.principal, this.#clock.now(), this.#limits);
    this.#held.add(channel);
    const opening = this.#stage.open(actor, initial, channel);
    const bounds = { clock: this.#clock, ms: this.#limits.requestMs, signal };
    try {
      const opened = await within(`Opening a channel to ${actor}`, bounds, () => opening);
      if (this.#closed || this.#byId.has(opened.id)) throw new StageError("InternalError", "The channel could not be kept: open another");
      channel.opened(actor, opened);
      this.#byId.set(opened.id, channel);
      this.#ended.delete(opened.id);
      this.#arm(opened.id, channel);
      return opened;
    } catch (error) {
      this.#held.delete(channel);
      // Accepted after the caller has left: no one else would close it.
      void opening.then((late) => late.close()).catch(() => undefined);
      throw error;
    }
  }

  /** The channel for a call of its viewer, whose idle time starts again. Throws `ChannelNotFound`. */
  called(viewer: Viewer, id: string): Channel & { readonly stage: StageChannel } {
    const channel = this.find(viewer, id);
    if (channel === undefined || !isOpened(channel)) throw this.#absent(viewer, id);
    channel.calledAt = this.#clock.now();
    return channel;
  }

  /** Undefined if this viewer has no channel of that id. */
  find(viewer: Viewer, id: string): Channel | undefined {
    const channel = this.#byId.get(id);
    return channel?.owner === viewer.principal ? channel : undefined;
  }

  /** Removes a channel whose viewer knows that it has ended. */
  forget(id: string, why: string): void {
    const channel = this.#byId.get(id);
    if (channel === undefined) return;
    this.#byId.delete(id);
    this.#held.delete(channel);
    this.#timers.get(id)?.();
    this.#timers.delete(id);
    channel.closed(why);
    this.#ended.set(id, { owner: channel.owner, why });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MOST_ENDED && oldest !== undefined) this.#ended.delete(oldest);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const open = Array.from(this.#byId.values()).filter(({ ended }) => ended === undefined);
    for (const id of Array.from(this.#byId.keys())) this.forget(id, "the server ended");
    await Promise.allSettled(open.map(async ({ stage }) => stage?.close()));
  }

  #absent(viewer: Viewer, id: string): StageError {
    const ended = this.#ended.get(id);
    return ended !== undefined && ended.owner === viewer.principal
      ? new StageError("ChannelNotFound", `the channel ${id} has ended: ${ended.why}`)
      : new StageError("ChannelNotFound", `you have no channel ${JSON.stringify(id.slice(0, 64))}`);
  }

  #makeRoom({ principal }: Viewer): void {
    const own = [...this.#byId].filter(([, { owner }]) => owner === principal);
    const count = Array.from(this.#held).filter(({ owner }) => owner === principal).length;
    if (count < this.#limits.channels && this.#held.size < this.#limits.allChannels) return;
    const [oldest, channel] = own.find(([, { ended }]) => ended !== undefined) ?? [];
    if (oldest !== undefined && channel?.ended !== undefined) this.forget(oldest, channel.ended);
    else if (count >= this.#limits.channels)
      throw new StageError("InvalidRequest", `you have ${count} channels open, and no more at a time: close_channel one first`);
    else throw new StageError("InvalidRequest", "the server has as many channels open as it can: try again later");
  }

  #arm(id: string, channel: Channel): void {
    const { idleMs } = this.#limits;
    const undo = this.#clock.after(Math.max(1, channel.calledAt + idleMs - this.#clock.now()), () => {
      if (this.#clock.now() - channel.calledAt >= idleMs) {
        // The reason stays available for another idle period.
        if (channel.ended !== undefined) return this.forget(id, channel.ended);
        channel.closed(`there was no call for ${idleMs / 1_000} s`);
        channel.calledAt = this.#clock.now();
        void channel.stage?.close().catch(() => undefined);
      }
      this.#arm(id, channel);
    });
    this.#timers.set(id, undo);
  }
}

const isOpened = (channel: Channel): channel is Channel & { readonly stage: StageChannel } => channel.stage !== undefined;
