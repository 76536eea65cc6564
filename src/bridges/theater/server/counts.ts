import { StageError } from "../stage.ts";
import type { Client } from "./client.ts";

/** Counts what each connection has open. */
export class Counts {
  readonly #most: number;
  readonly #what: string;
  readonly #instead: string;
  readonly #counts = new Map<Client, number>();

  constructor(most: number, what: string, instead: string) {
    this.#most = most;
    this.#what = what;
    this.#instead = instead;
  }

  /** Throws `InvalidRequest` if the client has reached its limit. */
  enter(client: Client): void {
    const count = this.#counts.get(client) ?? 0;
    if (count >= this.#most)
      throw new StageError(
        "InvalidRequest",
        `This connection has ${count} ${this.#what}, as many as it may: ${this.#instead}, or use another connection.`,
      );
    this.#counts.set(client, count + 1);
  }

  leave(client: Client): void {
    const left = (this.#counts.get(client) ?? 1) - 1;
    if (left === 0) this.#counts.delete(client);
    else this.#counts.set(client, left);
  }
}
