// Owns: the channels that clients have open. Does not own: the actor's end (engine/engine-channels.ts).
import type { Log } from "../../../core/contract/index.ts";
import { type ChannelPeer, type Stage, type StageChannel, StageError } from "../stage.ts";
import type { Participant } from "../wire/commands.ts";
import type { Push } from "../wire/responses.ts";
import { type Client, ClientQuota, DelayedPushes } from "./client.ts";

/** A client's end of a channel. The channel has an id only once the actor has accepted; messages wait until the client knows it. */
class ClientChannel implements ChannelPeer {
  readonly client: Client;
  readonly #from: Participant;
  readonly #onClosed: () => void;
  readonly #pushes: DelayedPushes;
  #id = "";
  #greeting: Uint8Array | undefined;
  #isClosed = false;

  constructor(client: Client, actor: string, onClosed: () => void) {
    this.client = client;
    this.#from = { actor };
    this.#onClosed = onClosed;
    this.#pushes = new DelayedPushes(client);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  message(message: Uint8Array): void {
    this.#pushes.push(() => this.#messagePush(message));
  }

  closed(): void {
    this.#isClosed = true;
    this.#onClosed();
    this.#pushes.push(() => ({ type: "ChannelClosed", channelId: this.#id }));
  }

  /** The actor has accepted the channel. */
  opened(id: string, greeting: Uint8Array | undefined): void {
    this.#id = id;
    this.#greeting = greeting;
  }

  /** The answer with the channel's id has been sent. */
  announced(): void {
    const greeting = this.#greeting;
    this.#pushes.release((delayed) => (greeting === undefined ? delayed : [this.#messagePush(greeting), ...delayed]));
  }

  #messagePush(message: Uint8Array): Push {
    return { type: "ChannelMessage", channelId: this.#id, from: this.#from, message };
  }
}

interface OpenChannel {
  readonly clientEnd: ClientChannel;
  readonly channel: StageChannel;
}

/** All open channels by id: a client may open one on one connection and use or close it on another. */
export class ClientChannels {
  readonly #stage: Stage;
  readonly #quota: ClientQuota;
  readonly #log: Log | undefined;
  readonly #open = new Map<string, OpenChannel>();

  constructor(stage: Stage, limit: number, log: Log | undefined) {
    this.#stage = stage;
    this.#quota = new ClientQuota(limit, "channels open", "close one");
    this.#log = log;
  }

  /** Call `announced` once the answer has been sent; the actor's messages follow it. */
  async open(client: Client, actor: string, initial: Uint8Array): Promise<{ readonly id: string; readonly announced: () => void }> {
    this.#quota.acquire(client);
    let id: string | undefined;
    const clientEnd = new ClientChannel(client, actor, () => {
      if (id !== undefined) this.#remove(id);
    });
    try {
      const channel = await this.#stage.open(actor, initial, clientEnd);
      ({ id } = channel);
      clientEnd.opened(id, channel.greeting);
      if (client.disconnected.aborted) await channel.close();
      if (clientEnd.isClosed || client.disconnected.aborted) this.#quota.release(client);
      else this.#open.set(id, { clientEnd, channel });
      return { id, announced: () => clientEnd.announced() };
    } catch (error) {
      this.#quota.release(client);
      throw error;
    }
  }

  async send(id: string, message: Uint8Array): Promise<void> {
    await this.#find(id).channel.send(message);
  }

  /** Notifies the client that opened the channel, unless it closes it itself. */
  async close(id: string, by: Client): Promise<void> {
    const { clientEnd, channel } = this.#find(id);
    this.#remove(id);
    await channel.close();
    if (clientEnd.client !== by) clientEnd.client.push({ type: "ChannelClosed", channelId: id });
  }

  /** Closes the channels of a client that has disconnected. */
  async closeAllOf(client: Client): Promise<void> {
    const own = Array.from(this.#open).filter(([, { clientEnd }]) => clientEnd.client === client);
    for (const [id] of own) this.#remove(id);
    const closed = await Promise.allSettled(own.map(([, { channel }]) => channel.close()));
    if (closed.some(({ status }) => status === "rejected")) this.#log?.("warning", { event: "channel-close-failed", transport: "theater" });
  }

  #find(id: string): OpenChannel {
    const open = this.#open.get(id);
    if (open === undefined) throw new StageError("ChannelNotFound", "No such channel is open here: it was closed, or never opened.");
    return open;
  }

  #remove(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    this.#quota.release(open.clientEnd.client);
  }
}
