import type { ActorId, ChainEvent, Engine } from "../../../core/contract/index.ts";

/** How many events may be held until they are looked at, of all actors together: more are lost. */
export class Room {
  left = 1_000;
}

/** Events taken as they are told. An actor in memory keeps its last one alone: a moment later it is another. */
export class Early {
  readonly #engine: Engine;
  readonly #id: ActorId;
  readonly #room: Room;
  #events: Promise<ChainEvent | undefined>[] = [];

  constructor(engine: Engine, id: ActorId, room: Room) {
    this.#engine = engine;
    this.#id = id;
    this.#room = room;
  }

  take(seq: number): void {
    if (this.#room.left <= 0) return;
    this.#room.left -= 1;
    this.#events.push(first(this.#engine.history(this.#id, seq - 1)));
  }

  /** Those that could be had. */
  async events(): Promise<readonly ChainEvent[]> {
    const events = await Promise.all(this.#events);
    return events.filter((event) => event !== undefined);
  }

  /** They have been looked at. */
  release(): void {
    this.#room.left += this.#events.length;
    this.#events = [];
  }

  /** What was held before these. */
  prepend(before: Early): void {
    this.#events.unshift(...before.#events);
    before.#events = [];
  }
}

async function first(events: AsyncIterable<ChainEvent>): Promise<ChainEvent | undefined> {
  try {
    for await (const event of events) return event;
  } catch {
    // It is asked for again with the actor's history.
  }
  return undefined;
}
