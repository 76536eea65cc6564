import type { Push } from "../wire/index.ts";

/** The client that sent a command. It receives the pushes of what it opens, which ends with its connection. */
export interface Client {
  push(push: Push): void;
  /** Disconnects a client that lets too many pushes wait. */
  drop(reason: string): void;
  /** Aborted when the connection has ended. */
  readonly disconnected: AbortSignal;
}

const MAX_DELAYED = 10_000;

/** Delays pushes until the answer that introduces them has been sent: a client must know a channel before it reads its messages. */
export class DelayedPushes {
  readonly #client: Client;
  #delayed: Push[] | undefined = [];

  constructor(client: Client) {
    this.#client = client;
  }

  push(push: Push): void {
    if (this.#delayed === undefined) this.#client.push(push);
    else if (this.#delayed.length < MAX_DELAYED) this.#delayed.push(push);
    else this.#client.drop("held-full");
  }

  /** The answer has been sent. `arrange` may add or omit pushes. */
  release(arrange: (delayed: readonly Push[]) => readonly Push[] = (delayed) => delayed): void {
    const delayed = arrange(this.#delayed ?? []);
    this.#delayed = undefined;
    for (const push of delayed) this.#client.push(push);
  }
}
