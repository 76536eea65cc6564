import { hash } from "node:crypto";
import { StageError, type EventQuery, type StageEvent } from "../stage.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import { hexOf, linked } from "./linked.ts";
import { outcomeOf } from "./outcome.ts";

interface Kept {
  readonly event: TheaterEvent;
  readonly id: string;
  readonly type: string;
  /** When it was first received. */
  readonly seenAt: number;
  /** A digest of the state after it; null if there is none, undefined if it is unknown. */
  readonly state: string | null | undefined;
  /** The last failed call, if none has succeeded since. */
  readonly failed: { readonly at: string; readonly why: string } | undefined;
}

/** The newest events of one actor that were received. */
export class KeptChain {
  readonly actor: string;
  readonly #most: number;
  readonly #mostBytes: number;
  #kept: Kept[] = [];
  #at = new Map<string, number>();
  #bytes = 0;
  /** No event is missing between the cached ones. */
  #gapless = true;
  /** Every cached event was classified with knowledge of the events before it. */
  #judged = true;

  /** `most`: events; up to twice as many are held between trims. `mostBytes`: bytes of their data. */
  constructor(actor: string, most: number, mostBytes = Number.POSITIVE_INFINITY) {
    this.actor = actor;
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#kept.length === 0;
  }

  has(id: string): boolean {
    return this.#at.has(id);
  }

  /** The newest event, if none is missing before it. */
  get last(): string | undefined {
    return this.#gapless ? this.#kept.at(-1)?.id : undefined;
  }

  /** The first cached event, if there were others before it. */
  get first(): string | undefined {
    const [first] = this.#kept;
    return first === undefined || first.event.parentHash === null ? undefined : first.id;
  }

  /** When the actor's first event happened, if that is cached. */
  get createdAt(): number | undefined {
    const [first] = this.#kept;
    return first?.event.parentHash === null && first.event.timestamp > 0 ? first.event.timestamp : undefined;
  }

  /** The event at which the last call failed, and why. */
  get halted(): { readonly after: string; readonly why: string } | undefined {
    const failed = this.#kept.at(-1)?.failed;
    return failed === undefined ? undefined : { after: failed.at, why: failed.why };
  }

  /** Takes the chain as the server has it: from its beginning, or its newest part. */
  replace(events: readonly TheaterEvent[], now: number): void {
    const [before, at] = this.#gapless && this.#judged ? [this.#kept, this.#at] : [[], new Map<string, number>()];
    this.#kept = [];
    this.#at = new Map();
    this.#bytes = 0;
    const chain = linked(events);
    for (const event of chain) {
      const id = hexOf(event.hash);
      // A hash covers all earlier events, so what was derived from them is still right.
      this.#push(before[at.get(id) ?? -1] ?? this.#judge(event, id, now));
    }
    const [first] = this.#kept;
    this.#judged = first === undefined || first.event.parentHash === null || at.has(first.id);
    this.#gapless = true;
    this.#trim();
  }

  /** Takes the events after the last cached one, as the server has them. False if some are missing in between. */
  extend(events: readonly TheaterEvent[], now: number): boolean {
    for (const event of linked(events)) this.append(event, now);
    return this.#gapless;
  }

  /** False if the event was already cached. */
  append(event: TheaterEvent, now: number): boolean {
    const id = hexOf(event.hash);
    if (this.#at.has(id)) return false;
    const parent = event.parentHash === null ? undefined : hexOf(event.parentHash);
    if (this.#kept.length === 0) this.#judged = parent === undefined;
    else this.#gapless &&= parent === this.#kept.at(-1)?.id;
    this.#push(this.#judge(event, id, now));
    if (this.#kept.length >= this.#most * 2 || this.#bytes > this.#mostBytes) this.#trim();
    return true;
  }

  /** `next` follows the last cached event. Throws `InvalidRequest` if the query names an event that is not cached. */
  page({ after, before, limit }: EventQuery, next?: string): readonly StageEvent[] {
    const from = after === undefined ? 0 : this.#place(after) + 1;
    const to = before === undefined ? this.#kept.length : this.#place(before);
    const [first, end] = after === undefined ? [Math.max(from, to - limit), to] : [from, Math.min(to, from + limit)];
    return this.#kept.slice(first, end).map((kept, at) => this.#told(kept, first + at, next));
  }

  /** `next` as in `page`. */
  event(id: string, next?: string): StageEvent | undefined {
    const at = this.#at.get(id);
    const kept = at === undefined ? undefined : this.#kept[at];
    return at === undefined || kept === undefined ? undefined : this.#told(kept, at, next);
  }

  #told({ event, id, type, seenAt }: Kept, at: number, after?: string): StageEvent {
    const next = this.#kept[at + 1]?.id ?? after;
    return {
      id,
      actor: this.actor,
      // Servers since 2026 send no time.
      at: event.timestamp > 0 ? event.timestamp : seenAt,
      type,
      parent: event.parentHash === null ? null : hexOf(event.parentHash),
      data: event.data,
      children: next === undefined ? [] : [next],
    };
  }

  #place(id: string): number {
    const at = this.#at.get(id);
    if (at !== undefined) return at;
    throw new StageError(
      "InvalidRequest",
      `The actor has no event ${id.slice(0, 64)} that is known here: ask for its last events instead.`,
    );
  }

  #judge(event: TheaterEvent, id: string, seenAt: number): Kept {
    const last = this.#kept.at(-1);
    const isNext = event.parentHash !== null && last !== undefined && hexOf(event.parentHash) === last.id;
    const before = event.parentHash === null ? null : isNext ? last.state : undefined;
    const outcome = outcomeOf(event);
    if (outcome === undefined || "failed" in outcome) {
      const failed = outcome === undefined ? last?.failed : { at: id, why: outcome.failed };
      return { event, id, type: event.eventType, seenAt, state: before, failed };
    }
    const state = outcome.state === null ? null : hash("sha1", outcome.state);
    const type = before !== undefined && state !== before ? "StateChanged" : event.eventType;
    return { event, id, type, seenAt, state, failed: undefined };
  }

  #push(kept: Kept): void {
    if (this.#at.has(kept.id)) return;
    this.#at.set(kept.id, this.#kept.length);
    this.#kept.push(kept);
    this.#bytes += kept.event.data.length;
  }

  /** The last event always stays. A quarter of the bytes goes at once, since each trim reads all events. */
  #trim(): void {
    let extra = Math.max(0, this.#kept.length - this.#most);
    let bytes = this.#kept.slice(extra).reduce((sum, { event }) => sum + event.data.length, 0);
    const enough = bytes > this.#mostBytes ? (this.#mostBytes * 3) / 4 : bytes;
    for (; bytes > enough && extra < this.#kept.length - 1; extra += 1) bytes -= this.#kept[extra]?.event.data.length ?? 0;
    if (extra === 0) return;
    this.#bytes = bytes;
    this.#kept = this.#kept.slice(extra);
    this.#at = new Map(this.#kept.map(({ id }, at) => [id, at]));
  }
}
