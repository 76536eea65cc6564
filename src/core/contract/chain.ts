// Owns: the form of an event in an actor's chain, and how many of them are read or held at once. Does not own: hashing, verifying and
// replaying them (core/chain).
import type { ActorId } from "./actor.ts";
import { isJsonObject, type Json } from "./json.ts";

/**
 * `id` is the SHA-256 (hex) of `header`, which names the SHA-256 of `body`; both are stored as the text that was hashed. If the body is
 * erased, the chain still verifies (C7).
 */
export interface ChainEvent {
  readonly id: string;
  readonly header: string;
  readonly body?: string;
}

/** JSON, in exactly this order of keys. */
export interface Header {
  readonly actor: ActorId;
  /** UUID of this life of the actor: the same key started again is another life. */
  readonly life: string;
  /** From 1. */
  readonly seq: number;
  readonly parent: string | null;
  readonly at: number;
  /** The message's action, or `checkpoint`, `stop`, `fork`, `import`. */
  readonly type: string;
  readonly cause?: string;
  /** SHA-256 of the body's text. */
  readonly body: string;
}

/** Either `state` (whole) or `patch` (against the state before it); neither: the state is unchanged. */
export interface Body {
  readonly message: Json;
  readonly patch?: Json;
  readonly state?: Json;
  /** Version of the behaviour's state. */
  readonly version: number;
  /** Ids of the messages that left with this event. */
  readonly sent: readonly string[];
  readonly reply?: Json;
  readonly record?: Json;
}

/** Stands in events and logs where an argument or a record was secret. */
export const REDACTED = "[redacted]";

/** A context as an event stores it: what a call with secret arguments passes on to the handler of a reply may repeat them. */
export const storedContext = (context: Json | undefined): Json | undefined =>
  isJsonObject(context) && context["secret"] === true && context["args"] !== undefined ? { ...context, args: REDACTED } : context;

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
