import { type EventQuery, StageError } from "../stage.ts";
import type { ChainPage, TheaterEvent } from "../theater-stage.ts";
import { byteListLength } from "../wire/index.ts";

/** Limit in Theater's printed form: half a frame, since callers of a page want a quick answer. */
const MAX_PAGE_BYTES = 16 * 1_048_576;

const hexId = ({ hash }: TheaterEvent): string => Buffer.from(hash).toString("hex");

const unknownEvent = (id: string): StageError =>
  new StageError("InvalidRequest", `The actor has no event ${JSON.stringify(id.slice(0, 64))}: take a hash from its events.`);

/** A page of the newest events; undefined if it needs older ones. */
export function newestPage(newest: readonly TheaterEvent[], { after, before, limit }: EventQuery): ChainPage | undefined {
  const end = before === undefined ? newest.length : newest.findIndex((event) => hexId(event) === before);
  const from = after === undefined ? 0 : newest.findIndex((event) => hexId(event) === after) + 1;
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
    const id = hexId(event);
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
