import { readBody, readHeader } from "../../../core/chain/index.ts";
import type { ActorId, Change, ChainEvent, ContentStore, Engine, Snapshot } from "../../../core/contract/index.ts";
import { ChainTails, Projector, theaterEvents } from "../chain/index.ts";
import { type EventQuery, StageError } from "../stage.ts";
import type { ActorEnd, ChainPage, TheaterEvent } from "../theater-stage.ts";
import { byteListLength } from "../wire/index.ts";
import { endOf, failureIn } from "./actor-end.ts";
import { olderPage, tailPage } from "./theater-page.ts";

/** Limit for a whole chain, as Theater prints it. */
const SENT_BYTES = 32 * 1_048_576;
/** Approximate length of an event's text without its data. */
const EVENT_TEXT = 256;

const tooLong = (events: number): StageError =>
  new StageError(
    "SerializationError",
    `Its events are longer than the ${SENT_BYTES} bytes that are sent at once, after ${events} of them: with \`limit\` GetActorEvents tells a page of them, those before or after an event with \`before\` or \`after\`, its hash in hexadecimal; SubscribeToActor tells those that come.`,
  );

export interface Follower {
  event(event: TheaterEvent): void;
  ended(end: ActorEnd): void;
}

/** Chains in Theater's form: whole, by pages, and as they grow. */
export class Chains {
  readonly #engine: Pick<Engine, "history" | "watch">;
  readonly #contents: Pick<ContentStore, "get">;
  readonly #followed = new Map<ActorId, Followed>();
  readonly #tails: ChainTails;

  constructor(engine: Pick<Engine, "history" | "watch">, contents: Pick<ContentStore, "get">) {
    this.#engine = engine;
    this.#contents = contents;
    this.#tails = new ChainTails(engine, (digest) => contents.get(digest));
  }

  /** Throws `InvalidRequest` if the chain lacks an event that the query names. */
  async page({ id }: Pick<Snapshot, "id">, query: EventQuery): Promise<ChainPage> {
    // Most callers want what is new since their last query. The cached newest events answer that without projecting the whole chain.
    const newest = tailPage(await this.#tails.newest(id), query);
    return (
      newest ??
      olderPage(
        theaterEvents(this.#engine.history(id), (digest) => this.#contents.get(digest)),
        query,
      )
    );
  }

  /** Throws `SerializationError` as soon as it has read more than can be sent at once. */
  async whole({ id }: Pick<Snapshot, "id">): Promise<readonly TheaterEvent[]> {
    const events: TheaterEvent[] = [];
    let bytes = 0;
    for await (const event of theaterEvents(this.#engine.history(id), (digest) => this.#contents.get(digest))) {
      bytes += byteListLength(event.data) + EVENT_TEXT;
      if (bytes > SENT_BYTES) throw tooLong(events.length);
      events.push(event);
    }
    return events;
  }

  /** Reports each event that is committed after this settles. Of earlier ones it reports only the end of an actor that has ended. */
  async follow({ id, seq, status }: Pick<Snapshot, "id" | "seq" | "status">, follower: Follower): Promise<() => void> {
    if (status === "stopped") {
      for await (const event of this.#engine.history(id, seq - 1))
        follower.ended(await endOf(readBody(event), (digest) => this.#contents.get(digest)));
      return () => undefined;
    }
    let followed = this.#followed.get(id);
    if (followed === undefined) {
      followed = new Followed(this.#engine, this.#contents, id, () => this.#followed.delete(id));
      this.#followed.set(id, followed);
    }
    return followed.add(follower, seq);
  }

  close(): void {
    for (const followed of this.#followed.values()) followed.close();
    this.#followed.clear();
  }
}

/** One actor's chain, projected once for all its followers. */
class Followed {
  readonly #engine: Pick<Engine, "history" | "watch">;
  readonly #id: ActorId;
  readonly #get: ContentStore["get"];
  readonly #projector: Projector;
  readonly #left: () => void;
  readonly #unwatch: () => void;
  /** Followers, with the sequence number that each knew when it was added. */
  readonly #followers = new Map<Follower, number>();
  #reading: Promise<void> = Promise.resolve();
  /** The last event read, unless it was already reported as the actor's end. */
  #last: { readonly event: ChainEvent } | undefined;

  constructor(engine: Pick<Engine, "history" | "watch">, contents: Pick<ContentStore, "get">, id: ActorId, left: () => void) {
    this.#engine = engine;
    this.#id = id;
    this.#left = left;
    this.#get = (digest) => contents.get(digest);
    this.#projector = new Projector(this.#get);
    this.#unwatch = engine.watch(id, (change) => void this.#readOn(change));
  }

  async add(follower: Follower, seq: number): Promise<() => void> {
    this.#followers.set(follower, seq);
    await this.#readOn();
    return () => {
      if (this.#followers.delete(follower) && this.#followers.size === 0) this.close();
    };
  }

  close(): void {
    this.#followers.clear();
    this.#unwatch();
    this.#left();
  }

  /** Reads in the chain's order, one reader at a time. What cannot be read now is read after the next change. */
  #readOn(change?: Change): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read(change)).catch(() => undefined);
    return this.#reading;
  }

  async #read(change: Change | undefined): Promise<void> {
    for await (const event of this.#engine.history(this.#id, this.#projector.seq)) {
      if (this.#followers.size === 0) return;
      const told = await this.#projector.next(event);
      this.#last = { event };
      const failure = failureIn(readBody(event), told.at(-1));
      this.#tell(readHeader(event).seq, (follower) => {
        for (const one of told) follower.event(one);
        if (failure !== undefined) follower.ended(failure);
      });
    }
    // An event may be read before the change arrives that says the actor ended with it.
    if (change?.status !== "stopped" || this.#last?.event.id !== change.head) return;
    const { event } = this.#last;
    this.#last = undefined;
    const end = await endOf(readBody(event), this.#get);
    this.#tell(change.seq, (follower) => follower.ended(end));
  }

  #tell(seq: number, tell: (follower: Follower) => void): void {
    for (const [follower, known] of this.#followers) if (seq > known) tell(follower);
  }
}
