import type { ActorId, Engine, Outgoing } from "../../../core/contract/index.ts";
import { type ChannelEnd, type GuestState, isGuestState } from "../guest-state.ts";
import type { Entered } from "./guest-context.ts";

/**
 * Who is at the other end of channels, and is told when one ends.
 *
 * An actor that is stopped runs no turn that could say so, and a call that is cut short leaves none: their ends are told by
 * whoever runs the engine. Where the process ended before it could, a guest looks at its first call in the next one.
 */

type Channels = GuestState["channels"];

/** What a guest's first call in a process finds of its channels. */
export interface Ends {
  /** Their other end is an actor that is no more. */
  readonly gone: ReadonlySet<string>;
  /** Their other end lives and does not have them: closed, and its last messages are on their way, or cut short as it opened them. It knows. */
  readonly doubtful: ReadonlyMap<string, ActorId>;
}

const MOST_CUT = 10_000;

export class Company {
  readonly #engine: () => Engine;
  /** The lives that have looked. */
  readonly #looked = new Map<ActorId, string>();
  readonly #cut = new Set<string>();

  constructor(engine: () => Engine) {
    this.#engine = engine;
  }

  /** Channels that their openers do not have, since a call was cut short: the last of them. */
  get cut(): ReadonlySet<string> {
    return this.#cut;
  }

  /** Empty if this life has looked in this process. */
  async ends(at: Entered, channels: Channels): Promise<Ends> {
    const gone = new Set<string>();
    const doubtful = new Map<string, ActorId>();
    const known = new Map<ActorId, Channels | "stopped" | undefined>();
    for (const [channel, end] of this.hasLooked(at) ? [] : Object.entries(channels)) {
      if (!("actor" in end)) continue;
      if (!known.has(end.actor)) known.set(end.actor, await this.#channelsOf(end.actor).catch(() => undefined));
      const theirs = known.get(end.actor);
      if (theirs === "stopped") gone.add(channel);
      else if (theirs !== undefined && !Object.hasOwn(theirs, channel)) doubtful.set(channel, end.actor);
    }
    return { gone, doubtful };
  }

  /** Undefined: it is no guest. */
  async #channelsOf(id: ActorId): Promise<Channels | "stopped" | undefined> {
    const now = await this.#engine().read(id);
    if (now === undefined || now.status === "stopped") return "stopped";
    return isGuestState(now.state) ? now.state.channels : undefined;
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
    for (const [channel] of channels) this.neverOpen(channel);
    await this.#close(id, channels, "its opener was cut short");
  }

  /** Tried again, a call that opens it opens another. */
  neverOpen(channel: string): void {
    this.#cut.add(channel);
    const [oldest] = this.#cut;
    if (this.#cut.size > MOST_CUT && oldest !== undefined) this.#cut.delete(oldest);
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
export const staleIn = (
  channels: GuestState["channels"],
  { process, gone }: { readonly process: string; readonly gone: ReadonlySet<string> },
): readonly string[] =>
  Object.entries(channels)
    .filter(([channel, end]) => ("actor" in end ? gone.has(channel) : end.host !== process && end.host !== CLOSING.host))
    .map(([channel]) => channel);

export const marked = (state: GuestState, stale: readonly string[]): GuestState =>
  stale.length === 0
    ? state
    : { ...state, channels: { ...state.channels, ...Object.fromEntries(stale.map((channel) => [channel, CLOSING])) } };

/** The guest is told as of any close. */
export const toClose = (self: ActorId, channel: string): Outgoing => ({
  to: self,
  action: "channel-close",
  args: { channel, why: "whoever was at the other end is gone" },
});

/** Its other end closes it if it does not have it. */
export const toCheck = ([channel, to]: readonly [string, ActorId]): Outgoing => ({ to, action: "channel-check", args: { channel } });
