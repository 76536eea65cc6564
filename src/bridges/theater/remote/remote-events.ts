// Owns: reading events of the server by page and by id. Does not own: the cache (chain-cache.ts), following (event-followers.ts).
import { type EventQuery, StageError, type StageEvent, type TheaterEvent, UUID } from "../stage.ts";
import type { ActorList } from "./actor-list.ts";
import { CachedChain, type ChainCache } from "./chain-cache.ts";
import type { CommandClient } from "./command-client.ts";
import type { AnswerTo } from "./connection.ts";
import type { Settings } from "./options.ts";
import { actorNotFound, isNotFound } from "./errors.ts";
import { counted } from "../../../core/contract/internal.ts";

type ChainAnswer = AnswerTo<"GetActorEvents"> | undefined;
type SendQuery = (query: EventQuery) => Promise<ChainAnswer>;

/** Reads chains of servers that store any. Those since June 2026 do not, and leave the command unanswered. */
export class ChainReader {
  readonly #settings: Settings;
  readonly #commands: CommandClient;
  readonly #chains: ChainCache;
  #isReadable = false;
  #unreadableUntil = 0;
  /** Whether the server sends pages, if that is known. */
  #sendsPages: boolean | undefined;

  constructor(settings: Settings, commands: CommandClient, chains: ChainCache) {
    this.#settings = settings;
    this.#commands = commands;
    this.#chains = chains;
  }

  /** Whether chains are known to be readable. Otherwise an actor must be followed from its start. */
  get canRead(): boolean {
    return this.#isReadable;
  }

  /** Whether chains are known to be unreadable. */
  get cannotRead(): boolean {
    return this.#settings.clock.now() < this.#unreadableUntil;
  }

  /** The chain now, or its newest part. Undefined if it cannot be read: then the cache has all there is. Throws `StageError`. */
  async read(actor: string, limitMs = this.#settings.limits.replyMs, tries?: number): Promise<CachedChain | undefined> {
    if (this.cannotRead) return undefined;
    const { clock, limits, log, server } = this.#settings;
    const limit = this.#isReadable ? limitMs : Math.min(limitMs, limits.probeMs);
    try {
      return await this.#read(actor, (query) => this.#commands.read({ type: "GetActorEvents", id: actor, query }, limit, tries));
    } catch (error) {
      if (!(error instanceof StageError)) throw error;
      // A server without pages cannot send a chain this long. The cache has what was seen of it.
      if (error.code === "SerializationError" && this.#chains.get(actor)?.isEmpty === false) return undefined;
      if (error.code !== "Timeout" || this.#isReadable) throw error;
      // The server answers other commands, so it does not know this one.
      await this.#commands.read({ type: "ListActors" }, limits.probeMs);
      this.#unreadableUntil = clock.now() + limits.unknownMs;
      log("warning", { event: "theater-keeps-no-chains", server });
      return undefined;
    }
  }

  /** Events that are not cached. Undefined if the server sends no pages. Throws `InvalidRequest` if it has no event of that id. */
  async page(actor: string, query: EventQuery): Promise<readonly TheaterEvent[] | undefined> {
    if (this.#sendsPages !== true) return undefined;
    const answer = await this.#commands.read({ type: "GetActorEvents", id: actor, query });
    return answer?.more === undefined ? undefined : answer.events;
  }

  async #read(actor: string, send: SendQuery): Promise<CachedChain | undefined> {
    const limit = this.#settings.limits.events;
    const last = this.#sendsPages === true ? this.#chains.get(actor)?.last : undefined;
    if (last !== undefined) {
      const since = await send({ limit, after: last }).catch(ignoreUnknownEvent);
      const chain = since?.more === false ? this.#chains.extend(actor, since.events) : undefined;
      if (chain !== undefined) return chain;
    }
    const answer = await send({ limit });
    if (answer === undefined) return undefined;
    this.#isReadable = true;
    this.#sendsPages = answer.more !== undefined;
    return this.#chains.replace(actor, answer.events);
  }
}

/** The cached event is not part of the server's chain, which must be read anew. */
function ignoreUnknownEvent(error: unknown): undefined {
  if (!(error instanceof StageError) || error.code !== "InvalidRequest") throw error;
}

const EVENT_ID = /^[0-9a-f]{40}$/u;

const SEARCH_PAGE_SIZE = 1_000;

/** Events of the server's chains, by page and by id. */
export class RemoteEvents {
  readonly #settings: Settings;
  readonly #actors: ActorList;
  readonly #reader: ChainReader;
  readonly #chains: ChainCache;

  constructor(settings: Settings, actors: ActorList, reader: ChainReader, chains: ChainCache) {
    this.#settings = settings;
    this.#actors = actors;
    this.#reader = reader;
    this.#chains = chains;
  }

  async page(idOrName: string, query: EventQuery): Promise<readonly StageEvent[]> {
    let id = idOrName.toLowerCase();
    try {
      ({ id } = await this.#actors.find(idOrName));
    } catch (error) {
      const chain = isNotFound(error) ? await this.#chainOfEnded(id) : undefined;
      if (chain === undefined) throw error;
      return chain.page(query);
    }
    const read = await this.#reader.read(id);
    const chain = read ?? this.#chains.get(id);
    if (chain !== undefined) return (await this.#olderPage(chain, query)) ?? chain.page(query);
    if (this.#reader.cannotRead) return this.#withoutChains(query);
    throw await this.#unansweredError(id);
  }

  /** Undefined if neither a listed actor nor the cache has the event. */
  async event(id: string): Promise<StageEvent | undefined> {
    if (!EVENT_ID.test(id)) return undefined;
    const seen = this.#chains.event(id);
    if (seen !== undefined) {
      // To learn which events followed it since.
      await this.#reader.read(seen.actor, this.#settings.limits.probeMs, 1).catch(() => undefined);
      return this.#chains.event(id) ?? seen;
    }
    return await this.#search(id);
  }

  /** Throws `Timeout` or `CommunicationError` if some actors were not searched: any of them may have the event. */
  async #search(id: string): Promise<StageEvent | undefined> {
    const { clock, limits, server } = this.#settings;
    const until = clock.now() + limits.searchMs;
    const actors = await this.#actors.all();
    let [tried, searched] = [0, 0];
    while (tried < actors.length && clock.now() < until && !this.#reader.cannotRead) {
      const batch = actors.slice(tried, tried + limits.connections);
      tried += batch.length;
      const found = await Promise.all(batch.map((actor) => this.#searchIn(actor.id, id, until)));
      const event = found.find((one) => typeof one === "object");
      if (event !== undefined) return event;
      searched += found.filter((one) => one === "none").length;
    }
    if (searched === actors.length || this.#reader.cannotRead) return undefined;
    const sentence = `Of ${counted(actors.length, "actor")} at ${server} ${searched} were searched for the event ${id}, and none of them has it: read the events of the actor it is of instead.`;
    throw new StageError(tried < actors.length ? "Timeout" : "CommunicationError", sentence);
  }

  async #searchIn(actor: string, id: string, until: number): Promise<StageEvent | "none" | "unknown"> {
    const { clock } = this.#settings;
    try {
      let chain = await this.#reader.read(actor, Math.max(1, until - clock.now()), 1);
      for (let next: string | undefined; chain !== undefined;) {
        const event = chain.event(id, next);
        if (event !== undefined) return event;
        next = chain.first;
        if (next === undefined) return "none";
        if (clock.now() >= until) return "unknown";
        chain = await this.#readPage(actor, { limit: SEARCH_PAGE_SIZE, before: next });
      }
      return "unknown";
    } catch (error) {
      if (!(error instanceof StageError)) throw error;
      return isNotFound(error) ? "none" : "unknown";
    }
  }

  /** Events that are not cached. Undefined if they are cached, or cannot be read. */
  async #olderPage(chain: CachedChain, query: EventQuery): Promise<readonly StageEvent[] | undefined> {
    const { after, before, limit } = query;
    const from = after ?? before;
    if (from === undefined || (chain.has(from) && (after !== undefined || chain.first !== before))) return undefined;
    // One more, since the next event of the chain is a child of the last.
    const page = await this.#readPage(chain.actor, after === undefined ? query : { ...query, limit: limit + 1 });
    return page?.page({ limit: limit + 1 }, before).slice(0, limit);
  }

  async #readPage(actor: string, query: EventQuery): Promise<CachedChain | undefined> {
    const events = await this.#reader.page(actor, query);
    if (events === undefined) return undefined;
    const page = new CachedChain(actor, events.length);
    page.replace(events, this.#settings.clock.now());
    return page;
  }

  /** Some servers still have the chains of actors that ended, and the cache has what was seen here. */
  async #chainOfEnded(id: string): Promise<CachedChain | undefined> {
    const seen = this.#chains.get(id);
    if (seen !== undefined || !UUID.test(id)) return seen;
    const read = await this.#reader.read(id, this.#settings.limits.probeMs, 1).catch(() => undefined);
    return read === undefined || read.isEmpty ? undefined : read;
  }

  #withoutChains({ after, before }: EventQuery): readonly StageEvent[] {
    const { log, server } = this.#settings;
    const id = after ?? before;
    if (id !== undefined) {
      const sentence = `${server} keeps no chains, and the event ${id.slice(0, 64)} was not seen here: ask for the last events instead.`;
      throw new StageError("InvalidRequest", sentence);
    }
    log("info", { event: "theater-events-from-now-on", server });
    return [];
  }

  async #unansweredError(id: string): Promise<StageError> {
    if (!(await this.#actors.all()).some((actor) => actor.id === id)) return actorNotFound(id, this.#settings);
    const sentence = `${this.#settings.server} closed the connection in place of the events: there may be more than it can send at once. Watch the actor to see the next.`;
    return new StageError("CommunicationError", sentence);
  }
}
