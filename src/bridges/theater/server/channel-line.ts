import type { ChannelPeer } from "../stage.ts";
import type { Participant, Push } from "../wire/index.ts";
import { type Client, DelayedPushes } from "./client.ts";

/** A client's end of a channel. The channel has an id only once the actor has accepted; messages wait until then. */
export class ClientChannel implements ChannelPeer {
  readonly client: Client;
  readonly #from: Participant;
  readonly #onClosed: () => void;
  readonly #pushes: DelayedPushes;
  #beforeOpened: (() => void)[] | undefined = [];
  #id = "";
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
    this.#push(() => ({ is: "ChannelMessage", channelId: this.#id, from: this.#from, message }));
  }

  closed(): void {
    this.#isClosed = true;
    this.#onClosed();
    this.#push(() => ({ is: "ChannelClosed", channelId: this.#id }));
  }

  /** The actor has accepted the channel. */
  opened(id: string, greeting: Uint8Array | undefined): void {
    this.#id = id;
    const buffered = this.#beforeOpened ?? [];
    this.#beforeOpened = undefined;
    if (greeting !== undefined) this.message(greeting);
    for (const one of buffered) one();
  }

  /** The answer with the channel's id has been sent. */
  announced(): void {
    this.#pushes.release();
  }

  #push(push: () => Push): void {
    if (this.#beforeOpened === undefined) this.#pushes.push(push());
    else this.#beforeOpened.push(() => this.#pushes.push(push()));
  }
}
