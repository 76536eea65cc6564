// Owns: the interfaces of stores for sessions, streams and tasks, and the rules that they share. Does not own: an implementation
// of them (core/store, hosts).

import { StoreError } from "./errors.ts";
import { type JsonObject, isJsonObject, isTexts, type Json, omitUndefined } from "./json.ts";

/** A legacy session (2024-11-05 … 2025-11-25) as it outlives a connection and a restart. */
export interface SessionRow {
  readonly id: string;
  /** Bound on creation; a request of any other principal finds nothing. */
  readonly principal?: string;
  readonly protocol: string;
  readonly client: JsonObject;
  readonly capabilities: JsonObject;
  readonly subscriptions: readonly string[];
  readonly logLevel?: string;
  readonly posture?: string;
  /** The node that holds its standalone stream, or held it last. Only where there are several. */
  readonly listener?: string;
  readonly createdAt: number;
  readonly seenAt: number;
}

/** Validates a row, for stores that others could have written to. */
export function isSessionRow(value: unknown): value is SessionRow {
  if (!isJsonObject(value)) return false;
  const { id, principal, protocol, client, capabilities, subscriptions, logLevel, posture, listener, createdAt, seenAt } = value;
  return (
    isTexts([id, protocol]) &&
    isTexts([principal, logLevel, posture, listener].filter((text) => text !== undefined)) &&
    isJsonObject(client) &&
    isJsonObject(capabilities) &&
    isTexts(subscriptions) &&
    [createdAt, seenAt].every((time) => typeof time === "number")
  );
}

/** A change to a row. Changes that several nodes make at once do not undo each other. */
export interface SessionChange {
  readonly subscribe?: string;
  readonly unsubscribe?: string;
  readonly logLevel?: string;
  readonly listener?: string;
}

/** The row after a change; the same object if nothing changed, so that it need not be written. */
export function changedSession(row: SessionRow, change: SessionChange): SessionRow {
  const { subscribe, unsubscribe, logLevel, listener } = change;
  if (isSo(row, change)) return row;
  return {
    ...row,
    ...(subscribe === undefined && unsubscribe === undefined ? undefined : { subscriptions: changedUris(row.subscriptions, change) }),
    ...omitUndefined({ logLevel, listener }),
  };
}

function changedUris(uris: readonly string[], { subscribe, unsubscribe }: SessionChange): readonly string[] {
  const others = uris.filter((uri) => uri !== subscribe && uri !== unsubscribe);
  return subscribe === undefined ? others : [...others, subscribe];
}

function isSo({ subscriptions, ...row }: SessionRow, { subscribe, unsubscribe, logLevel, listener }: SessionChange): boolean {
  return (
    (subscribe === undefined || subscriptions.includes(subscribe)) &&
    (unsubscribe === undefined || !subscriptions.includes(unsubscribe)) &&
    (logLevel === undefined || row.logLevel === logLevel) &&
    (listener === undefined || row.listener === listener)
  );
}

/** Rows that processes may share. `touch` is called at most every ttl/10, so `seenAt` may be that much too old. */
export interface SessionStore extends AsyncDisposable {
  put(row: SessionRow): Promise<void>;
  get(id: string): Promise<SessionRow | undefined>;
  /**
   * `changedSession` as one atomic step. Returns the changed row; undefined: there is none, and none is created. Writes only what
   * changes, if the store can. Absent: the caller reads and puts, and so may lose one of two changes that nodes make at once.
   */
  change?(id: string, change: SessionChange): Promise<SessionRow | undefined>;
  touch(id: string, seenAt: number): Promise<void>;
  delete(id: string): Promise<void>;
  /** Rows last seen before that are deleted. Returns their ids. */
  expire(seenBefore: number): Promise<readonly string[]>;
}

/** Messages of resumable event streams, for clients that reconnect. */
export interface StreamStore extends AsyncDisposable {
  /** Returns the event's id, unique within the session. */
  append(session: string, stream: string, message: Json): Promise<string>;
  /** The stream an event id belongs to, and what followed it there. Undefined: unknown or dropped. */
  after(
    session: string,
    eventId: string,
  ): Promise<{ readonly stream: string; readonly messages: readonly { readonly id: string; readonly message: Json }[] } | undefined>;
  /**
   * Drops a stream that its client read to its end some minutes ago. Absent: the stream stays until the store's own bounds drop it, or with
   * its session.
   */
  drop?(session: string, stream: string): Promise<void>;
  delete(session: string): Promise<void>;
}

/** A call that continues after its first answer, as last stored. */
export interface TaskRow {
  readonly id: string;
  /** The owner. Other principals cannot find the task. */
  readonly principal?: string;
  /** What its client receives, as the text of a JSON object, and the scopes its token needs for that. */
  readonly description: string;
  /** The task has ended. If false and its process has ended, its outcome is unknown. */
  readonly over: boolean;
  /** When it expires, in milliseconds since 1970. */
  readonly until: number;
}

/** Rows that outlive their process. Only one process writes at a time. */
export interface TaskStore extends AsyncDisposable {
  put(row: TaskRow): Promise<void>;
  get(id: string): Promise<TaskRow | undefined>;
  /** At most `limit` rows, those that expire last first. Absent: operators see only the tasks of their process. */
  list?(limit: number): Promise<readonly TaskRow[]>;
  /** Deletes expired rows. */
  expire(now: number): Promise<void>;
}

const MINUTE_MS = 60_000;
const DEFAULT_MINUTES = 60;

/**
 * A session's time to live in milliseconds, from `MCP_SESSION_TTL_MINUTES`, a positive whole number of minutes. Default: 60 minutes.
 * An invalid value is passed to `refused` and replaced by the default.
 */
export function sessionTtlIn(variables: Readonly<Record<string, string | undefined>>, refused?: (text: string) => void): number {
  const text = variables["MCP_SESSION_TTL_MINUTES"];
  if (text === undefined) return DEFAULT_MINUTES * MINUTE_MS;
  const minutes = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 0;
  if (minutes > 0) return minutes * MINUTE_MS;
  refused?.(text);
  return DEFAULT_MINUTES * MINUTE_MS;
}

/** Bounds of the messages stored for a session's streams. Older ones are dropped; a client that requests those gets an error. */
export interface StreamBounds {
  /** Per stream. Default 1,000. */
  readonly messages: number;
  /** Per stream, of JSON text. Default 1 MiB. */
  readonly bytes: number;
  /** Per session; the one written to longest ago goes first. Default 32. */
  readonly streams: number;
}

/** The default bounds of what a session stores for streams that are resumed: 1,000 messages, 1 MiB, 32 streams. */
export const STREAM_BOUNDS: StreamBounds = { messages: 1_000, bytes: 1_048_576, streams: 32 };

/** `<n>.<stream>`: a stream's messages count from 1, so that the successor of a dropped message is known. Fits a header. */
export const eventId = (stream: string, n: number): string => `${n}.${encodeURIComponent(stream)}`;

/** Parses an event id from a client. Undefined: invalid. */
export function readEventId(id: string): { readonly stream: string; readonly n: number } | undefined {
  const match = /^([1-9]\d{0,14})\.(.{0,1024})$/u.exec(id);
  if (match === null) return undefined;
  try {
    return { n: Number(match[1]), stream: decodeURIComponent(match[2] ?? "") };
  } catch {
    return undefined;
  }
}

/** Runs requests to a store until it is closed. */
export interface Ask {
  <T>(run: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Wraps requests to a remote store: errors are mapped by `fault`; once closed, each request throws `STORE_CLOSED`. */
export function untilClosed(fault: (error: unknown) => unknown): Ask {
  let open = true;
  const ask = async <T>(run: () => Promise<T>): Promise<T> => {
    if (!open) throw new StoreError("STORE_CLOSED", "The session store is closed. Open it again.");
    try {
      return await run();
    } catch (error) {
      throw fault(error);
    }
  };
  return Object.assign(ask, {
    close() {
      open = false;
    },
  });
}
