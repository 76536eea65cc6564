import type { Channel, Clock, StreamStore } from "../../../core/contract/index.ts";
import { isResponse } from "../json-rpc.ts";

/** What is followed, from after which event on, and where to. */
export interface Followed {
  readonly streams: StreamStore;
  readonly session: string;
  readonly stream: string;
  readonly last: string;
  readonly clock: Clock;
  readonly channel: Channel;
  /** The store could not say what came next; the client may ask again. */
  readonly failed: (error: unknown) => void;
}

/**
 * A reply that runs at another node, sent on from the store they share. Whoever knows of more only says "look": what is
 * sent, and from where on, the store's own order decides, so that nothing is lost, twice or out of order.
 */
export class Following {
  readonly #followed: Followed;
  /** Its answer was sent on. */
  answered = false;
  /** When the store last had something new, were it no more than a sign of life. */
  heardAt: number;
  #last: string;
  #tail: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(followed: Followed) {
    this.#followed = followed;
    this.#last = followed.last;
    this.heardAt = followed.clock.now();
  }

  get session(): string {
    return this.#followed.session;
  }

  get stream(): string {
    return this.#followed.stream;
  }

  /** Sends what the store has by now. Never rejects. */
  look(): Promise<void> {
    this.#next ??= this.#tail = this.#tail.then(() => {
      this.#next = undefined;
      return this.#read();
    });
    return this.#next;
  }

  /** Sends what is left, and ends. */
  async end(): Promise<void> {
    await this.look();
    this.#followed.channel.close();
  }

  /** Sends that as its last, and ends. */
  endWith(text: string): void {
    this.#followed.channel.send(text);
    this.#followed.channel.close();
  }

  /** Sends nothing more. */
  close(): void {
    this.#followed.channel.close();
  }

  async #read(): Promise<void> {
    const { streams, session, channel, clock, failed } = this.#followed;
    try {
      const missed = await streams.after(session, this.#last);
      // Dropped: what came after it would seem to follow.
      if (missed === undefined) return channel.close();
      if (missed.messages.length > 0) this.heardAt = clock.now();
      for (const { id, message } of missed.messages) {
        if (message !== null) channel.send(JSON.stringify(message), id);
        this.#last = id;
        if (isResponse(message)) this.answered = true;
      }
    } catch (error) {
      failed(error);
      channel.close();
    }
  }
}
