import type { Push } from "../wire/index.ts";

/** The client that sent a command. It receives the pushes of what it opens, which ends with its connection. */
export interface Client {
  push(push: Push): void;
  /** Disconnects a client that lets too many pushes wait. */
  drop(reason: string): void;
  /** Aborted when the connection has ended. */
  readonly gone: AbortSignal;
}

const MOST_HELD = 10_000;

/** Delays pushes until the answer that introduces them has been sent: a client must know a channel before it reads its messages. */
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

  /** The answer has been sent. `arrange` may add or omit pushes. */
  release(arrange: (held: readonly Push[]) => readonly Push[] = (held) => held): void {
    const held = arrange(this.#held ?? []);
    this.#held = undefined;
    for (const push of held) this.#client.push(push);
  }
}
