import { StageError, type ChannelPeer } from "../stage.ts";
import { RemoteChannel } from "./channel.ts";
import type { Dialer } from "./dialer.ts";
import type { Settings } from "./options.ts";

/** The open channels. Each keeps the list of actors polled, since no server reports that a channel's actor ended. */
export class RemoteChannels {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #startPolling: () => () => void;
  readonly #open = new Map<RemoteChannel, () => void>();
  #opening = 0;

  constructor(settings: Settings, dialer: Dialer, startPolling: () => () => void) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#startPolling = startPolling;
  }

  async open(actor: string, initial: Uint8Array, peer: ChannelPeer): Promise<RemoteChannel> {
    const { channels } = this.#settings.limits;
    if (this.#open.size + this.#opening >= channels) {
      throw new StageError("InvalidRequest", `${channels} channels are open, and there may be no more: close one first.`);
    }
    this.#opening += 1;
    try {
      const observer = { ended: (channel: RemoteChannel) => this.#remove(channel) };
      const channel = await RemoteChannel.open(this.#settings, this.#dialer, actor, initial, peer, observer);
      this.#open.set(channel, this.#startPolling());
      return channel;
    } finally {
      this.#opening -= 1;
    }
  }

  endAllOf(actor: string): void {
    for (const channel of Array.from(this.#open.keys()))
      if (channel.actor === actor) channel.end("The actor ended, and the channel with it.");
  }

  close(): void {
    for (const channel of Array.from(this.#open.keys())) channel.end(`The connection to ${this.#settings.server} was closed here.`);
  }

  #remove(channel: RemoteChannel): void {
    this.#open.get(channel)?.();
    this.#open.delete(channel);
  }
}
