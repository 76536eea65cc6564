import { StageError } from "../stage.ts";
import type { Client } from "./client.ts";

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
