import type { StageEvent } from "../stage.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import { CachedChain } from "./kept-chain.ts";
import type { Settings } from "./options.ts";

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
