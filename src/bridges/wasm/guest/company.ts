/**
 * Who is at the other end of channels, and is told when one ends.
 *
 * An actor that is stopped runs no turn that could say so, and a call that is cut short leaves none: their ends are told by
 * whoever runs the engine. Where the process ended before it could, a guest looks at its first call in the next one.
 */
import type { ActorId, Engine } from "../../../core/contract/index.ts";
import type { ChannelEnd, GuestState } from "../guest-state.ts";
import { lives } from "../host/target.ts";
import { isGuestState } from "./is-guest-state.ts";
import type { Entered } from "./room.ts";

type Channels = GuestState["channels"];

const NONE: ReadonlySet<string> = new Set();
const MOST_CUT = 10_000;

export class Company {
  readonly #engine: () => Engine;
  /** The lives that have looked. */
  readonly #looked = new Map<ActorId, string>();
  readonly #cut = new Set<string>();

  constructor(engine: () => Engine) {
    this.#engine = engine;
  }

  /** Channels of calls that were cut short, the last of them. */
  get cut(): ReadonlySet<string> {
    return this.#cut;
  }

  /**
   * Channels whose other end is an actor that is no more, unless this life has looked in this process. That an actor which lives has no such
   * channel is not enough: it may have closed it, and its last messages are on their way.
   */
  async gone(at: Entered, channels: Channels): Promise<ReadonlySet<string>> {
    if (this.hasLooked(at)) return NONE;
    const gone = new Set<string>();
    const live = new Map<ActorId, boolean>();
    for (const [channel, end] of Object.entries(channels)) {
      if (!("actor" in end)) continue;
      const there = live.get(end.actor) ?? (await lives({ engine: this.#engine() }, end.actor).catch(() => true));
      live.set(end.actor, there);
      if (!there) gone.add(channel);
    }
    return gone;
  }

  looked({ self, life }: Entered): void {
    this.#looked.set(self, life);
  }

  hasLooked({ self, life }: Entered): boolean {
    return this.#looked.get(self) === life;
  }

  /** It has stopped just now. Never rejects. */
  async ended(id: ActorId): Promise<void> {
    this.#looked.delete(id);
    try {
      // Read at once: later it may be in another life.
      const state = (await this.#engine().read(id))?.state;
      if (isGuestState(state)) await this.#close(id, Object.entries(state.channels), "the actor has stopped");
    } catch {
      // As below.
    }
  }

  /** It asked for these, and does not know what was answered. Never rejects. */
  async closeCut(id: ActorId, channels: readonly (readonly [string, ChannelEnd])[]): Promise<void> {
    for (const [channel] of channels) this.#cut.add(channel);
    for (const oldest of this.#cut) {
      if (this.#cut.size <= MOST_CUT) break;
      this.#cut.delete(oldest);
    }
    await this.#close(id, channels, "its opener was cut short");
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
