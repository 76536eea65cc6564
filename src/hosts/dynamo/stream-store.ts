// Owns: streams in DynamoDB: numbering messages and appending them. Does not own: their items (stream-messages.ts), the head (stream-head.ts).
import { type Ask, eventId, type Json, Queues, readEventId, StoreError, type StreamStore } from "../../core/contract/index.ts";
import { ITEM_BYTES } from "./dynamo-errors.ts";
import { expiresAt, secondsNow, type Settings } from "./dynamo-settings.ts";
import { isPossibleId } from "./session-store.ts";
import { type Head, type Mark, readHead, type StreamEnds, writeHead, type Written } from "./stream-head.ts";
import { StreamMessages } from "./stream-messages.ts";

type Event = NonNullable<Awaited<ReturnType<StreamStore["after"]>>>;

/** Of colliding writers, one succeeds at each try. */
const MOST_TRIES = 100;
/** Event ids of streams with longer names cannot be parsed. */
const NAME_LENGTH = 256;
/** Cached heads, so that an append need not read first. */
const MOST_HEADS = 1_000;

/**
 * The messages of sessions, numbered across the streams of each. A message counts once the session's head names it, and the head is
 * replaced only if it is the one that was read. So two processes that append at once get different numbers, and none appends to a
 * session that has ended.
 */
export class DynamoStreams implements StreamStore {
  readonly #settings: Settings;
  readonly #ends: StreamEnds;
  readonly #messages: StreamMessages;
  readonly #run: Ask;
  readonly #close: () => Promise<void>;
  readonly #heads = new Map<string, Head>();
  /** Writes of one process do not collide with each other. */
  readonly #queues = new Queues<string>();

  constructor(settings: Settings, ends: StreamEnds, run: Ask, close: () => Promise<void>) {
    this.#settings = settings;
    this.#ends = ends;
    this.#messages = new StreamMessages(settings);
    this.#run = run;
    this.#close = close;
  }

  append(session: string, stream: string, message: Json): Promise<string> {
    return this.#run(() => this.#queues.run(session, () => this.#append(session, stream.toWellFormed(), JSON.stringify(message))));
  }

  after(session: string, id: string): Promise<Event | undefined> {
    return this.#run(async () => {
      const place = readEventId(id);
      if (place === undefined || !isPossibleId(session)) return undefined;
      const { streams } = await readHead(this.#settings, session);
      const last = streams.find(({ name }) => name === place.stream);
      const messages = last && (await this.#messages.after(session, last, place));
      if (messages === undefined) return undefined;
      return { stream: place.stream, messages: messages.map(({ n, text }) => ({ id: eventId(place.stream, n), message: parsed(text) })) };
    });
  }

  delete(session: string): Promise<void> {
    return this.#run(async () => {
      if (!isPossibleId(session)) return;
      this.#heads.delete(session);
      await this.#ends.close(session);
      await this.#messages.dropAll(session);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }

  async #append(session: string, name: string, text: string): Promise<string> {
    if (!isPossibleId(session) || name.length > NAME_LENGTH)
      throw new StoreError("STORE_FULL", `A session's id has at most 512 characters here, and a stream's name ${NAME_LENGTH}.`);
    const { bounds, entropy } = this.#settings;
    const mark = entropy.hex(8);
    const bytes = Buffer.byteLength(text);
    // A longer message gets a number, but is not stored: resuming after it works, resuming before it does not.
    const fits = bytes <= Math.min(bounds.bytes, ITEM_BYTES);
    let lost: Mark | undefined;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const head = await this.#head(session);
      if (lost !== undefined) {
        // The write may have succeeded although its answer was lost.
        if (await this.#reached(session, head, name, lost)) return eventId(name, lost.n);
        await this.#messages.take(session, name, lost);
      }
      if (head.closed) throw new StoreError("STORE_CONFLICT", "The session has ended: nothing more is kept of it.");
      const before = head.streams.find((one) => one.name === name);
      const at = { n: head.last + 1, mark };
      if (fits) await this.#messages.put(session, name, { ...at, text }, before);
      const grown = { ...at, name, count: (before?.count ?? 0) + (fits ? 1 : 0), bytes: (before?.bytes ?? 0) + (fits ? bytes : 0) };
      const written = await this.#bounded(session, grown);
      const others = head.streams.filter((one) => one.name !== name);
      const dropped = others.slice(0, Math.max(0, others.length + 1 - bounds.streams));
      const until = Number(expiresAt(this.#settings.clock.now(), this.#settings));
      const next = { rev: mark, last: at.n, closed: false, until, streams: [...others.slice(dropped.length), written] };
      if (await writeHead(this.#settings, session, head, next)) {
        this.#remember(session, next);
        // They are unreachable: those that cannot be deleted now are deleted by their time to live.
        for (const old of dropped) await this.#messages.drop(session, old.name).catch(() => undefined);
        return eventId(name, at.n);
      }
      this.#heads.delete(session);
      lost = at;
    }
    throw new StoreError("STORE_CONFLICT", "Others wrote to this session with every attempt to: try again.");
  }

  // Only at twice the bounds, so that each message is read about once for trimming.
  async #bounded(session: string, grown: Written): Promise<Written> {
    const { bounds } = this.#settings;
    if (grown.count <= 2 * bounds.messages && grown.bytes <= 2 * bounds.bytes) return grown;
    return { ...grown, ...(await this.#messages.trim(session, grown)) };
  }

  async #reached(session: string, { streams }: Head, name: string, { n, mark }: Mark): Promise<boolean> {
    const last = streams.find((one) => one.name === name);
    if (last === undefined || last.n < n) return false;
    return (await this.#messages.after(session, last, { n, mark })) !== undefined;
  }

  async #head(session: string): Promise<Head> {
    const known = this.#heads.get(session);
    return known !== undefined && secondsNow(this.#settings) <= known.until ? known : readHead(this.#settings, session);
  }

  #remember(session: string, head: Head): void {
    this.#heads.delete(session);
    this.#heads.set(session, head);
    for (const oldest of this.#heads.keys()) {
      if (this.#heads.size <= MOST_HEADS) break;
      this.#heads.delete(oldest);
    }
  }
}

const parsed = (text: string): Json => JSON.parse(text);
