// Owns: `packetClient`: requests to a packet server, their timeouts and limits. Does not own: transports (client-transports.ts,
//   client-connection.ts).
import {
  checkOptions,
  type Clock,
  type Entropy,
  type JsonObject,
  type OptionTable,
  type Progress,
  systemClock,
  systemEntropy,
  TroupeError,
} from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { type ClientTransport, HttpTransport, openTcp, openWebSocket } from "./client-transports.ts";
import { PacketClientError, ReplyTimeout } from "./client-error.ts";
import { ClientConnection } from "./client-connection.ts";
import {
  type ActorOptions,
  PACKET_VERSION,
  type PacketContext,
  PacketError,
  type ReplyPacket,
  type RequestPacket,
  errorIn,
} from "./packet.ts";
import { readPacket } from "./read-packet.ts";

/** Options of `packetClient`. */
export interface PacketClientOptions {
  /** The access token, without `Bearer`. A function is called for each connection, and over HTTP for each packet. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sent with each `request` and `heartbeat`; the request's own context has precedence. */
  readonly context?: PacketContext;
  /** How long a reply may take, including the call of `token`. Default 60,000. */
  readonly timeoutMs?: number;
  /** How long an attempt to connect may take over WebSocket and TCP. Default 10,000. */
  readonly connectMs?: number;
  /** How long a packet waits for such a connection, across attempts; 0 is one attempt. Default 10,000. */
  readonly patienceMs?: number;
  /** Packets that may wait for their replies at once. Default 1,000. */
  readonly maxWaiting?: number;
  /** Total length of their texts in UTF-16 units. Default 16 Mi. */
  readonly maxWaitingChars?: number;
  /** Longest reply in UTF-16 units. Default 16 Mi. */
  readonly maxReplyChars?: number;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

/** Options of one request of a packet client. */
export interface Asking {
  /** Aborted: the request is rejected, and cancelled on the server. */
  readonly signal?: AbortSignal;
  /** Default: the client's. */
  readonly timeoutMs?: number;
}

/** Options of an `actor_message`. */
export interface SendOptions extends Asking {
  /** Receives each `capability_progress`. */
  readonly onProgress?: (packet: ReplyPacket) => void;
}

/** Options of a `capability_request`. */
export interface RequestOptions extends Asking {
  /** The actor to use, for capabilities that have actors. Default: the caller's own. */
  readonly actor_id?: string;
  readonly actor_options?: ActorOptions;
  readonly intent?: string;
  readonly context?: PacketContext;
  readonly onProgress?: Progress;
}

/** A packet to send: `version` and `id` are filled in. */
export type PacketToSend = Pick<RequestPacket, "type"> & Partial<RequestPacket>;

/**
 * Sends packets to one server. Requests throw `PacketClientError` if there is no reply: its `applied` says whether the packet can be sent
 * again. The client never sends a packet twice by itself.
 */
export interface PacketClient extends Disposable {
  /** The reply, which may be a `capability_error`. Throws `PacketError` for an invalid packet, which is not sent, and for a refused token. */
  send(packet: PacketToSend | JsonObject, options?: SendOptions): Promise<ReplyPacket>;
  /** The payload of the reply. Throws the server's `PacketError`. */
  request(capability_id: string, payload: JsonObject, options?: RequestOptions): Promise<JsonObject>;
  /** Resolves when the server has answered. */
  heartbeat(options?: Asking): Promise<void>;
  /** Rejects what is pending (`CLOSED`); the server cancels it. Until then an open connection keeps the process alive. */
  close(): void;
}

const OPTIONS: OptionTable<PacketClientOptions> = {
  token: true,
  context: true,
  timeoutMs: true,
  connectMs: true,
  patienceMs: true,
  maxWaiting: true,
  maxWaitingChars: true,
  maxReplyChars: true,
  clock: true,
  entropy: true,
};

/**
 * A client for `http(s)://…` (a POST for each packet), `ws(s)://…`, and `tcp://host:port`, which needs Node. The default path is `/packets`.
 * WebSocket and TCP use one connection: it is opened for the first packet, and reopened after it ended, first at once, then after pauses
 * that double up to 10 s. Packets that had been sent then fail (`LOST`); others wait. Throws `BAD_DEFINITION` for an invalid address.
 */
export function packetClient(url: string | URL, options: PacketClientOptions = {}): PacketClient {
  checkOptions("packetClient", options, OPTIONS);
  return new Client(transportFor(parseAddress(url), options), options);
}

class Client implements PacketClient {
  readonly #transport: ClientTransport;
  readonly #options: PacketClientOptions;
  readonly #entropy: Entropy;
  /** The lengths of pending packets by id. */
  readonly #pending = new Map<string, number>();
  #chars = 0;

  constructor(transport: ClientTransport, options: PacketClientOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#entropy = options.entropy ?? systemEntropy;
  }

  async send(
    packet: PacketToSend | JsonObject,
    { signal, timeoutMs = this.#options.timeoutMs ?? 60_000, onProgress }: SendOptions = {},
  ): Promise<ReplyPacket> {
    const { clock = systemClock } = this.#options;
    const text = JSON.stringify({ version: PACKET_VERSION, ...packet, id: packet["id"] ?? this.#entropy.hex(8) });
    const read = readPacket(text);
    if (read instanceof PacketError) throw read;
    const { id = "" } = read;
    const stop = new AbortController();
    const abandon = (): void => stop.abort(signal?.reason);
    if (signal?.aborted === true) abandon();
    this.#reserve(id, text.length);
    signal?.addEventListener("abort", abandon, { once: true });
    const cancelTimeout = clock.after(timeoutMs, () => stop.abort(new ReplyTimeout(timeoutMs)));
    const progressListener = (reply: ReplyPacket): void => {
      try {
        onProgress?.(reply);
      } catch (error) {
        // The listener's error becomes the cause of the rejection. Rethrown here, it would end the process.
        stop.abort(error);
      }
    };
    try {
      return await this.#transport.exchange({ packet: read, text, signal: stop.signal, onProgress: onProgress && progressListener });
    } finally {
      cancelTimeout();
      signal?.removeEventListener("abort", abandon);
      this.#chars -= this.#pending.get(id) ?? 0;
      this.#pending.delete(id);
    }
  }

  async request(capability_id: string, payload: JsonObject, options: RequestOptions = {}): Promise<JsonObject> {
    const { actor_id, actor_options, intent, context, onProgress, signal, timeoutMs } = options;
    const reply = await this.send(
      {
        type: actor_id === undefined ? "capability_request" : "actor_message",
        capability_id,
        payload,
        context: { ...this.#options.context, ...context },
        ...omitUndefined({ intent, actor_id, actor_options }),
      },
      {
        ...omitUndefined({ signal, timeoutMs }),
        ...(onProgress && { onProgress: (packet) => reportProgress(packet, onProgress) }),
      },
    );
    if (reply.type === "capability_error") throw errorIn(reply);
    return reply.payload;
  }

  async heartbeat(options: Asking = {}): Promise<void> {
    const reply = await this.send({ type: "heartbeat", context: { ...this.#options.context } }, options);
    if (reply.type === "capability_error") throw errorIn(reply);
  }

  close(): void {
    this.#transport.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #reserve(id: string, chars: number): void {
    const { maxWaiting = 1_000, maxWaitingChars = 16_777_216 } = this.#options;
    if (this.#pending.has(id))
      throw new PacketClientError(
        "ID_IN_USE",
        `A packet of the id ${JSON.stringify(id)} waits for its reply: give each an id of its own, or none.`,
        {
          applied: false,
        },
      );
    if (this.#pending.size >= maxWaiting || (this.#pending.size > 0 && this.#chars + chars > maxWaitingChars))
      throw new PacketClientError("FULL", `${this.#pending.size} packets wait for their replies: wait for one before you send more.`, {
        applied: false,
      });
    this.#pending.set(id, chars);
    this.#chars += chars;
  }
}

function reportProgress({ payload }: ReplyPacket, onProgress: Progress): void {
  const { progress, total, message } = payload;
  if (typeof progress === "number")
    onProgress(progress, typeof total === "number" ? total : undefined, typeof message === "string" ? message : undefined);
}

const PROTOCOLS = new Set(["http:", "https:", "ws:", "wss:", "tcp:"]);

function parseAddress(address: string | URL): URL {
  const url = URL.parse(String(address));
  if (url === null || !PROTOCOLS.has(url.protocol) || url.hostname === "" || url.username !== "" || url.password !== "")
    throw invalidAddress(address);
  if (url.protocol === "tcp:") {
    if (url.port === "" || !/^\/?$/.test(url.pathname)) throw invalidAddress(address);
  } else if (url.pathname === "/") url.pathname = "/packets";
  url.hash = "";
  return url;
}

const invalidAddress = (address: string | URL): TroupeError =>
  new TroupeError(
    "BAD_DEFINITION",
    `${JSON.stringify(String(address))} is no address of packets: give http://host:port, https://, ws://, wss://, or tcp://host:port, without a name and password in it.`,
  );

function transportFor(url: URL, options: PacketClientOptions): ClientTransport {
  const {
    clock = systemClock,
    entropy = systemEntropy,
    connectMs = 10_000,
    patienceMs = 10_000,
    maxReplyChars: maxChars = 16_777_216,
  } = options;
  const token = async (): Promise<string | undefined> =>
    checkedToken(typeof options.token === "function" ? await options.token() : options.token);
  if (url.protocol.startsWith("http")) return new HttpTransport({ url, token, maxChars });
  return new ClientConnection({
    open: url.protocol === "tcp:" ? openTcp : openWebSocket,
    url,
    token,
    maxChars,
    connectMs,
    patienceMs,
    clock,
    entropy,
  });
}

/** Checked here, since the error of `fetch` for a header that it cannot send quotes the token. */
function checkedToken(token: string | undefined): string | undefined {
  const trimmed = token?.trim();
  if (trimmed === undefined || /^[\u0021-\u007e]*$/.test(trimmed)) return trimmed;
  throw new PacketError("unauthorized", "The token holds characters that no token has, such as a line feed: give it as it was issued.");
}
