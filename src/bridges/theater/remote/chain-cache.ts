// Owns: the events received of chains, and what follows from them: state changes and failures. Does not own: reading them
// (remote-events.ts).
import { hash } from "node:crypto";
import { isList } from "../../../core/contract/index.ts";
import { sameHash } from "../chain/link.ts";
import { type EventQuery, StageError, type StageEvent, type TheaterEvent } from "../stage.ts";
import { WIRE_LIMITS } from "../wire/codec.ts";
import { hexOf } from "../wire/events.ts";
import { readWireJson, WireError, type WireValue } from "../wire/wire-json.ts";
import type { Settings } from "./options.ts";

const follows = (event: TheaterEvent, before: TheaterEvent | undefined): boolean =>
  before === undefined || sameHash(event.parentHash, before.hash);

/** Sorts events by their links. Times do not give the order, since all events of a call may have the time of the call. */
export function inChainOrder(events: readonly TheaterEvent[]): readonly TheaterEvent[] {
  if (events.every((event, at) => follows(event, events[at - 1]))) return events;
  const hashes = new Set(events.map((event) => hexOf(event.hash)));
  const next = new Map<string, TheaterEvent>();
  let event: TheaterEvent | undefined;
  for (const one of events) {
    const parent = one.parentHash === null ? "" : hexOf(one.parentHash);
    if (hashes.has(parent)) next.set(parent, one);
    else event ??= one;
  }
  const chain: TheaterEvent[] = [];
  // Bounded, since links may form a cycle.
  for (; event !== undefined && chain.length < events.length; event = next.get(hexOf(event.hash))) chain.push(event);
  return chain;
}

/** The result of a call into an actor. */
type CallOutcome = { readonly state: Uint8Array | null } | { readonly failed: string };

const member = (value: WireValue | undefined, name: string): WireValue | undefined => (value instanceof Map ? value.get(name) : undefined);

/** Undefined for other events and for data of an unknown form. */
export function callOutcome({ eventType, data }: TheaterEvent): CallOutcome | undefined {
  if (eventType !== "wasm") return undefined;
  try {
    const wasm = member(readWireJson(data, WIRE_LIMITS), "Wasm");
    const message = member(member(wasm, "WasmError"), "message");
    if (typeof message === "string") return { failed: message };
    const result = member(member(wasm, "WasmResult"), "result");
    const state = isList(result) ? result[0] : undefined;
    return state === null || state instanceof Uint8Array ? { state } : undefined;
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

interface CachedEvent {
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
export class CachedChain {
  readonly actor: string;
  readonly #maxEvents: number;
  readonly #maxBytes: number;
  #events: CachedEvent[] = [];
  #indexes = new Map<string, number>();
  #bytes = 0;
  /** No event is missing between the cached ones. */
  #isGapless = true;
  /** Every cached event was classified with knowledge of the events before it. */
  #isClassified = true;

  /** `maxEvents`: up to twice as many are held between trims. `maxBytes`: limit of their data. */
  constructor(actor: string, maxEvents: number, maxBytes = Number.POSITIVE_INFINITY) {
    this.actor = actor;
    this.#maxEvents = maxEvents;
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  has(id: string): boolean {
    return this.#indexes.has(id);
  }

  /** The newest event, if none is missing before it. */
  get last(): string | undefined {
    return this.#isGapless ? this.#events.at(-1)?.id : undefined;
  }

  /** The first cached event, if there were others before it. */
  get first(): string | undefined {
    const [first] = this.#events;
    return first === undefined || first.event.parentHash === null ? undefined : first.id;
  }

  /** When the actor's first event happened, if that is cached. */
  get createdAt(): number | undefined {
    const [first] = this.#events;
    return first?.event.parentHash === null && first.event.timestamp > 0 ? first.event.timestamp : undefined;
  }

  /** The event at which the last call failed, and why. */
  get halted(): { readonly after: string; readonly why: string } | undefined {
    const failed = this.#events.at(-1)?.failed;
    return failed === undefined ? undefined : { after: failed.at, why: failed.why };
  }

  /** Takes the chain as the server has it: from its beginning, or its newest part. */
  replace(events: readonly TheaterEvent[], now: number): void {
    const [before, at] = this.#isGapless && this.#isClassified ? [this.#events, this.#indexes] : [[], new Map<string, number>()];
    this.#events = [];
    this.#indexes = new Map();
    this.#bytes = 0;
    const chain = inChainOrder(events);
    for (const event of chain) {
      const id = hexOf(event.hash);
      // A hash covers all earlier events, so what was derived from them is still right.
      this.#push(before[at.get(id) ?? -1] ?? this.#classify(event, id, now));
    }
    const [first] = this.#events;
    this.#isClassified = first === undefined || first.event.parentHash === null || at.has(first.id);
    this.#isGapless = true;
    this.#trim();
  }

  /** Takes the events after the last cached one, as the server has them. False if some are missing in between. */
  extend(events: readonly TheaterEvent[], now: number): boolean {
    for (const event of inChainOrder(events)) this.append(event, now);
    return this.#isGapless;
  }

  /** False if the event was already cached. */
  append(event: TheaterEvent, now: number): boolean {
    const id = hexOf(event.hash);
    if (this.#indexes.has(id)) return false;
    const parent = event.parentHash === null ? undefined : hexOf(event.parentHash);
    if (this.#events.length === 0) this.#isClassified = parent === undefined;
    else this.#isGapless &&= parent === this.#events.at(-1)?.id;
    this.#push(this.#classify(event, id, now));
    if (this.#events.length >= this.#maxEvents * 2 || this.#bytes > this.#maxBytes) this.#trim();
    return true;
  }

  /** `next` follows the last cached event. Throws `InvalidRequest` if the query names an event that is not cached. */
  page({ after, before, limit }: EventQuery, next?: string): readonly StageEvent[] {
    const from = after === undefined ? 0 : this.#indexOf(after) + 1;
    const to = before === undefined ? this.#events.length : this.#indexOf(before);
    const [first, end] = after === undefined ? [Math.max(from, to - limit), to] : [from, Math.min(to, from + limit)];
    return this.#events.slice(first, end).map((cached, at) => this.#stageEvent(cached, first + at, next));
  }

  /** `next` as in `page`. */
  event(id: string, next?: string): StageEvent | undefined {
    const at = this.#indexes.get(id);
    const cached = at === undefined ? undefined : this.#events[at];
    return at === undefined || cached === undefined ? undefined : this.#stageEvent(cached, at, next);
  }

  #stageEvent({ event, id, type, seenAt }: CachedEvent, at: number, after?: string): StageEvent {
    const next = this.#events[at + 1]?.id ?? after;
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

  #indexOf(id: string): number {
    const at = this.#indexes.get(id);
    if (at !== undefined) return at;
    throw new StageError(
      "InvalidRequest",
      `The actor has no event ${id.slice(0, 64)} that is known here: ask for its last events instead.`,
    );
  }

  #classify(event: TheaterEvent, id: string, seenAt: number): CachedEvent {
    const last = this.#events.at(-1);
    const isNext = event.parentHash !== null && last !== undefined && hexOf(event.parentHash) === last.id;
    const before = event.parentHash === null ? null : isNext ? last.state : undefined;
    const outcome = callOutcome(event);
    if (outcome === undefined || "failed" in outcome) {
      const failed = outcome === undefined ? last?.failed : { at: id, why: outcome.failed };
      return { event, id, type: event.eventType, seenAt, state: before, failed };
    }
    const state = outcome.state === null ? null : hash("sha1", outcome.state);
    const type = before !== undefined && state !== before ? "StateChanged" : event.eventType;
    return { event, id, type, seenAt, state, failed: undefined };
  }

  #push(cached: CachedEvent): void {
    if (this.#indexes.has(cached.id)) return;
    this.#indexes.set(cached.id, this.#events.length);
    this.#events.push(cached);
    this.#bytes += cached.event.data.length;
  }

  /** The last event always stays. A quarter of the bytes goes at once, since each trim reads all events. */
  #trim(): void {
    let extra = Math.max(0, this.#events.length - this.#maxEvents);
    let bytes = this.#events.slice(extra).reduce((sum, { event }) => sum + event.data.length, 0);
    const enough = bytes > this.#maxBytes ? (this.#maxBytes * 3) / 4 : bytes;
    for (; bytes > enough && extra < this.#events.length - 1; extra += 1) bytes -= this.#events[extra]?.event.data.length ?? 0;
    if (extra === 0) return;
    this.#bytes = bytes;
    this.#events = this.#events.slice(extra);
    this.#indexes = new Map(this.#events.map(({ id }, at) => [id, at]));
  }
}

/** What was seen of chains. The least recently used ones are evicted when they take too much memory. */
export class ChainCache {
  readonly #settings: Settings;
  readonly #chains = new Map<string, CachedChain>();
  #bytes = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get(actor: string): CachedChain | undefined {
    return this.#chains.get(actor);
  }

  replace(actor: string, events: readonly TheaterEvent[]): CachedChain {
    return this.#update(actor, (chain) => chain.replace(events, this.#settings.clock.now()));
  }

  /** Undefined if events are missing between the cached ones and these. */
  extend(actor: string, events: readonly TheaterEvent[]): CachedChain | undefined {
    let isWhole = false;
    const chain = this.#update(actor, (cached) => (isWhole = cached.extend(events, this.#settings.clock.now())));
    return isWhole ? chain : undefined;
  }

  /** False if the event was already cached. */
  append(actor: string, event: TheaterEvent): boolean {
    let isNew = false;
    this.#update(actor, (chain) => (isNew = chain.append(event, this.#settings.clock.now())));
    return isNew;
  }

  event(id: string): StageEvent | undefined {
    for (const chain of this.#chains.values()) {
      const event = chain.event(id);
      if (event !== undefined) return event;
    }
    return undefined;
  }

  #update(actor: string, change: (chain: CachedChain) => void): CachedChain {
    const { limits } = this.#settings;
    const chain = this.#chains.get(actor) ?? new CachedChain(actor, limits.events, limits.eventBytes);
    this.#chains.delete(actor);
    this.#chains.set(actor, chain);
    this.#bytes -= chain.bytes;
    change(chain);
    this.#bytes += chain.bytes;
    for (const [oldest, { bytes }] of this.#chains) {
      if (this.#bytes <= limits.eventBytes && this.#chains.size <= limits.events) break;
      if (oldest === actor) break;
      this.#chains.delete(oldest);
      this.#bytes -= bytes;
    }
    return chain;
  }
}
