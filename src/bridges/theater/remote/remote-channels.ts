// Owns: channels to actors of the server, each on its own connection. Does not own: the connection (connection.ts).
import { type ChannelPeer, type StageChannel, StageError } from "../stage.ts";
import type { Push } from "../wire/responses.ts";
import { type Connection, PushBuffer } from "./connection.ts";
import type { Dialer } from "./dialer.ts";
import { ConnectionError, toStageError } from "./errors.ts";
import type { Settings } from "./options.ts";

/** Messages buffered before the channel is known to be open. */
const MAX_BUFFERED = 1_000;

interface ChannelObserver {
  /** Called once, whichever side ended the channel. */
  ended(channel: RemoteChannel): void;
}

/** A channel has a connection of its own: its messages are pushed, and a slow actor delays nothing else. */
class RemoteChannel implements StageChannel {
  readonly id: string;
  readonly actor: string;
  readonly #settings: Settings;
  readonly #connection: Connection;
  readonly #peer: ChannelPeer;
  readonly #observer: ChannelObserver;
  #endReason: string | undefined;

  private constructor(settings: Settings, connection: Connection, id: string, actor: string, peer: ChannelPeer, observer: ChannelObserver) {
    this.#settings = settings;
    this.#connection = connection;
    this.id = id;
    this.actor = actor;
    this.#peer = peer;
    this.#observer = observer;
  }

  /** Throws `StageError`. */
  static async open(
    settings: Settings,
    dialer: Dialer,
    actor: string,
    initial: Uint8Array,
    peer: ChannelPeer,
    observer: ChannelObserver,
  ): Promise<RemoteChannel> {
    const pushes = new PushBuffer(MAX_BUFFERED);
    let onBroken: (() => void) | undefined;
    const connection = await dialer.dial({ push: (push) => pushes.push(push), ended: () => onBroken?.() });
    try {
      const command = { type: "OpenChannel", with: { actor }, initialMessage: initial } as const;
      const { channelId } = await connection.send(command);
      const channel = new RemoteChannel(settings, connection, channelId, actor, peer, observer);
      // Delivered only after the caller has the channel.
      setImmediate(() => {
        pushes.release((push) => channel.#onPush(push));
        onBroken = () => channel.end(`The connection to ${settings.server} broke, and the channel with it: open another.`);
        if (connection.isClosed) onBroken();
      });
      return channel;
    } catch (error) {
      connection.close();
      throw toStageError(error, "OpenChannel", settings);
    }
  }

  async send(data: Uint8Array): Promise<void> {
    if (this.#endReason !== undefined) throw new StageError("ChannelClosed", this.#endReason);
    try {
      await this.#connection.send({ type: "SendOnChannel", channelId: this.id, message: data });
    } catch (error) {
      throw toStageError(error, "SendOnChannel", this.#settings);
    }
  }

  async close(): Promise<void> {
    if (this.#endReason !== undefined) return;
    this.#markEnded("The channel was closed: open another.");
    try {
      await this.#connection.send({ type: "CloseChannel", channelId: this.id });
    } catch (error) {
      // The channel ends with its connection, whatever the answer.
      if (!(error instanceof ConnectionError) && !(error instanceof StageError)) throw error;
    } finally {
      this.#connection.close();
    }
  }

  /** Ends the channel, unless its own `close` already did. */
  end(why: string): void {
    if (this.#endReason !== undefined) return;
    this.#markEnded(why);
    this.#connection.closeWhenIdle();
    this.#notifyPeer(() => this.#peer.closed(why));
  }

  #markEnded(why: string): void {
    this.#endReason = why;
    this.#observer.ended(this);
  }

  #onPush(push: Push): void {
    if (this.#endReason !== undefined) return;
    if (push.type === "ChannelMessage" && push.channelId === this.id) {
      if (push.from !== "external") this.#notifyPeer(() => this.#peer.message(push.message));
    } else if (push.type === "ChannelClosed" && push.channelId === this.id) {
      this.end("The actor closed the channel: open another.");
    }
  }

  #notifyPeer(notify: () => void): void {
    try {
      notify();
    } catch {
      this.#settings.log("error", { event: "theater-listener-failed", actor: this.actor, what: "channel" });
    }
  }
}

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
