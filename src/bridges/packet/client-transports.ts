import { type Clock, isJsonObject, untilAborted } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { PacketClientError, errorCode, abortError, failureReason } from "./client-error.ts";
import { PACKET_PROTOCOL, PACKET_VERSION, PacketError, type ReplyPacket, type RequestPacket, errorIn } from "./packet.ts";
import { readReply } from "./read-packet.ts";

/** A packet on its way. */
export interface OutgoingPacket {
  readonly packet: RequestPacket;
  /** The whole of it. */
  readonly text: string;
  /** Aborted: nobody waits for the reply any more. */
  readonly signal: AbortSignal;
  readonly onProgress: ((packet: ReplyPacket) => void) | undefined;
}

/** What brings a packet to the server, and its reply back. */
export interface ClientTransport {
  /** Throws `PacketClientError`, and `PacketError` (`unauthorized`) where the server refuses the token. */
  exchange(outbound: OutgoingPacket): Promise<ReplyPacket>;
  /** Whatever waits is given up. */
  close(): void;
}

/** One connection that is open: packets go out and come in, one text each. It ends with the signal it was opened with. */
export interface ClientSocket {
  send(text: string): void;
}

/** How one is opened. */
export interface SocketOptions {
  readonly url: URL;
  readonly token: string | undefined;
  /** Of one text that comes in, in UTF-16 units; a longer one ends the connection. */
  readonly maxChars: number;
  readonly connectMs: number;
  readonly clock: Clock;
  /** Aborted: it is not wanted any more, and ends without a word. */
  readonly signal: AbortSignal;
  readonly onMessage: (text: string) => void;
  /** Once, after it was open: why it is not any more. */
  readonly onClose: (why: string) => void;
}

/** Settles when it is open. Rejects, in words, where it does not come about. */
export type OpenSocket = (options: SocketOptions) => Promise<ClientSocket>;

export interface HttpTransportOptions {
  readonly url: URL;
  readonly token: () => Promise<string | undefined>;
  /** Of one packet that comes back. */
  readonly maxChars: number;
}

/** Errors of sockets that were never connected: nothing was sent. */
const NOT_SENT_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** One POST for each packet; one of lines where progress is wanted, since a single reply has no room for it. */
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
        // A token is for this address alone.
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
      // Whoever was told may have given up by that, while the reply is here already.
      signal.throwIfAborted();
    }
    throw response.ok
      ? new PacketClientError("LOST", "The response ended before the reply came.", { applied: "unknown" })
      : notAPacket(response, "");
  }
}

async function* linesOf({ body }: Response, maxChars: number): AsyncGenerator<string> {
  const lines = new LineReader(maxChars);
  // Not `for await`: some browsers' streams cannot be iterated.
  const reader = body?.getReader();
  try {
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) yield* lines.push(read.value);
    yield* lines.end();
  } finally {
    // What follows the reply is of no use. It fails where the connection is gone already.
    void reader?.cancel().catch(() => undefined);
  }
}

/** The server, or something before it, answered in words of its own. */
function notAPacket({ status, url }: Response, line: string): PacketClientError | PacketError {
  const why = messageIn(line);
  const answered = `${url} answered ${status}${why === "" ? "" : ` (${why})`}`;
  if (status === 401 || status === 403) return new PacketError("unauthorized", `${answered}: give a token that is valid there.`);
  // A proxy that lost its server cannot say what became of the request.
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
  const code = errorCode(error) ?? (error instanceof Error ? errorCode(error.cause) : undefined);
  if (code !== undefined && NOT_SENT_CODES.has(code)) return unreachable(url, error);
  return new PacketClientError("LOST", `The request to ${url.origin} broke: ${failureReason(error)}.`, {
    applied: "unknown",
    cause: error,
  });
}

const unreachable = ({ origin }: URL, error: unknown): PacketClientError =>
  new PacketClientError("UNREACHABLE", `${origin} cannot be reached: ${failureReason(error).replace(/\.$/, "")}.`, {
    applied: false,
    cause: error,
  });

/** Where a packet carries the token of a TCP connection: in its `metadata`, and only in the first of the connection. */
const AUTHORIZATION_KEY = "troupe/authorization";

/** `tcp://host:port`: one packet a line. With a token it is open when the server has taken that. */
export function openTcp({ url, token, maxChars, connectMs, clock, signal, onMessage, onClose }: SocketOptions): Promise<ClientSocket> {
  // Not an import: whatever bundles this for a browser must not look for it.
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

  // A packet of a stranger may be short only, and those behind it are lost where the token is refused: so the token goes ahead, alone.
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

/** `ws://` and `wss://`: one packet a text frame. */
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
  // It does not say why: an address that is none, a token that is not taken, and a server that is away look alike.
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

/** Thrown for a line that is longer than was allowed, or no UTF-8. */
class InvalidLine extends Error {}

/** Cuts bytes into lines, however they arrive: in work linear in them, holding one line at most. */
class LineReader {
  readonly #maxChars: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #parts: string[] = [];
  #chars = 0;

  /** `maxChars`: of one line, in UTF-16 units. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The lines that have ended, without blank ones. Throws `BadLine`. */
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

  /** What is there without a line end: nothing, or one line. Throws `BadLine`. */
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
