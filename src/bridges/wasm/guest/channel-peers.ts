import type { ActorId, Engine, Outgoing } from "../../../core/contract/index.ts";
import { type ChannelEnd, type GuestState, isGuestState } from "../guest-state.ts";
import type { Delivery } from "./guest-runtime.ts";

/**
 * Who is at the other end of channels, and is told when one ends.
 *
 * An actor that is stopped runs no turn that could say so, and a call that is cut short leaves none: their ends are told by
 * whoever runs the engine. Where the process ended before it could, a guest looks at its first call in the next one.
 */

type Channels = GuestState["channels"];

/** What a guest's first call in a process finds of its channels. */
export interface PeerCheck {
  /** Their other end is an actor that is no more. */
  readonly stopped: ReadonlySet<string>;
  /** Their other end lives and does not have them: closed, and its last messages are on their way, or cut short as it opened them. It knows. */
  readonly unconfirmed: ReadonlyMap<string, ActorId>;
}

const MAX_INTERRUPTED = 10_000;

export class ChannelPeers {
  readonly #engine: () => Engine;
  /** The lives that have looked. */
  readonly #checkedLives = new Map<ActorId, string>();
  readonly #interrupted = new Set<string>();

  constructor(engine: () => Engine) {
    this.#engine = engine;
  }

  /** Channels that their openers do not have, since a call was cut short: the last of them. */
  get interrupted(): ReadonlySet<string> {
    return this.#interrupted;
  }

  /** Empty if this life has looked in this process. */
  async check(at: Delivery, channels: Channels): Promise<PeerCheck> {
    const gone = new Set<string>();
    const doubtful = new Map<string, ActorId>();
    const channelsByPeer = new Map<ActorId, Channels | "stopped" | undefined>();
    for (const [channel, end] of this.hasChecked(at) ? [] : Object.entries(channels)) {
      if (!("actor" in end)) continue;
      if (!channelsByPeer.has(end.actor)) channelsByPeer.set(end.actor, await this.#channelsOf(end.actor).catch(() => undefined));
      const peerChannels = channelsByPeer.get(end.actor);
      if (peerChannels === "stopped") gone.add(channel);
      else if (peerChannels !== undefined && !Object.hasOwn(peerChannels, channel)) doubtful.set(channel, end.actor);
    }
    return { stopped: gone, unconfirmed: doubtful };
  }

  /** Undefined: it is no guest. */
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

  /** It has stopped just now. Never rejects. */
  async onStopped(id: ActorId): Promise<void> {
    this.#checkedLives.delete(id);
    try {
      // Read at once: later it may be in another life.
      const state = (await this.#engine().read(id))?.state;
      if (isGuestState(state)) await this.#close(id, Object.entries(state.channels), "the actor has stopped");
    } catch {
      // As below.
    }
  }

  /** It asked for these, and does not know what was answered. Never rejects. */
  async closeInterrupted(id: ActorId, channels: readonly (readonly [string, ChannelEnd])[]): Promise<void> {
    for (const [channel] of channels) this.markInterrupted(channel);
    await this.#close(id, channels, "its opener was cut short");
  }

  /** Tried again, a call that opens it opens another. */
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
        // The engine ends or is detached, or its store fails: the next process's guests look.
      }
    }
  }
}

/** Channels whose other end is gone: another process held it, or an actor that is no more. */

/** No process has this name: the end's close is on its way to the guest, and need not be sent again. */
const CLOSING = { host: "" };

/** `process`: the `host` of ends in this one. `gone`: found to be with an actor that is no more. */
export const staleChannels = (
  channels: GuestState["channels"],
  { process, gone }: { readonly process: string; readonly gone: ReadonlySet<string> },
): readonly string[] =>
  Object.entries(channels)
    .filter(([channel, end]) => ("actor" in end ? gone.has(channel) : end.host !== process && end.host !== CLOSING.host))
    .map(([channel]) => channel);

export const markClosing = (state: GuestState, stale: readonly string[]): GuestState =>
  stale.length === 0
    ? state
    : { ...state, channels: { ...state.channels, ...Object.fromEntries(stale.map((channel) => [channel, CLOSING])) } };

/** The guest is told as of any close. */
export const closeMessage = (self: ActorId, channel: string): Outgoing => ({
  to: self,
  action: "channel-close",
  args: { channel, why: "whoever was at the other end is gone" },
});

/** Its other end closes it if it does not have it. */
export const checkMessage = ([channel, to]: readonly [string, ActorId]): Outgoing => ({ to, action: "channel-check", args: { channel } });
