import type { ChannelPeer } from "../stage.ts";
import type { Participant, Push } from "../wire/index.ts";
import { type Client, HeldPushes } from "./client.ts";

/** A client's end of a channel. The channel has an id only once the actor has accepted; messages wait until then. */
export class ChannelLine implements ChannelPeer {
  readonly client: Client;
  readonly #from: Participant;
  readonly #onClosed: () => void;
  readonly #held: HeldPushes;
  #early: (() => void)[] | undefined = [];
  #id = "";
  #over = false;

  constructor(client: Client, actor: string, onClosed: () => void) {
    this.client = client;
    this.#from = { actor };
    this.#onClosed = onClosed;
    this.#held = new HeldPushes(client);
  }

  get over(): boolean {
    return this.#over;
  }

  message(message: Uint8Array): void {
    this.#tell(() => ({ is: "ChannelMessage", channelId: this.#id, from: this.#from, message }));
  }

  closed(): void {
    this.#over = true;
    this.#onClosed();
    this.#tell(() => ({ is: "ChannelClosed", channelId: this.#id }));
  }

  /** The actor has accepted the channel. */
  opened(id: string, greeting: Uint8Array | undefined): void {
    this.#id = id;
    const early = this.#early ?? [];
    this.#early = undefined;
    if (greeting !== undefined) this.message(greeting);
    for (const one of early) one();
  }

  /** The answer with the channel's id has been sent. */
  announced(): void {
    this.#held.release();
  }

  #tell(push: () => Push): void {
    if (this.#early === undefined) this.#held.push(push());
    else this.#early.push(() => this.#held.push(push()));
  }
}
