// Owns: sessions, and what was sent on their streams, in memory. Does not own: the same in a file (sqlite-sessions.ts).

import {
  changedSession,
  checkOptions,
  type Closable,
  eventId,
  isJsonObject,
  type Json,
  type OptionTable,
  readEventId,
  type SessionRow,
  type SessionStore,
  STREAM_BOUNDS,
  type StreamBounds,
  type StreamStore,
} from "../contract/index.ts";
import { LIMIT } from "../contract/internal.ts";
import { closed } from "./rules.ts";

/** How much one process holds. */
export interface MemoryBounds {
  /** Sessions. Beyond that, the one seen (for streams: written to) longest ago is dropped. Default 100,000. */
  readonly sessions?: number;
}

/** How much of what was sent one process holds. */
export interface MemoryStreamBounds extends MemoryBounds {
  /**
   * Of all sessions together, in bytes of JSON text and what it takes to hold it. Beyond that, whole streams are dropped: first those that
   * have their answer, then the others, in each case those written to longest ago first. Default 64 MiB.
   */
  readonly totalBytes?: number;
}

const STREAM_OPTIONS: OptionTable<StreamBounds & MemoryStreamBounds> = {
  sessions: LIMIT,
  totalBytes: true,
  messages: true,
  bytes: true,
  streams: true,
};

const MAX_SESSIONS = 100_000;
const MAX_BYTES = 64 * 1_048_576;
// Roughly what an empty stream takes: a session may have many streams with next to nothing in them.
const STREAM_COST = 512;
const TEXT_COST = 64;

/** Sets an entry as the newest of the map, whose order is that of the last setting. Returns the oldest value where it was dropped. */
function setBounded<T>(map: Map<string, T>, key: string, value: T, max: number): T | undefined {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return undefined;
  for (const [oldest, dropped] of map) {
    map.delete(oldest);
    return dropped;
  }
  return undefined;
}

/** Sessions that live as long as the process. */
export function memorySessionStore(bounds: MemoryBounds = {}): SessionStore & Closable {
  checkOptions("memorySessionStore", bounds, { sessions: LIMIT });
  const { sessions: max = MAX_SESSIONS } = bounds;
  const rows = new Map<string, SessionRow>();
  let open = true;
  const all = (): Map<string, SessionRow> => {
    if (open) return rows;
    throw closed("session store");
  };
  const close = async (): Promise<void> => {
    open = false;
    rows.clear();
  };
  return {
    async put(row) {
      setBounded(all(), row.id, row, max);
    },
    async get(id) {
      return all().get(id);
    },
    async change(id, change) {
      const row = all().get(id);
      if (row === undefined) return undefined;
      const changed = changedSession(row, change);
      rows.set(id, changed);
      return changed;
    },
    async touch(id, seenAt) {
      const row = all().get(id);
      if (row && row.seenAt < seenAt) setBounded(rows, id, { ...row, seenAt }, max);
    },
    async delete(id) {
      all().delete(id);
    },
    async expire(seenBefore) {
      const expired = [...all().values()].filter((row) => row.seenAt < seenBefore).map((row) => row.id);
      for (const id of expired) rows.delete(id);
      return expired;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Stream {
  readonly session: string;
  readonly name: string;
  last: number;
  bytes: number;
  /** The newest, up to `last`. */
  readonly texts: string[];
}

const costOf = ({ bytes, texts }: Stream): number => STREAM_COST + bytes + TEXT_COST * texts.length;
const isAnswer = (message: Json): boolean => isJsonObject(message) && message["id"] !== undefined && message["method"] === undefined;
const parsed = (text: string): Json => JSON.parse(text);

/** The streams of all sessions, those written to longest ago first, and what they cost. */
class StreamBudget {
  readonly #answered = new Set<Stream>();
  readonly #others = new Set<Stream>();
  #bytes = 0;

  take(stream: Stream): void {
    if (this.#answered.delete(stream) || this.#others.delete(stream)) this.#bytes -= costOf(stream);
  }

  put(stream: Stream, answered: boolean): void {
    (answered ? this.#answered : this.#others).add(stream);
    this.#bytes += costOf(stream);
  }

  /** The streams to drop, other than `current`, until the rest is within `max`. */
  *beyond(max: number, current: Stream): Generator<Stream> {
    for (const streams of [this.#answered, this.#others])
      for (const stream of streams) {
        if (this.#bytes <= max) return;
        if (stream !== current) yield stream;
      }
  }
}

/** Sent messages for clients that reconnect, as compact text; bounded per stream, per session, in sessions and in total. */
export function memoryStreamStore(options: Partial<StreamBounds> & MemoryStreamBounds = {}): StreamStore & Closable {
  checkOptions("memoryStreamStore", options, STREAM_OPTIONS);
  const { sessions: maxSessions = MAX_SESSIONS, totalBytes = MAX_BYTES, ...bounds } = options;
  const max: StreamBounds = { ...STREAM_BOUNDS, ...bounds };
  const sessions = new Map<string, Map<string, Stream>>();
  const budget = new StreamBudget();
  // The highest number of a dropped stream: a stream that is begun anew continues behind it, so that no event id occurs twice.
  let highestDropped = 0;
  let open = true;
  const checkOpen = (): void => {
    if (!open) throw closed("session store");
  };
  const release = (stream: Stream): void => {
    budget.take(stream);
    highestDropped = Math.max(highestDropped, stream.last);
  };
  const releaseAll = (streams: ReadonlyMap<string, Stream> | undefined): void => {
    for (const stream of streams?.values() ?? []) release(stream);
  };
  const drop = (stream: Stream): void => {
    release(stream);
    const streams = sessions.get(stream.session);
    if (streams?.get(stream.name) === stream) streams.delete(stream.name);
    if (streams?.size === 0) sessions.delete(stream.session);
  };
  const close = async (): Promise<void> => {
    open = false;
    for (const streams of sessions.values()) releaseAll(streams);
    sessions.clear();
  };
  return {
    async append(session, name, message) {
      checkOpen();
      const streams = sessions.get(session) ?? new Map<string, Stream>();
      releaseAll(setBounded(sessions, session, streams, maxSessions));
      const text = JSON.stringify(message);
      const known = streams.get(name);
      if (known !== undefined) budget.take(known);
      // Most streams have one text: an array literal has room for one, where the first `push` would reserve room for many.
      const stream = known ?? { session, name, last: highestDropped, bytes: 0, texts: [text] };
      known?.texts.push(text);
      const dropped = setBounded(streams, name, stream, max.streams);
      if (dropped !== undefined) release(dropped);
      stream.last += 1;
      stream.bytes += Buffer.byteLength(text);
      while (stream.texts.length > max.messages || stream.bytes > Math.min(max.bytes, totalBytes))
        stream.bytes -= Buffer.byteLength(stream.texts.shift() ?? "");
      budget.put(stream, isAnswer(message));
      for (const other of budget.beyond(totalBytes, stream)) drop(other);
      return eventId(name, stream.last);
    },
    async after(session, id) {
      checkOpen();
      const place = readEventId(id);
      const stream = place && sessions.get(session)?.get(place.stream);
      if (stream === undefined) return undefined;
      const { n, stream: name } = place ?? { n: 0, stream: "" };
      const first = stream.last + 1 - stream.texts.length;
      if (n > stream.last || n < first - 1) return undefined;
      const messages = stream.texts.slice(n - first + 1).map((text, at) => ({ id: eventId(name, n + 1 + at), message: parsed(text) }));
      return { stream: name, messages };
    },
    async drop(session, name) {
      checkOpen();
      const stream = sessions.get(session)?.get(name);
      if (stream !== undefined) drop(stream);
    },
    async delete(session) {
      checkOpen();
      releaseAll(sessions.get(session));
      sessions.delete(session);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
