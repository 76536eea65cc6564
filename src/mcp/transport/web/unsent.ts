import type { ServerResponse } from "node:http";
import type { Clock } from "../../../core/contract/index.ts";

/** Responses of an application's server that are on their way. */
export class Unsent {
  readonly #writing = new Map<ServerResponse, Promise<void>>();

  async during(response: ServerResponse, writing: Promise<void>): Promise<void> {
    this.#writing.set(response, writing);
    try {
      await writing;
    } finally {
      this.#writing.delete(response);
    }
  }

  /** Settles when all have ended. A client that does not take its last bytes is not waited for. */
  async flush(clock: Clock, withinMs: number): Promise<void> {
    if (this.#writing.size === 0) return;
    const undo = clock.after(withinMs, () => {
      for (const response of this.#writing.keys()) response.destroy();
    });
    await Promise.all(this.#writing.values());
    undo();
  }
}
