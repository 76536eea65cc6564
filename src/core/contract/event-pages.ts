// Owns: how many events of a chain are read or held at once. Does not own: reading them.

import type { ChainEvent } from "./chain.ts";

/** Nothing is known yet of how large they are. */
const FIRST = 4;
/** The next page has so many characters if its events are like those before. One event may have megabytes. */
const PAGE_CHARACTERS = 1_048_576;

/** Sizes of pages: short while events are large, so that a long chain of them is not in memory at once. */
export class EventPages {
  readonly #most: number;
  #size: number;

  constructor(most: number) {
    this.#most = most;
    this.#size = Math.min(FIRST, most);
  }

  /** How many events to read next. */
  get size(): number {
    return this.#size;
  }

  /** This page was read: the next one is at most twice as long. */
  read(events: readonly ChainEvent[]): void {
    if (events.length === 0) return;
    const average = charactersIn(events) / events.length;
    this.#size = Math.max(1, Math.min(this.#most, this.#size * 2, Math.floor(PAGE_CHARACTERS / average)));
  }
}

/** Of their texts. */
export function charactersIn(events: readonly ChainEvent[]): number {
  let characters = 0;
  for (const { header, body = "" } of events) characters += header.length + body.length;
  return characters;
}

/** The newest events, oldest first, that have at most so many characters together; at least one. No more are held while it reads. */
export async function newestWithin(events: AsyncIterable<ChainEvent>, most: number): Promise<readonly ChainEvent[]> {
  const held: ChainEvent[] = [];
  let characters = 0;
  for await (const event of events) {
    held.push(event);
    characters += charactersIn([event]);
    while (characters > most && held.length > 1) characters -= charactersIn(held.splice(0, 1));
  }
  return held;
}
