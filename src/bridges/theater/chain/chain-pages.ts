// Owns: the cache of the newest events of chains, and pages of a chain. Does not own: the projection (projector.ts).
import { type ContentStore, type Engine, Queues, type Snapshot } from "../../../core/contract/index.ts";
import { type ChainPage, type EventQuery, StageError, type TheaterEvent } from "../stage.ts";
import { hexOf } from "../wire/events.ts";
import { byteListLength } from "../wire/wire-json.ts";
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
  /** By the actor's uid: an id is used again after its actor was pruned. Least recently used first. */
  readonly #tails = new Map<string, ChainTail>();
  readonly #reads = new Queues<string>();

  constructor(engine: Pick<Engine, "history">, get: ContentStore["get"]) {
    this.#engine = engine;
    this.#get = get;
  }

  /** Oldest first: at most 1,000 events, and at most 2 MiB. */
  newest({ id, uid }: Pick<Snapshot, "id" | "uid">): Promise<readonly TheaterEvent[]> {
    const tail = this.#tails.get(uid) ?? new ChainTail(new Projector(this.#get));
    this.#tails.delete(uid);
    this.#tails.set(uid, tail);
    for (const oldest of this.#tails.keys()) {
      if (this.#tails.size <= MAX_CHAINS) break;
      this.#tails.delete(oldest);
    }
    // One reader at a time, since a projector takes events in order. After a failed read, the next one continues where it stopped.
    return this.#reads.run(uid, () => tail.newest((seq) => this.#engine.history(id, seq)));
  }
}

class ChainTail {
  readonly #projector: Projector;
  readonly #events: TheaterEvent[] = [];
  #bytes = 0;

  constructor(projector: Projector) {
    this.#projector = projector;
  }

  async newest(after: (seq: number) => ReturnType<Engine["history"]>): Promise<readonly TheaterEvent[]> {
    for await (const event of after(this.#projector.seq)) for (const projected of await this.#projector.next(event)) this.#add(projected);
    return Array.from(this.#events);
  }

  #add(event: TheaterEvent): void {
    this.#events.push(event);
    this.#bytes += event.data.length;
    while (this.#events.length > MAX_EVENTS || this.#bytes > MAX_BYTES) this.#bytes -= this.#events.shift()?.data.length ?? 0;
  }
}

/** Limit in Theater's printed form: half a frame, since callers of a page want a quick answer. */
const MAX_PAGE_BYTES = 16 * 1_048_576;

const unknownEvent = (id: string): StageError =>
  new StageError("InvalidRequest", `The actor has no event ${JSON.stringify(id.slice(0, 64))}: take a hash from its events.`);

/** A page of the newest events; undefined if it needs older ones. */
export function newestPage(newest: readonly TheaterEvent[], { after, before, limit }: EventQuery): ChainPage | undefined {
  const end = before === undefined ? newest.length : newest.findIndex((event) => hexOf(event.hash) === before);
  const from = after === undefined ? 0 : newest.findIndex((event) => hexOf(event.hash) === after) + 1;
  if (end < 0 || (after !== undefined && from === 0)) return undefined;
  if (after !== undefined) return { events: newest.slice(from, Math.min(end, from + limit)), more: from + limit < end };
  const firstIndex = Math.max(0, end - limit);
  const isFirst = firstIndex === 0 && (newest[0]?.parentHash ?? null) === null;
  if (before !== undefined && end < limit && !isFirst) return undefined;
  return { events: newest.slice(firstIndex, end), more: !isFirst };
}

/** Reads the chain only as far as needed and holds only the page. Throws `InvalidRequest`. */
export async function olderPage(chain: AsyncIterable<TheaterEvent>, { after, before, limit }: EventQuery): Promise<ChainPage> {
  const page = new PageBuilder(limit);
  let started = after === undefined;
  for await (const event of chain) {
    const id = hexOf(event.hash);
    if (id === before) return page.result();
    if (started) page.add(event);
    else started = id === after;
    if (after === undefined) page.dropFirst();
    else if (page.dropLast()) return page.result();
  }
  if (!started || before !== undefined) throw unknownEvent(started ? (before ?? "") : (after ?? ""));
  return page.result();
}

class PageBuilder {
  readonly #limit: number;
  readonly #events: TheaterEvent[] = [];
  #bytes = 0;
  #more = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(event: TheaterEvent): void {
    this.#events.push(event);
    this.#bytes += byteListLength(event.data);
  }

  dropFirst(): void {
    while (this.#isTooLong) this.#noteRemoved(this.#events.shift());
  }

  /** Whether the page is full. */
  dropLast(): boolean {
    if (this.#isTooLong) this.#noteRemoved(this.#events.pop());
    return this.#more;
  }

  result(): ChainPage {
    return { events: this.#events, more: this.#more };
  }

  /** A page has at least one event, however long. */
  get #isTooLong(): boolean {
    return this.#events.length > this.#limit || (this.#bytes > MAX_PAGE_BYTES && this.#events.length > 1);
  }

  #noteRemoved(event: TheaterEvent | undefined): void {
    if (event !== undefined) this.#bytes -= byteListLength(event.data);
    this.#more = true;
  }
}
