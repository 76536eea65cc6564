import type { Json, Log, PeerListener } from "../../core/contract/index.ts";
import { nameOf } from "./name-of.ts";

/** Who listens to what. */
export class Topics {
  readonly #listeners = new Map<string, PeerListener>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  on(topic: string, listen: PeerListener): () => void {
    if (this.#listeners.has(topic)) throw new TypeError(`The topic ${topic} has a listener already: undo that one first.`);
    this.#listeners.set(topic, listen);
    return () => {
      if (this.#listeners.get(topic) === listen) this.#listeners.delete(topic);
    };
  }

  /** Never rejects; listeners begin in the order of the calls. */
  async hear(topic: string, message: Json, from: string): Promise<Json | undefined> {
    try {
      return await this.#listeners.get(topic)?.(message, from);
    } catch (error) {
      this.#log("error", { event: "peer-listener-failed", topic, from, name: nameOf(error) });
      return undefined;
    }
  }
}
