// Owns: what a command may do with its client: pushes, delayed until their answer, and quotas. Does not own: the connection
// (connection.ts).
import { StageError } from "../stage.ts";
import type { Push } from "../wire/responses.ts";

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
  #delayed: (() => Push)[] | undefined = [];

  constructor(client: Client) {
    this.#client = client;
  }

  /** `push` is called when it is sent, and may hold what the answer says. */
  push(push: () => Push): void {
    if (this.#delayed === undefined) this.#client.push(push());
    else if (this.#delayed.length < MAX_DELAYED) this.#delayed.push(push);
    else this.#client.drop("held-full");
  }

  /** The answer has been sent. `arrange` may add or omit pushes. */
  release(arrange: (delayed: readonly Push[]) => readonly Push[] = (delayed) => delayed): void {
    const delayed = arrange((this.#delayed ?? []).map((push) => push()));
    this.#delayed = undefined;
    for (const push of delayed) this.#client.push(push);
  }
}

/** Counts what each connection has open. */
export class ClientQuota {
  readonly #limit: number;
  readonly #what: string;
  readonly #instead: string;
  readonly #counts = new Map<Client, number>();

  constructor(limit: number, what: string, instead: string) {
    this.#limit = limit;
    this.#what = what;
    this.#instead = instead;
  }

  /** Throws `InvalidRequest` if the client has reached its limit. */
  acquire(client: Client): void {
    const count = this.#counts.get(client) ?? 0;
    if (count >= this.#limit)
      throw new StageError(
        "InvalidRequest",
        `This connection has ${count} ${this.#what}, as many as it may: ${this.#instead}, or use another connection.`,
      );
    this.#counts.set(client, count + 1);
  }

  release(client: Client): void {
    const remaining = (this.#counts.get(client) ?? 1) - 1;
    if (remaining === 0) this.#counts.delete(client);
    else this.#counts.set(client, remaining);
  }
}
