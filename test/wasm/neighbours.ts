import assert from "node:assert/strict";
import { bytes, type Grounds, never, text } from "./grounds.ts";

/** Guests (echo) who are asked throughout; each answer must be the right one, and each is counted by the guest `counter`. */
export class Neighbours implements AsyncDisposable {
  /** Answers so far. */
  asked = 0;
  #over = false;
  readonly #asking: Promise<unknown>;

  constructor(on: Grounds, names: readonly string[]) {
    this.#asking = Promise.all(names.map((name) => this.#ask(on, name))).catch((error: unknown) => error);
  }

  async #ask({ stage }: Grounds, name: string): Promise<void> {
    for (let n = 1; !this.#over; n += 1) {
      assert.equal(text(await stage.request(name, bytes(`${name} ${n}`), never)), `${name} ${n}`);
      await stage.send("counter", bytes("add"));
      this.asked += 1;
      await new Promise((done) => setTimeout(done, 25));
    }
  }

  /** Gives what went wrong. */
  async end(): Promise<unknown> {
    this.#over = true;
    const ended = await this.#asking;
    return ended instanceof Error ? ended : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}
