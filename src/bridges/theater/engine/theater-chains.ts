// Owns: chains of the engine in Theater's form, whole, by pages and as they grow, and how an actor ended. Does not own: the projection
// (chain/projector.ts).
import { readBody, readHeader } from "../../../core/chain/index.ts";
import {
  type ActorId,
  type Body,
  type ChainEvent,
  type Change,
  type ContentStore,
  type Engine,
  isJsonObject,
  isList,
  type Json,
  type Snapshot,
} from "../../../core/contract/index.ts";
import { loadValue } from "../../wasm/index.ts";
import { ChainTails, newestPage, olderPage } from "../chain/chain-pages.ts";
import { Projector, theaterEvents } from "../chain/projector.ts";
import { type ActorEnd, type ChainPage, type EventQuery, StageError, type TheaterEvent } from "../stage.ts";
import { byteListLength } from "../wire/wire-json.ts";

/** The failure recorded in an event. A parent is notified of it like of an end. */
function failureOf(body: Body | undefined, last: TheaterEvent | undefined): ActorEnd | undefined {
  const { end, message } = isJsonObject(body?.record) ? body.record : {};
  if (typeof end !== "string" || end === "ok") return undefined;
  return { how: "error", event: last, message: typeof message === "string" ? message : `The call ended: ${end}.` };
}

/** How the actor ended with the event of this body. */
async function actorEnd(body: Body | undefined, get: ContentStore["get"]): Promise<ActorEnd> {
  const { did } = isJsonObject(body?.record) ? body.record : {};
  const shutdown = isList(did) ? did.findLast((call) => isJsonObject(call) && call["name"] === "runtime.shutdown") : undefined;
  if (isJsonObject(shutdown)) return { how: "success", result: await shutdownData(shutdown["args"], get) };
  return isEngineStop(body) ? { how: "external-stop" } : { how: "success", result: undefined };
}

async function shutdownData(args: Json | undefined, get: ContentStore["get"]): Promise<Uint8Array | undefined> {
  const [data] = isList(args) ? args : [];
  const value = data === undefined ? undefined : await loadValue(data, get);
  return value instanceof Uint8Array ? value : undefined;
}

/** The engine's own stop, which runs no code of the behaviour. */
const isEngineStop = (body: Body | undefined): boolean => isJsonObject(body?.message) && body.message["action"] === "stop";

/** Limit for a whole chain, as Theater prints it. */
const MAX_CHAIN_BYTES = 32 * 1_048_576;
/** Approximate length of an event's text without its data. */
const EVENT_OVERHEAD_BYTES = 256;

const chainTooLong = (events: number): StageError =>
  new StageError(
    "SerializationError",
    `Its events are longer than the ${MAX_CHAIN_BYTES} bytes that are sent at once, after ${events} of them: with \`limit\` GetActorEvents tells a page of them, those before or after an event with \`before\` or \`after\`, its hash in hexadecimal; SubscribeToActor tells those that come.`,
  );

interface Follower {
  event(event: TheaterEvent): void;
  ended(end: ActorEnd): void;
}

/** Chains in Theater's form: whole, by pages, and as they grow. */
export class TheaterChains {
  readonly #engine: Pick<Engine, "history" | "watch">;
  readonly #get: ContentStore["get"];
  readonly #followedChains = new Map<ActorId, FollowedChain>();
  readonly #tails: ChainTails;

  constructor(engine: Pick<Engine, "history" | "watch">, contents: Pick<ContentStore, "get">) {
    this.#engine = engine;
    this.#get = (digest) => contents.get(digest);
    this.#tails = new ChainTails(engine, this.#get);
  }

  /** Throws `InvalidRequest` if the chain lacks an event that the query names. */
  async page({ id, uid }: Pick<Snapshot, "id" | "uid">, query: EventQuery): Promise<ChainPage> {
    // Most callers want what is new since their last query. The cached newest events answer that without projecting the whole chain.
    const newest = newestPage(await this.#tails.newest({ id, uid }), query);
    return newest ?? olderPage(theaterEvents(this.#engine.history(id), this.#get), query);
  }

  /** Throws `SerializationError` as soon as it has read more than can be sent at once. */
  async whole({ id }: Pick<Snapshot, "id">): Promise<readonly TheaterEvent[]> {
    const events: TheaterEvent[] = [];
    let bytes = 0;
    for await (const event of theaterEvents(this.#engine.history(id), this.#get)) {
      bytes += byteListLength(event.data) + EVENT_OVERHEAD_BYTES;
      if (bytes > MAX_CHAIN_BYTES) throw chainTooLong(events.length);
      events.push(event);
    }
    return events;
  }

  /** Reports each event that is committed after this settles. Of earlier ones it reports only the end of an actor that has ended. */
  async follow({ id, seq, status }: Pick<Snapshot, "id" | "seq" | "status">, follower: Follower): Promise<() => void> {
    if (status === "stopped") {
      for await (const event of this.#engine.history(id, seq - 1)) follower.ended(await actorEnd(readBody(event), this.#get));
      return () => undefined;
    }
    let chain = this.#followedChains.get(id);
    if (chain === undefined) {
      chain = new FollowedChain(this.#engine, this.#get, id, () => this.#followedChains.delete(id));
      this.#followedChains.set(id, chain);
    }
    return chain.add(follower, seq);
  }

  close(): void {
    for (const chain of this.#followedChains.values()) chain.close();
    this.#followedChains.clear();
  }
}

/** One actor's chain, projected once for all its followers. */
class FollowedChain {
  readonly #engine: Pick<Engine, "history" | "watch">;
  readonly #id: ActorId;
  readonly #get: ContentStore["get"];
  readonly #projector: Projector;
  readonly #onUnused: () => void;
  readonly #unwatch: () => void;
  /** Followers, with the sequence number that each knew when it was added. */
  readonly #followers = new Map<Follower, number>();
  #reading: Promise<void> = Promise.resolve();
  /** The last event read, unless it was already reported as the actor's end. */
  #last: ChainEvent | undefined;

  constructor(engine: Pick<Engine, "history" | "watch">, get: ContentStore["get"], id: ActorId, onUnused: () => void) {
    this.#engine = engine;
    this.#id = id;
    this.#onUnused = onUnused;
    this.#get = get;
    this.#projector = new Projector(get);
    this.#unwatch = engine.watch(id, (change) => void this.#readMore(change).catch(() => undefined));
  }

  /** Rejects if the chain cannot be read now: its follower would wait for events that may never come. */
  async add(follower: Follower, seq: number): Promise<() => void> {
    this.#followers.set(follower, seq);
    const leave = (): void => {
      if (this.#followers.delete(follower) && this.#followers.size === 0) this.close();
    };
    try {
      await this.#readMore();
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }

  close(): void {
    this.#followers.clear();
    this.#unwatch();
    this.#onUnused();
  }

  /** Reads in the chain's order, one reader at a time. What cannot be read now is read after the next change. */
  #readMore(change?: Change): Promise<void> {
    const reading = this.#reading.then(() => this.#read(change));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #read(change: Change | undefined): Promise<void> {
    for await (const event of this.#engine.history(this.#id, this.#projector.seq)) {
      // It was started again before this read its end.
      if (this.#last !== undefined && readHeader(this.#last).life !== readHeader(event).life) await this.#reportEnd(this.#last);
      if (this.#followers.size === 0) return;
      const projected = await this.#projector.next(event);
      this.#last = event;
      const failure = failureOf(readBody(event), projected.at(-1));
      this.#notify(readHeader(event).seq, (follower) => {
        for (const one of projected) follower.event(one);
        if (failure !== undefined) follower.ended(failure);
      });
    }
    // An event may be read before the change arrives that says the actor ended with it.
    if (change?.status === "stopped" && this.#last?.id === change.head) await this.#reportEnd(this.#last);
  }

  async #reportEnd(last: ChainEvent): Promise<void> {
    this.#last = undefined;
    const end = await actorEnd(readBody(last), this.#get);
    this.#notify(readHeader(last).seq, (follower) => follower.ended(end));
  }

  #notify(seq: number, notifyFollower: (follower: Follower) => void): void {
    for (const [follower, known] of this.#followers) if (seq > known) notifyFollower(follower);
  }
}
