// Owns: the other ends of channels: which have stopped, and closing them. Does not own: messages on channels (message-handlers.ts).
import type { ActorId, Engine, Outgoing } from "../../../core/contract/index.ts";
import { type ChannelEnd, type GuestState, isGuestState } from "../guest-state.ts";
import type { Delivery } from "./guest-runtime.ts";

// An actor that is stopped from outside runs no turn in which it could close its channels, and an interrupted call leaves no turn
// either. So this process sends the closes for them. If it ended before it could, each guest checks its channels at its first call
// in the next process.

type Channels = GuestState["channels"];

/** What a guest's first call in a process finds out about its channels. */
export interface PeerCheck {
  /** Channels whose other end has stopped. */
  readonly stopped: ReadonlySet<string>;
  /** Channels that the living other end does not have. It closed them and its last messages are on the way, or its opening call was interrupted. */
  readonly unconfirmed: ReadonlyMap<string, ActorId>;
}

const MAX_INTERRUPTED = 10_000;

export class ChannelPeers {
  readonly #engine: () => Engine;
  /** The life of each guest that was checked. */
  readonly #checkedLives = new Map<ActorId, string>();
  readonly #interrupted = new Set<string>();

  constructor(engine: () => Engine) {
    this.#engine = engine;
  }

  /** The most recent channels that an interrupted call opened, and that their openers therefore do not have. */
  get interrupted(): ReadonlySet<string> {
    return this.#interrupted;
  }

  /** Empty if this life was already checked in this process. */
  async check(delivery: Delivery, channels: Channels): Promise<PeerCheck> {
    const stopped = new Set<string>();
    const unconfirmed = new Map<string, ActorId>();
    const channelsByPeer = new Map<ActorId, Channels | "stopped" | undefined>();
    for (const [channel, end] of this.hasChecked(delivery) ? [] : Object.entries(channels)) {
      if (!("actor" in end)) continue;
      if (!channelsByPeer.has(end.actor)) channelsByPeer.set(end.actor, await this.#channelsOf(end.actor).catch(() => undefined));
      const peerChannels = channelsByPeer.get(end.actor);
      if (peerChannels === "stopped") stopped.add(channel);
      else if (peerChannels !== undefined && !Object.hasOwn(peerChannels, channel)) unconfirmed.set(channel, end.actor);
    }
    return { stopped, unconfirmed };
  }

  /** Undefined if it is not a guest. */
  async #channelsOf(id: ActorId): Promise<Channels | "stopped" | undefined> {
    const now = await this.#engine().read(id);
    if (now === undefined || now.status === "stopped") return "stopped";
    return isGuestState(now.state) ? now.state.channels : undefined;
  }

  markChecked({ self, life }: Delivery): void {
    this.#checkedLives.set(self, life);
  }

  hasChecked({ self, life }: Delivery): boolean {
    return this.#checkedLives.get(self) === life;
  }

  /** Call it right after an actor stopped. Never rejects. */
  async onStopped(id: ActorId): Promise<void> {
    this.#checkedLives.delete(id);
    try {
      // Read now: later the actor may be in another life.
      const state = (await this.#engine().read(id))?.state;
      if (isGuestState(state)) await this.#close(id, Object.entries(state.channels), "the actor has stopped");
    } catch {
      // See #close.
    }
  }

  /** Closes the channels that an interrupted call tried to open. Never rejects. */
  async closeInterrupted(id: ActorId, channels: readonly (readonly [string, ChannelEnd])[]): Promise<void> {
    for (const [channel] of channels) this.markInterrupted(channel);
    await this.#close(id, channels, "its opener was cut short");
  }

  /** A retry of the call will choose another channel id. */
  markInterrupted(channel: string): void {
    this.#interrupted.add(channel);
    const [oldest] = this.#interrupted;
    if (this.#interrupted.size > MAX_INTERRUPTED && oldest !== undefined) this.#interrupted.delete(oldest);
  }

  async #close(of: ActorId, channels: readonly (readonly [string, ChannelEnd])[], why: string): Promise<void> {
    for (const [channel, end] of channels) {
      if (!("actor" in end)) continue;
      try {
        await this.#engine().send({ to: end.actor, action: "channel-close", args: { channel, why, end: of } });
      } catch {
        // The engine ends or is detached, or its store fails: guests check in the next process.
      }
    }
  }
}

/** Marks an end whose close message was sent, so that it is not sent again. No process has this name. */
const CLOSING = { host: "" };

/** Channels held by clients of another process than `process`, or by an actor in `stopped`. */
export const staleChannels = (
  channels: GuestState["channels"],
  { process, stopped }: { readonly process: string; readonly stopped: ReadonlySet<string> },
): readonly string[] =>
  Object.entries(channels)
    .filter(([channel, end]) => ("actor" in end ? stopped.has(channel) : end.host !== process && end.host !== CLOSING.host))
    .map(([channel]) => channel);

export const markClosing = (state: GuestState, stale: readonly string[]): GuestState =>
  stale.length === 0
    ? state
    : { ...state, channels: { ...state.channels, ...Object.fromEntries(stale.map((channel) => [channel, CLOSING])) } };

export const closeMessage = (to: ActorId, channel: string, why: string): Outgoing => ({
  to,
  action: "channel-close",
  args: { channel, why },
});

/** Sent to the guest itself, which handles it like any other close. */
export const closeStale = (self: ActorId, channel: string): Outgoing => closeMessage(self, channel, "whoever was at the other end is gone");

/** The other end closes the channel if it does not have it. */
export const checkMessage = ([channel, to]: readonly [string, ActorId]): Outgoing => ({ to, action: "channel-check", args: { channel } });
