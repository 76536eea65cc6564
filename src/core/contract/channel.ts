// Owns: the interfaces between transports and the gateway, and the mark of requests that only resume. Does not own: either side of them.
import type { JsonObject } from "./json.ts";
import type { Handled, Receipt } from "./source.ts";
import type { CancelSignal } from "./time.ts";

/** Who is calling, as the transport found out (token verified, peer known). */
export interface Caller {
  readonly principal?: string;
  readonly scopes: readonly string[];
  /**
   * Frozen: the claims of its token that the server's options name, or those of its API key. Never logged or stored; a console remembers
   * those of recent callers in memory, for its operators.
   */
  readonly claims?: JsonObject;
  /** Part of logs and rate limits, never of identity. */
  readonly peer?: string;
  /** For one request: receives what its call commits, after the commit. */
  readonly onReceipt?: (receipt: Receipt) => void;
  /** For one request: receives how long its call waited for an actor, and ran in it. */
  readonly onHandled?: (handled: Handled) => void;
}

/**
 * One ordered output to a client: the standard output, a socket, or a response as an event stream. Messages are complete JSON texts.
 * Sending never throws; it does nothing when the client has left.
 */
export interface Channel {
  /**
   * `eventId`, `retryMs` and `event` reach event streams only. An empty text with an id primes the stream. `event`: the event's name, if
   * it has one; events other than `message` are not MCP messages, and are sent on event streams only.
   */
  send(text: string, eventId?: string, retryMs?: number, event?: string): void;
  /** False while the client does not read: notifications stay dirty flags until `onReady` (C8). */
  readonly ready: boolean;
  /** Runs each time the channel becomes ready again, until undone; not at once if it is ready already. */
  onReady(run: () => void): () => void;
  /** Aborted when the client has left. */
  readonly disconnected: CancelSignal;
  /** Ends the stream after what was sent. */
  close(): void;
}

/** A client on one ordered stream both ways: stdio, TCP, an in-memory pair. */
export interface Connection {
  /**
   * One frame as received: a line without its line end. Malformed input is answered, never thrown. `caller`: the sender, if each frame
   * has a token of its own; of the connection's principal. Default: the connection's caller.
   */
  receive(frame: Uint8Array | string, caller?: Caller): void;
  /**
   * The client's side has ended. Settles when its requests have ended too. After `graceMs` (default: never) the outcome of those that
   * still run is reported as unknown.
   */
  close(graceMs?: number): Promise<void>;
}

/** One HTTP request to an MCP endpoint, as the gateway needs it. */
export interface Exchange {
  readonly verb: "POST" | "GET" | "DELETE";
  /** Lower-case name. A header that was sent twice counts as absent and `duplicated`. */
  header(name: string): string | undefined;
  /** The lower-case names of its headers. Absent: they cannot be listed. */
  readonly headerNames?: readonly string[];
  readonly body?: Uint8Array;
  readonly caller: Caller;
  /** Served at `/mcp/meta`. */
  readonly posture?: "meta";
  /** A GET gets what is left of a reply, and no standalone stream. */
  readonly resumesOnly?: boolean;
  /**
   * Turns the response into an event stream, once; later calls return the same channel. Its `disconnected` is aborted already if there is no
   * stream: the client has left or was answered, or may have no more streams, which is its answer unless that has a body.
   */
  stream(headers?: Readonly<Record<string, string>>): Channel;
  /** Aborted when the client closed the connection. */
  readonly disconnected: CancelSignal;
}

/** What ends an exchange. After `stream()` the body, if any, is the stream's last message and status and headers are ignored. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Complete JSON text; pieces are written one after the other as they are, so a cached list is never copied. */
  readonly body?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The stream stays open until the client or `Channel.close` ends it. */
  readonly open?: boolean;
}

/** One HTTP request to an endpoint that is mounted next to MCP. */
export interface MountRequest extends Exchange {
  /** Without the query. */
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  /** Turns the response into newline-delimited JSON (`application/x-ndjson`) instead, once, under the same limits as `stream`. */
  lines(): Channel;
}

/** The path without a trailing slash and repeated slashes, which clients and proxies add. */
export function normalizedPath(path: string): string {
  const single = path.replaceAll(/\/{2,}/g, "/");
  return single.length > 1 && single.endsWith("/") ? single.slice(0, -1) : single;
}

/** An HTTP endpoint next to MCP. Host, origin, token, sizes and times are checked before it is called. */
export interface HttpMount {
  /** `/packets`: this path and everything below it. */
  readonly path: string;
  readonly verbs?: readonly ("GET" | "POST" | "DELETE")[];
  /** Requires no token, even if other endpoints do. */
  readonly open?: boolean;
  handle(request: MountRequest): Answer | Promise<Answer>;
}

/** A WebSocket endpoint: one message per text frame. Host, origin, token and limits are checked before it is called. */
export interface SocketMount {
  /** Exactly this path. An `HttpMount` may have the same one. */
  readonly path: string;
  /** The subprotocol for clients that offer it. Clients that offer none are accepted without. */
  readonly protocol?: string;
  connect(channel: Channel, caller: Caller): Connection;
}

/** A session over HTTP that is in a gateway's memory. */
export interface SessionReport {
  /** Stands for the session's id, which is a secret. */
  readonly name: string;
  /** As it introduced itself. */
  readonly client: JsonObject;
  readonly revision: string;
  readonly principal?: string;
  readonly startedAt: number;
  readonly seenAt: number;
  /** Standalone streams: one at most. */
  readonly streams: number;
  readonly subscriptions: readonly string[];
}

/** A task that is in a gateway's memory. */
export interface TaskReport {
  readonly id: string;
  readonly principal?: string;
  readonly tool?: string;
  readonly status: string;
  /** How far it is. */
  readonly message?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a gateway has in memory, for its operators. */
export interface GatewayReport {
  /** By the id that its client sends. */
  session(id: string): SessionReport | undefined;
  /** Those used last come last. */
  sessions(): Iterable<SessionReport>;
  /** Oldest first. */
  tasks(): Iterable<TaskReport>;
  /** At most `limit` tasks of earlier processes. `lost`: it was running when its process ended, so its outcome is unknown. */
  earlierTasks(limit: number): Promise<readonly TaskReport[]>;
  /** Undefined: there is no such task. False: it has ended. */
  cancelTask(id: string): boolean | undefined;
}

/** The MCP protocol engine, as the transports see it. */
export interface Gateway extends AsyncDisposable {
  connect(channel: Channel, caller: Caller): Connection;
  exchange(exchange: Exchange): Answer | Promise<Answer>;
  /** A POST needs to accept only one of the two media types of answers. Absent: both. */
  readonly acceptsEither?: boolean;
  /** Absent: it has nothing to report. */
  readonly report?: GatewayReport;
  /** Takes no new work; settles when all requests have ended. After `graceMs` the outcome of those that still run is reported as unknown. */
  drain(graceMs: number): Promise<void>;
}

const resumeOnly = new WeakSet<object>();

/** Marks a GET whose host opens no standalone streams: only what is left of a reply is sent. */
export function markResumeOnly(request: object): void {
  resumeOnly.add(request);
}

export const isResumeOnly = (request: object): boolean => resumeOnly.has(request);
