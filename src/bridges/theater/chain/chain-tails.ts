import type { ActorId, ContentStore, Engine } from "../../../core/contract/index.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import { Projector } from "./projector.ts";

/** Limits of the cached events of one chain. */
const MAX_EVENTS = 1_000;
const MAX_BYTES = 2 * 1_048_576;
const MAX_CHAINS = 32;

/**
 * An LRU cache of the newest events of chains. An event's hash depends on all earlier events, so a chain must be projected from its
 * first event, but only once: each cached chain remembers its projector's position and continues from there. Erasing an event or
 * collecting a content later changes no hash that was computed before.
 */
export class ChainTails {
  readonly #engine: Pick<Engine, "history">;
  readonly #get: ContentStore["get"];
  /** Least recently used first. */
  readonly #tails = new Map<ActorId, Tail>();

  constructor(engine: Pick<Engine, "history">, get: ContentStore["get"]) {
    this.#engine = engine;
    this.#get = get;
  }

  /** Oldest first: at most 1,000 events, and at most 2 MiB. */
  newest(id: ActorId): Promise<readonly TheaterEvent[]> {
    const tail = this.#tails.get(id) ?? new Tail(new Projector(this.#get));
    this.#tails.delete(id);
    this.#tails.set(id, tail);
    for (const oldest of this.#tails.keys()) {
      if (this.#tails.size <= MAX_CHAINS) break;
      this.#tails.delete(oldest);
    }
    return tail.newest((seq) => this.#engine.history(id, seq));
  }
}

class Tail {
  readonly #projector: Projector;
  readonly #events: TheaterEvent[] = [];
  #bytes = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(projector: Projector) {
    this.#projector = projector;
  }

  /** One reader at a time, since a projector takes events in order. */
  async newest(after: (seq: number) => ReturnType<Engine["history"]>): Promise<readonly TheaterEvent[]> {
    const read = this.#reading.then(() => this.#readMore(after));
    // After a failed read, the next one continues where it stopped.
    this.#reading = read.catch(() => undefined);
    await read;
    return Array.from(this.#events);
  }

  async #readMore(after: (seq: number) => ReturnType<Engine["history"]>): Promise<void> {
    for await (const event of after(this.#projector.seq)) for (const projected of await this.#projector.next(event)) this.#add(projected);
  }

  #add(event: TheaterEvent): void {
    this.#events.push(event);
    this.#bytes += event.data.length;
    while (this.#events.length > MAX_EVENTS || this.#bytes > MAX_BYTES) this.#bytes -= this.#events.shift()?.data.length ?? 0;
  }
}
