// Owns: how a client sends packets over HTTP, TCP and WebSocket. Does not own: reconnecting (client-connection.ts).
import { type Clock, isJsonObject, untilAborted } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { PacketClientError, errorCode, abortError, failureReason } from "./client-error.ts";
import { PACKET_PROTOCOL, PACKET_VERSION, PacketError, type ReplyPacket, type RequestPacket, errorIn } from "./packet.ts";
import { readReply } from "./read-packet.ts";

/** A packet to send. */
export interface OutgoingPacket {
  readonly packet: RequestPacket;
  /** The packet as text. */
  readonly text: string;
  /** Aborted if the caller no longer waits for the reply. */
  readonly signal: AbortSignal;
  readonly onProgress: ((packet: ReplyPacket) => void) | undefined;
}

/** Sends packets and returns their replies. */
export interface ClientTransport {
  /** Throws `PacketClientError`, or `PacketError` (`unauthorized`) if the server refuses the token. */
  exchange(outbound: OutgoingPacket): Promise<ReplyPacket>;
  /** Rejects everything pending. */
  close(): void;
}

/** An open connection that carries one packet per text. It ends with the signal it was opened with. */
export interface ClientSocket {
  send(text: string): void;
}

/** How to open a socket. */
interface SocketOptions {
  readonly url: URL;
  readonly token: string | undefined;
  /** Longest incoming text in UTF-16 units; a longer one ends the connection. */
  readonly maxChars: number;
  readonly connectMs: number;
  readonly clock: Clock;
  /** Aborted to close the connection without notice. */
  readonly signal: AbortSignal;
  readonly onMessage: (text: string) => void;
  /** Called once, with the reason, when an open connection ends. */
  readonly onClose: (why: string) => void;
}

/** Resolves when the connection is open. Rejects with a readable reason otherwise. */
export type OpenSocket = (options: SocketOptions) => Promise<ClientSocket>;

interface HttpTransportOptions {
  readonly url: URL;
  readonly token: () => Promise<string | undefined>;
  /** Longest packet in a response. */
  readonly maxChars: number;
}

/** Error codes of sockets that were never connected: nothing was sent. */
const NOT_SENT_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);
/** Codes of TLS handshakes that failed: the server does not speak it, or its certificate is not accepted. */
const HANDSHAKE_CODE = /^(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_TLS_CERT_.*|CERT_.*|.*SELF_SIGNED_CERT.*|UNABLE_TO_(?:GET|VERIFY)_.*)$/;

/** One POST per packet. With progress it is a body of lines, since a single reply has no room for progress. */
export class HttpTransport implements ClientTransport {
  readonly #options: HttpTransportOptions;
  readonly #closing = new AbortController();

  constructor(options: HttpTransportOptions) {
    this.#options = options;
  }

  async exchange({ text, signal, onProgress }: OutgoingPacket): Promise<ReplyPacket> {
    const { url, token: getToken } = this.#options;
    const both = AbortSignal.any([signal, this.#closing.signal]);
    let applied: false | "unknown" = false;
    try {
      const token = await untilAborted(both, getToken);
      applied = "unknown";
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": onProgress === undefined ? "application/json" : "application/x-ndjson",
          accept: onProgress === undefined ? "application/json" : "application/x-ndjson, application/json",
          ...(token === undefined ? undefined : { authorization: `Bearer ${token}` }),
        },
        body: text,
        // The token must not be sent to another address.
        redirect: "manual",
        signal: both,
      });
      return await this.#reply(response, signal, onProgress);
    } catch (error) {
      if (this.#closing.signal.aborted) throw new PacketClientError("CLOSED", "The client is closed.", { applied });
      if (signal.aborted) throw abortError(signal, applied);
      if (error instanceof PacketClientError || error instanceof PacketError) throw error;
      throw applied === false ? unreachable(url, error) : brokenRequest(url, error);
    }
  }

  close(): void {
    this.#closing.abort();
  }

  async #reply(response: Response, signal: AbortSignal, onProgress: OutgoingPacket["onProgress"]): Promise<ReplyPacket> {
    for await (const line of linesOf(response, this.#options.maxChars)) {
      const packet = readReply(line);
      if (packet === undefined) throw notAPacket(response, line);
      if (packet.type !== "capability_progress") return packet;
      onProgress?.(packet);
      // The listener may have aborted the request while the reply was already here.
      signal.throwIfAborted();
    }
    throw response.ok
      ? new PacketClientError("LOST", "The response ended before the reply came.", { applied: "unknown" })
      : notAPacket(response, "");
  }
}

async function* linesOf({ body }: Response, maxChars: number): AsyncGenerator<string> {
  const lines = new LineReader(maxChars);
  // Not `for await`: some browsers' streams are not iterable.
  const reader = body?.getReader();
  try {
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) yield* lines.push(read.value);
    yield* lines.end();
  } finally {
    // Nothing after the reply is needed. Fails if the connection has already ended.
    void reader?.cancel().catch(() => undefined);
  }
}

/** The response is not a packet: it may come from the server or from a proxy. */
function notAPacket({ status, url }: Response, line: string): PacketClientError | PacketError {
  const why = messageIn(line);
  const answered = `${url} answered ${status}${why === "" ? "" : ` (${why})`}`;
  if (status === 401 || status === 403) return new PacketError("unauthorized", `${answered}: give a token that is valid there.`);
  // A proxy that lost its server cannot know what became of the request.
  const applied = (status >= 300 && status < 500) || status === 503 ? false : "unknown";
  if (status === 503 || status === 429) return new PacketClientError("UNREACHABLE", `${answered}: try again later.`, { applied });
  return new PacketClientError(
    "BAD_REPLY",
    `${answered}, which is no packet: give the address where packets are taken, such as http://127.0.0.1:3000/packets.`,
    {
      applied,
    },
  );
}

function messageIn(line: string): string {
  const value = tryParseJson(line);
  const { error } = isJsonObject(value) ? value : {};
  const message = isJsonObject(error) ? error["message"] : undefined;
  return typeof message === "string" ? message.slice(0, 500).replace(/\.$/, "") : "";
}

function brokenRequest(url: URL, error: unknown): PacketClientError {
  if (error instanceof InvalidLine) return new PacketClientError("BAD_REPLY", error.message, { applied: "unknown", cause: error });
  if (error instanceof Error && wasNotSent(error)) return unreachable(url, error);
  return new PacketClientError("LOST", `The request to ${url.origin} broke: ${failureReason(error)}.`, {
    applied: "unknown",
    cause: error,
  });
}

/** The connection was never open: refused, not found, or without an agreement on TLS. `fetch` itself refuses some ports. */
function wasNotSent(error: Error): boolean {
  const code = errorCode(error) ?? errorCode(error.cause);
  if (code === undefined) return error.cause instanceof Error && error.cause.message === "bad port";
  return NOT_SENT_CODES.has(code) || HANDSHAKE_CODE.test(code);
}

const unreachable = ({ origin }: URL, error: unknown): PacketClientError =>
  new PacketClientError("UNREACHABLE", `${origin} cannot be reached: ${failureReason(error).replace(/\.$/, "")}.`, {
    applied: false,
    cause: error,
  });

/** The metadata key for the token of a TCP connection. Only the first packet of the connection may carry it. */
const AUTHORIZATION_KEY = "troupe/authorization";

/** `tcp://host:port`: one packet per line. With a token, the connection is open once the server has accepted it. */
export function openTcp({ url, token, maxChars, connectMs, clock, signal, onMessage, onClose }: SocketOptions): Promise<ClientSocket> {
  // Not an import, so that browser bundlers ignore it.
  const { connect } = globalThis.process.getBuiltinModule("node:net");
  const { promise, resolve, reject } = Promise.withResolvers<ClientSocket>();
  const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) });
  const lines = new LineReader(maxChars);
  let isOpen = false;
  let isClosed = false;
  let refused: PacketError | undefined;

  const close = (why: string): void => {
    if (isClosed) return;
    isClosed = true;
    cancelTimeout();
    signal.removeEventListener("abort", onAbort);
    socket.destroy();
    if (isOpen && !signal.aborted) onClose(why);
    else reject(refused ?? new Error(why));
  };
  const onAbort = (): void => close("it is not wanted any more");
  const read = (take: () => readonly string[]): void => {
    try {
      for (const line of take()) {
        if (isClosed) return;
        if (isOpen) onMessage(line);
        else onAuthenticationReply(line);
      }
    } catch (error) {
      if (!(error instanceof InvalidLine)) throw error;
      close(error.message);
    }
  };
  const cancelTimeout = clock.after(connectMs, () => close(`no connection within ${connectMs} ms`));

  signal.addEventListener("abort", onAbort, { once: true });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 60_000);
  socket.on("data", (chunk: Buffer) => read(() => lines.push(chunk)));
  socket.on("end", () => {
    read(() => lines.end());
    close("the server ended the connection");
  });
  socket.on("error", (error) => close(failureReason(error)));
  socket.on("close", () => close("the connection was closed"));
  socket.on("connect", () => {
    if (token === undefined) onOpen();
    else socket.write(`${authentication(token)}\n`);
  });

  function onOpen(): void {
    cancelTimeout();
    isOpen = true;
    resolve({ send: (text) => void socket.write(`${text}\n`) });
  }

  // Before authentication the server accepts only short packets, and drops those behind a refused token. So the token is sent first, alone.
  function onAuthenticationReply(line: string): void {
    const packet = readReply(line);
    if (packet?.type === "heartbeat") return onOpen();
    if (packet?.type === "capability_error") refused = errorIn(packet);
    close("the server took no token: is this the address of packets?");
  }
  return promise;
}

const authentication = (token: string): string =>
  JSON.stringify({ version: PACKET_VERSION, type: "heartbeat", metadata: { [AUTHORIZATION_KEY]: `Bearer ${token}` } });

/** `ws://` and `wss://`: one packet per text frame. */
export function openWebSocket({
  url,
  token,
  maxChars,
  connectMs,
  clock,
  signal,
  onMessage,
  onClose,
}: SocketOptions): Promise<ClientSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<ClientSocket>();
  const socket = createWebSocket(url, token);
  let isOpen = false;
  let isClosed = false;

  const close = (why: string): void => {
    if (isClosed) return;
    isClosed = true;
    cancelTimeout();
    signal.removeEventListener("abort", onAbort);
    socket.close();
    if (isOpen && !signal.aborted) onClose(why);
    else reject(new Error(why));
  };
  const onAbort = (): void => close("it is not wanted any more");
  const cancelTimeout = clock.after(connectMs, () => close(`no connection within ${connectMs} ms`));

  signal.addEventListener("abort", onAbort, { once: true });
  socket.addEventListener("message", (event) => {
    const data: unknown = event.data;
    if (isClosed) return;
    if (typeof data !== "string") close("It sent a frame that is no text.");
    else if (data.length > maxChars) close(`It sent a frame of more than ${maxChars} characters.`);
    else onMessage(data);
  });
  // The event has no reason: a wrong address, a refused token and a server that is down look the same.
  socket.addEventListener("error", () => close("no WebSocket came about, or it broke: look at the address, the token and the server"));
  socket.addEventListener("close", ({ code, reason }) =>
    close(`the server closed the WebSocket (${code}${reason === "" ? "" : `, ${reason}`})`),
  );
  socket.addEventListener("open", () => {
    if (isClosed) return;
    cancelTimeout();
    isOpen = true;
    resolve({ send: (text) => socket.send(text) });
  });
  return promise;
}

function createWebSocket(url: URL, token: string | undefined): WebSocket {
  if (token === undefined) return new WebSocket(url, [PACKET_PROTOCOL]);
  if (typeof globalThis.process?.versions?.node !== "string")
    throw new Error("a browser's WebSocket sends no token: use the http address instead");
  return new WebSocket(url, { protocols: [PACKET_PROTOCOL], headers: { authorization: `Bearer ${token}` } });
}

/** Thrown for a line that is too long or not UTF-8. */
class InvalidLine extends Error {}

/** Splits chunks of bytes into lines. Takes linear time and holds at most one line. */
class LineReader {
  readonly #maxChars: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #parts: string[] = [];
  #chars = 0;

  /** `maxChars`: longest line in UTF-16 units. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The lines completed by this chunk, without blank ones. Throws `InvalidLine`. */
  push(chunk: Uint8Array): readonly string[] {
    const [first = "", ...rest] = this.#decoded(chunk).split("\n");
    const lines: string[] = [];
    this.#append(first);
    for (const next of rest) {
      lines.push(this.#takeLine());
      this.#append(next);
    }
    return lines.filter((line) => line.trim() !== "");
  }

  /** The last line, if it has no line feed. Throws `InvalidLine`. */
  end(): readonly string[] {
    this.#append(this.#decoded());
    const line = this.#takeLine();
    return line.trim() === "" ? [] : [line];
  }

  #decoded(chunk?: Uint8Array): string {
    try {
      return chunk === undefined ? this.#decoder.decode() : this.#decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new InvalidLine("It sent what is no UTF-8.", { cause });
    }
  }

  #append(text: string): void {
    this.#chars += text.length;
    if (this.#chars > this.#maxChars) throw new InvalidLine(`It sent a line of more than ${this.#maxChars} characters.`);
    if (text !== "") this.#parts.push(text);
  }

  #takeLine(): string {
    const line = this.#parts.join("");
    this.#parts = [];
    this.#chars = 0;
    return line;
  }
}
