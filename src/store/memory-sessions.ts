import { changedSession, StoreError, type Json, type SessionRow, type SessionStore, type StreamStore } from "../contract/index.ts";
import { eventId, readEventId, STREAM_BOUNDS, type StreamBounds } from "./stream-bounds.ts";

const closed = (): StoreError => new StoreError("STORE_CLOSED", "The session store is closed. Open it again.");

/** Sessions of one process: gone with it. */
export function memorySessionStore(): SessionStore {
  const rows = new Map<string, SessionRow>();
  let open = true;
  const all = (): Map<string, SessionRow> => {
    if (open) return rows;
    throw closed();
  };
  return {
    async put(row) {
      all().set(row.id, row);
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
      if (row && row.seenAt < seenAt) rows.set(id, { ...row, seenAt });
    },
    async delete(id) {
      all().delete(id);
    },
    async expire(seenBefore) {
      const gone = [...all().values()].filter((row) => row.seenAt < seenBefore).map((row) => row.id);
      for (const id of gone) rows.delete(id);
      return gone;
    },
    async [Symbol.asyncDispose]() {
      open = false;
      rows.clear();
    },
  };
}

interface Stream {
  last: number;
  bytes: number;
  readonly texts: { readonly n: number; readonly text: string }[];
}

/** What may be asked for again, as compact text, bounded per stream and session. */
export function memoryStreamStore(bounds: Partial<StreamBounds> = {}): StreamStore {
  const most: StreamBounds = { ...STREAM_BOUNDS, ...bounds };
  const sessions = new Map<string, Map<string, Stream>>();
  let open = true;
  const check = (): void => {
    if (!open) throw closed();
  };
  return {
    async append(session, name, message) {
      check();
      const streams = sessions.get(session) ?? new Map<string, Stream>();
      sessions.set(session, streams);
      const stream = streams.get(name) ?? { last: 0, bytes: 0, texts: [] };
      // Set again, so that the map's order is that of the last writing.
      streams.delete(name);
      streams.set(name, stream);
      for (const oldest of streams.keys()) {
        if (streams.size <= most.streams) break;
        streams.delete(oldest);
      }
      stream.last += 1;
      const text = JSON.stringify(message);
      stream.texts.push({ n: stream.last, text });
      stream.bytes += Buffer.byteLength(text);
      while (stream.texts.length > most.messages || stream.bytes > most.bytes)
        stream.bytes -= Buffer.byteLength(stream.texts.shift()?.text ?? "");
      return eventId(name, stream.last);
    },
    async after(session, id) {
      check();
      const place = readEventId(id);
      const stream = place && sessions.get(session)?.get(place.stream);
      if (stream === undefined) return undefined;
      const { n, stream: name } = place ?? { n: 0, stream: "" };
      const first = stream.texts[0]?.n ?? stream.last + 1;
      if (n > stream.last || n < first - 1) return undefined;
      const messages = stream.texts.slice(n - first + 1).map((one) => ({ id: eventId(name, one.n), message: parsed(one.text) }));
      return { stream: name, messages };
    },
    async delete(session) {
      check();
      sessions.delete(session);
    },
    async [Symbol.asyncDispose]() {
      open = false;
      sessions.clear();
    },
  };
}

const parsed = (text: string): Json => JSON.parse(text);
