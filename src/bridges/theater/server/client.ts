import type { Push } from "../wire/index.ts";

/** Whom a command came from: what it opens is told to it, and ends with it. */
export interface Client {
  push(push: Push): void;
  /** It lets too much wait. */
  drop(reason: string): void;
  /** Aborted when the connection is gone. */
  readonly gone: AbortSignal;
}

const MOST_HELD = 10_000;

/** What is pushed waits until the answer that announces it has been sent: whoever reads a channel's message must know the channel. */
export class HeldPushes {
  readonly #client: Client;
  #held: Push[] | undefined = [];

  constructor(client: Client) {
    this.#client = client;
  }

  push(push: Push): void {
    if (this.#held === undefined) this.#client.push(push);
    else if (this.#held.length < MOST_HELD) this.#held.push(push);
    else this.#client.drop("held-full");
  }

  /** The answer was sent. `arrange`: what goes first, or is left out. */
  release(arrange: (held: readonly Push[]) => readonly Push[] = (held) => held): void {
    const held = arrange(this.#held ?? []);
    this.#held = undefined;
    for (const push of held) this.#client.push(push);
  }
}
