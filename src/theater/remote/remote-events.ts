import { StageError, type EventQuery, type StageEvent } from "../stage.ts";
import { notFound } from "./calls.ts";
import type { EventReader } from "./event-reader.ts";
import { KeptChain } from "./kept-chain.ts";
import type { KeptChains } from "./kept-chains.ts";
import type { Settings } from "./options.ts";
import type { Roster } from "./roster.ts";

const EVENT_ID = /^[0-9a-f]{40}$/u;

const isGone = (error: unknown): boolean => error instanceof StageError && error.code === "ActorNotFound";

/** Chains as pages of events. */
export class RemoteEvents {
  readonly #settings: Settings;
  readonly #roster: Roster;
  readonly #reader: EventReader;
  readonly #chains: KeptChains;

  constructor(settings: Settings, roster: Roster, reader: EventReader, chains: KeptChains) {
    this.#settings = settings;
    this.#roster = roster;
    this.#reader = reader;
    this.#chains = chains;
  }

  async page(given: string, query: EventQuery): Promise<readonly StageEvent[]> {
    let id = given.toLowerCase();
    try {
      ({ id } = await this.#roster.find(given));
    } catch (error) {
      const chain = isGone(error) ? await this.#ofEnded(id) : undefined;
      if (chain === undefined) throw error;
      return chain.page(query);
    }
    const read = await this.#reader.read(id);
    const chain = read ?? this.#chains.get(id);
    if (chain !== undefined) return (await this.#older(chain, query)) ?? chain.page(query);
    if (this.#reader.cannot) return this.#ofNone(query);
    throw await this.#unanswered(id);
  }

  /** Undefined: nobody's who is there or was seen. */
  async event(id: string): Promise<StageEvent | undefined> {
    if (!EVENT_ID.test(id)) return undefined;
    const seen = this.#chains.event(id);
    if (seen !== undefined) {
      // What came after it since.
      await this.#reader.read(seen.actor, this.#settings.limits.probeMs, 1).catch(() => undefined);
      return this.#chains.event(id) ?? seen;
    }
    for (const { id: actor } of (await this.#roster.all()).slice(0, this.#settings.limits.searched)) {
      const chain = await this.#reader.read(actor).catch(() => undefined);
      const event = chain?.event(id);
      if (event !== undefined || this.#reader.cannot) return event;
    }
    return undefined;
  }

  /** Where it is asked for what is not kept here. Undefined: it is kept, or not to be had. */
  async #older(chain: KeptChain, query: EventQuery): Promise<readonly StageEvent[] | undefined> {
    const { after, before, limit } = query;
    const from = after ?? before;
    if (from === undefined || (chain.has(from) && (after !== undefined || chain.first !== before))) return undefined;
    // One more: the next in the chain is a child of the last.
    const events = await this.#reader.page(chain.actor, after === undefined ? query : { ...query, limit: limit + 1 });
    if (events === undefined) return undefined;
    const page = new KeptChain(chain.actor, events.length);
    page.replace(events, this.#settings.clock.now());
    return page.page({ limit: events.length }, before).slice(0, limit);
  }

  /** Some servers keep the chains of those that ended, and what was seen here is here. */
  async #ofEnded(id: string): Promise<KeptChain | undefined> {
    const seen = this.#chains.get(id);
    if (seen !== undefined || !/^[0-9a-f-]{36}$/u.test(id)) return seen;
    const read = await this.#reader.read(id, this.#settings.limits.probeMs, 1).catch(() => undefined);
    return read === undefined || read.isEmpty ? undefined : read;
  }

  #ofNone({ after, before }: EventQuery): readonly StageEvent[] {
    const { log, server } = this.#settings;
    const id = after ?? before;
    if (id !== undefined) {
      const sentence = `${server} keeps no chains, and the event ${id.slice(0, 64)} was not seen here: ask for the last events instead.`;
      throw new StageError("InvalidRequest", sentence);
    }
    log("info", { event: "theater-events-from-now-on", server });
    return [];
  }

  async #unanswered(id: string): Promise<StageError> {
    if (!(await this.#roster.all()).some((actor) => actor.id === id)) return notFound(id, this.#settings);
    const sentence = `${this.#settings.server} closed the connection in place of the events: there may be more than it can send at once. Watch the actor to see the next.`;
    return new StageError("CommunicationError", sentence);
  }
}
