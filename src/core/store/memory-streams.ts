import { eventId, isBag, type Json, readEventId, STREAM_BOUNDS, type StreamBounds, type StreamStore } from "../contract/index.ts";
import { closed, type MemoryBounds, MOST_SESSIONS, setBounded } from "./memory-sessions.ts";

/** How much of what was sent one process holds. */
export interface MemoryStreamBounds extends MemoryBounds {
  /**
   * Of all sessions together, in bytes of JSON text and what it takes to hold it. Of more, whole streams go: first those that
   * have their answer, then the others, those written to longest ago before the rest. Default 64 MiB.
   */
  readonly totalBytes?: number;
}

const MOST_BYTES = 64 * 1_048_576;
// About what an empty one takes: a session may have many streams with next to nothing in them.
const STREAM_COST = 512;
const TEXT_COST = 64;

interface Stream {
  readonly session: string;
  readonly name: string;
  last: number;
  bytes: number;
  /** The newest, up to `last`. */
  readonly texts: string[];
}

/** Of all sessions, those written to longest ago first. */
class Held {
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

  /** What has to go beside that one. */
  *beyond(most: number, kept: Stream): Generator<Stream> {
    for (const held of [this.#answered, this.#others])
      for (const stream of held) {
        if (this.#bytes <= most) return;
        if (stream !== kept) yield stream;
      }
  }
}

const costOf = ({ bytes, texts }: Stream): number => STREAM_COST + bytes + TEXT_COST * texts.length;
const isAnswer = (message: Json): boolean => isBag(message) && message["id"] !== undefined && message["method"] === undefined;
const parsed = (text: string): Json => JSON.parse(text);

/** What may be asked for again, as compact text, bounded per stream and session, in sessions and in all. */
export function memoryStreamStore({
  sessions: mostSessions = MOST_SESSIONS,
  totalBytes = MOST_BYTES,
  ...bounds
}: Partial<StreamBounds> & MemoryStreamBounds = {}): StreamStore {
  const most: StreamBounds = { ...STREAM_BOUNDS, ...bounds };
  const sessions = new Map<string, Map<string, Stream>>();
  const held = new Held();
  // The greatest number of what was let go: a stream that goes on after that has none of its numbers twice.
  let past = 0;
  let open = true;
  const check = (): void => {
    if (!open) throw closed();
  };
  const letGo = (stream: Stream): void => {
    held.take(stream);
    past = Math.max(past, stream.last);
  };
  const forget = (stream: Stream): void => {
    letGo(stream);
    const streams = sessions.get(stream.session);
    if (streams?.get(stream.name) === stream) streams.delete(stream.name);
    if (streams?.size === 0) sessions.delete(stream.session);
  };
  const forgetAll = (streams: ReadonlyMap<string, Stream> | undefined): void => {
    for (const stream of streams?.values() ?? []) letGo(stream);
  };
  return {
    async append(session, name, message) {
      check();
      const streams = sessions.get(session) ?? new Map<string, Stream>();
      forgetAll(setBounded(sessions, session, streams, mostSessions));
      const text = JSON.stringify(message);
      const known = streams.get(name);
      if (known !== undefined) held.take(known);
      // Most have one text, and an array makes room for many at the first that is pushed.
      const stream = known ?? { session, name, last: past, bytes: 0, texts: [text] };
      known?.texts.push(text);
      const dropped = setBounded(streams, name, stream, most.streams);
      if (dropped !== undefined) letGo(dropped);
      stream.last += 1;
      stream.bytes += Buffer.byteLength(text);
      while (stream.texts.length > most.messages || stream.bytes > Math.min(most.bytes, totalBytes))
        stream.bytes -= Buffer.byteLength(stream.texts.shift() ?? "");
      held.put(stream, isAnswer(message));
      for (const other of held.beyond(totalBytes, stream)) forget(other);
      return eventId(name, stream.last);
    },
    async after(session, id) {
      check();
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
      check();
      const stream = sessions.get(session)?.get(name);
      if (stream !== undefined) forget(stream);
    },
    async delete(session) {
      check();
      forgetAll(sessions.get(session));
      sessions.delete(session);
    },
    async [Symbol.asyncDispose]() {
      open = false;
      for (const streams of sessions.values()) forgetAll(streams);
      sessions.clear();
    },
  };
}
