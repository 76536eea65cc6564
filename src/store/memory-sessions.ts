import {
  changedSession,
  eventId,
  type Json,
  readEventId,
  type SessionRow,
  type SessionStore,
  StoreError,
  STREAM_BOUNDS,
  type StreamBounds,
  type StreamStore,
} from "../contract/index.ts";

/** How much one process holds. */
export interface MemoryBounds {
  /** Sessions; of more, the one seen (written to, for streams) longest ago goes. Default 100,000. */
  readonly sessions?: number;
}

const MOST_SESSIONS = 100_000;

const closed = (): StoreError => new StoreError("STORE_CLOSED", "The session store is closed. Open it again.");

/** A map's order is that of the last setting: the first is the one set longest ago. */
function setBounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
}

/** Sessions of one process: gone with it. */
export function memorySessionStore({ sessions: most = MOST_SESSIONS }: MemoryBounds = {}): SessionStore {
  const rows = new Map<string, SessionRow>();
  let open = true;
  const all = (): Map<string, SessionRow> => {
    if (open) return rows;
    throw closed();
  };
  return {
    async put(row) {
      setBounded(all(), row.id, row, most);
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
      if (row && row.seenAt < seenAt) setBounded(rows, id, { ...row, seenAt }, most);
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
  /** The newest, up to `last`. */
  readonly texts: string[];
}

/** What may be asked for again, as compact text, bounded per stream and session, and in sessions. */
export function memoryStreamStore({
  sessions: mostSessions = MOST_SESSIONS,
  ...bounds
}: Partial<StreamBounds> & MemoryBounds = {}): StreamStore {
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
      setBounded(sessions, session, streams, mostSessions);
      const text = JSON.stringify(message);
      const known = streams.get(name);
      // Most have one text, and an array makes room for many at the first that is pushed.
      const stream = known ?? { last: 0, bytes: 0, texts: [text] };
      known?.texts.push(text);
      setBounded(streams, name, stream, most.streams);
      stream.last += 1;
      stream.bytes += Buffer.byteLength(text);
      while (stream.texts.length > most.messages || stream.bytes > most.bytes)
        stream.bytes -= Buffer.byteLength(stream.texts.shift() ?? "");
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
