import { type EventQuery, StageError } from "../stage.ts";
import type { TheaterEvent } from "../theater-stage.ts";
import type { AnswerTo } from "./answers.ts";
import type { CommandClient } from "./calls.ts";
import type { CachedChain } from "./kept-chain.ts";
import type { ChainCache } from "./kept-chains.ts";
import type { Settings } from "./options.ts";

type ChainAnswer = AnswerTo<"GetActorEvents"> | undefined;
type SendQuery = (query: EventQuery) => Promise<ChainAnswer>;

/** Reads chains of servers that store any. Those since June 2026 do not, and leave the command unanswered. */
export class ChainReader {
  readonly #settings: Settings;
  readonly #calls: CommandClient;
  readonly #chains: ChainCache;
  #isReadable = false;
  #unreadableUntil = 0;
  /** Whether the server sends pages, if that is known. */
  #sendsPages: boolean | undefined;

  constructor(settings: Settings, calls: CommandClient, chains: ChainCache) {
    this.#settings = settings;
    this.#calls = calls;
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
      return await this.#read(actor, (query) => this.#calls.read({ is: "GetActorEvents", id: actor, query }, limit, tries));
    } catch (error) {
      if (!(error instanceof StageError)) throw error;
      // A server without pages cannot send a chain this long. The cache has what was seen of it.
      if (error.code === "SerializationError" && this.#chains.get(actor)?.isEmpty === false) return undefined;
      if (error.code !== "Timeout" || this.#isReadable) throw error;
      // The server answers other commands, so it does not know this one.
      await this.#calls.read({ is: "ListActors" }, limits.probeMs);
      this.#unreadableUntil = clock.now() + limits.unknownMs;
      log("warning", { event: "theater-keeps-no-chains", server });
      return undefined;
    }
  }

  /** Events that are not cached. Undefined if the server sends no pages. Throws `InvalidRequest` if it has no event of that id. */
  async page(actor: string, query: EventQuery): Promise<readonly TheaterEvent[] | undefined> {
    if (this.#sendsPages !== true) return undefined;
    const answer = await this.#calls.read({ is: "GetActorEvents", id: actor, query });
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
