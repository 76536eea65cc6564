// Owns: the interfaces between transports and the gateway. Does not own: either side of them.

import type { CancelSignal } from "./time.ts";

/** Who is calling, as the transport found out (token verified, peer known). */
export interface Caller {
  readonly principal?: string;
  readonly scopes: readonly string[];
  /** Part of logs and rate limits, never of identity. */
  readonly peer?: string;
}

/**
 * One ordered way out to a client: the standard output, a socket, one response as
 * an event stream. Messages are complete JSON texts. Sending never throws: to a
 * client that has gone it does nothing.
 */
export interface Channel {
  /**
   * `eventId`, `retryMs` and `event` reach event streams only. An empty text with an id primes the stream. `event`: its name,
   * where it has one; what is not called `message` is no message, and goes out on a response that is an event stream only.
   */
  send(text: string, eventId?: string, retryMs?: number, event?: string): void;
  /** False while the client does not read: whoever has dirty flags waits for `onReady` (C8). */
  readonly ready: boolean;
  /** Runs each time the channel turns ready again, until undone; not at once when it is ready already. */
  onReady(run: () => void): () => void;
  /** Aborted when the client is gone. */
  readonly gone: CancelSignal;
  /** Ends the stream after what was sent. */
  close(): void;
}

/** A client on one ordered stream both ways: stdio, TCP, an in-memory pair. */
export interface Connection {
  /**
   * One frame as it came: a line without its line end. Malformed input is answered, never thrown. `caller`: who sent it, where
   * each frame comes with a token of its own; of the connection's principal. Default: the connection's.
   */
  receive(frame: Uint8Array | string, caller?: Caller): void;
  /**
   * The client's side has ended. Settles when what runs for it has ended too. After `graceMs` (default: never) what still runs is
   * answered: not known whether it was applied.
   */
  close(graceMs?: number): Promise<void>;
}

/** One HTTP request to an MCP endpoint, as the gateway needs it. */
export interface Exchange {
  readonly verb: "POST" | "GET" | "DELETE";
  /** Lower-case name. A header that was sent twice counts as absent and `duplicated`. */
  header(name: string): string | undefined;
  readonly body?: Uint8Array;
  readonly caller: Caller;
  /** Served at `/mcp/meta`. */
  readonly posture?: "meta";
  /**
   * Turns the response into an event stream, once; later calls return the same channel. Its `gone` is aborted already where there is none:
   * the client has left or was answered, or may have no more streams: it is then told so, unless the answer has a body.
   */
  stream(headers?: Readonly<Record<string, string>>): Channel;
  /** Aborted when the client closed the connection. */
  readonly gone: CancelSignal;
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

/** One HTTP request to a door that is mounted beside MCP. */
export interface DoorRequest extends Exchange {
  /** Without the query. */
  readonly path: string;
  /** Without the question mark; empty when there is none. */
  readonly query: string;
  /** Turns the response into newline-delimited JSON (`application/x-ndjson`) instead, once, under the same limits as `stream`. */
  lines(): Channel;
}

/** A way in beside MCP. Host, origin, token, sizes and times are checked before it is asked. */
export interface HttpMount {
  /** `/packets`: this path and everything below it. */
  readonly path: string;
  readonly verbs?: readonly ("GET" | "POST" | "DELETE")[];
  /** Asks for no token, even where others do. */
  readonly open?: boolean;
  handle(request: DoorRequest): Answer | Promise<Answer>;
}

/** A way in over WebSocket: one text frame one message. Host, origin, token and limits are checked before it is asked. */
export interface SocketMount {
  /** This path alone. An `HttpMount` may have the same. */
  readonly path: string;
  /** The subprotocol agreed upon with clients that offer it. Clients that offer none are taken as they are. */
  readonly protocol?: string;
  connect(channel: Channel, caller: Caller): Connection;
}

/** The MCP protocol engine, as the transports see it. */
export interface Gateway extends AsyncDisposable {
  connect(channel: Channel, caller: Caller): Connection;
  exchange(exchange: Exchange): Answer | Promise<Answer>;
  /** Its POSTs need accept one of the two media types of answers only. Absent: both. */
  readonly acceptsEither?: boolean;
  /** No new work; settles when what runs has ended. After `graceMs` what still runs is answered: not known whether it was applied. */
  drain(graceMs: number): Promise<void>;
}
