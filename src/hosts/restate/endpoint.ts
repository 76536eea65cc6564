// Owns: the HTTP/2 endpoint of this node, and reading requests to run turns. Does not own: answering them (direct-turns.ts, the SDK).
import { once } from "node:events";
import {
  createServer,
  Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { ReadableOptions } from "node:stream";
import { TroupeError } from "../../core/contract/index.ts";
import type { DirectTurns } from "./direct-turns.ts";
import type { SdkDefinition, RestateSdk } from "./sdk.ts";

/** Returns true if it handled the request. */
export type ExtraHandler = (request: Http2ServerRequest, response: Http2ServerResponse) => boolean;

export interface EndpointOptions {
  readonly sdk: RestateSdk;
  /** Created by the SDK. */
  readonly services: readonly SdkDefinition[];
  /** Default: loopback. A client that reaches this port can run turns, so use a private network. */
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly identityKeys: readonly string[];
  /** Turns that are answered without the SDK. */
  readonly direct: DirectTurns;
}

/**
 * Memory for unsent data of one connection. With Node's default of 10, a connection refused all other turns while one large value was being
 * sent, and a turn may send several of up to 31 MiB each.
 */
const SESSION_MEGABYTES = 128;

/** The HTTP/2 endpoint, in cleartext, by which the server invokes this node's handlers and other nodes connect. */
export class Endpoint {
  readonly url: string;
  /** Called before the SDK. */
  extra: ExtraHandler | undefined;
  readonly #server: ReturnType<typeof createServer>;
  readonly #sessions = new Set<ServerHttp2Session>();
  #whenEmpty: (() => void) | undefined;

  private constructor(server: ReturnType<typeof createServer>, url: string) {
    this.#server = server;
    this.url = url;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => {
        this.#sessions.delete(session);
        if (this.#sessions.size === 0) this.#whenEmpty?.();
      });
      session.on("error", () => session.destroy());
    });
  }

  /** Throws `BAD_ADDRESS`. */
  static async open({ sdk, services, host, port, identityKeys, direct }: EndpointOptions): Promise<Endpoint> {
    const serve = sdk.createEndpointHandler({
      services: [...services],
      bidirectional: true,
      logger: () => undefined,
      ...(identityKeys.length === 0 ? {} : { identityKeys: [...identityKeys] }),
    });
    let endpoint: Endpoint | undefined;
    const server = createServer({ Http2ServerRequest: TurnRequest, maxSessionMemory: SESSION_MEGABYTES }, (request, response) => {
      if (endpoint?.extra?.(request, response) === true) return;
      const taken = direct.take(request);
      if (taken === undefined) serve(request, response);
      else void taken.then((all) => all || serve(request, response));
    });
    server.listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      throw new TroupeError("BAD_ADDRESS", `${host}:${port} cannot be had: name another address for this node.`, { cause: error });
    }
    const bound = server.address();
    if (bound === null || typeof bound === "string") throw new TypeError("The endpoint has no port.");
    endpoint = new Endpoint(server, `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`);
    return endpoint;
  }

  /** Accepts no new turns. Settles when running turns have ended, or `signal` is aborted. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#server.close();
    for (const session of this.#sessions) session.close();
    if (this.#sessions.size === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Cuts what still runs: the server runs it again. */
  async close(): Promise<void> {
    const closed = this.#server.listening || this.#sessions.size > 0 ? once(this.#server, "close") : undefined;
    if (this.#server.listening) this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}

/** How much is read before it is requested. */
const READ_AHEAD_BYTES = 65_536;
/** The server sends no more of one invocation, unless it is configured otherwise. */
const MAX_BODY_BYTES = 64 * 2 ** 20;

/**
 * A request to run a turn. Its body is read as it arrives: a second stream with an iterator took as long as the turn itself. A request that
 * ends normally emits no "close", since the SDK would abort it then, with an error and its stack.
 */
export class TurnRequest extends Http2ServerRequest {
  /** Without HTTP/2 pseudo-headers: the SDK copies each header more than once. */
  override readonly headers: IncomingHttpHeaders = {};
  #body: RequestBody | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, options: ReadableOptions, raw: readonly string[]) {
    super(stream, headers, options, raw);
    for (const name in headers) if (!name.startsWith(":")) this.headers[name] = headers[name];
  }

  get body(): RequestBody {
    return (this.#body ??= new RequestBody(this.stream));
  }

  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Buffer> {
    return this.body;
  }

  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === "close" && this.#body?.ended === true && isDone(this.stream)) return false;
    return super.emit(event, ...args);
  }
}

const isDone = ({ writableFinished, aborted, rstCode }: ServerHttp2Stream): boolean =>
  writableFinished && !aborted && rstCode === constants.NGHTTP2_NO_ERROR;

/** A body, which can be peeked at and then read. */
class RequestBody implements NodeJS.AsyncIterator<Buffer> {
  ended = false;
  readonly #stream: ServerHttp2Stream;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  /** Pending reads, oldest first. */
  readonly #readers: PromiseWithResolvers<IteratorResult<Buffer, undefined>>[] = [];
  #peeking: (() => void) | undefined;
  #failure: Error | undefined;
  #discarded = false;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => this.#onChunk(chunk));
    stream.on("end", () => this.#onEnd());
    stream.on("close", () => this.#onClose());
    // A destroyed stream emits no further events.
    if (stream.destroyed) this.#onClose();
  }

  /**
   * Applies `read` to all data so far, without consuming it. If `read` returns a number, it needs at least that many bytes, and is called
   * again once they have arrived. Undefined if no more data comes, or it would be too long.
   */
  peek<T extends object>(read: (bytes: Buffer) => T | number): Promise<T | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    let least = 1;
    const tryRead = (): void => {
      try {
        if (this.#bytes >= least) {
          const found = read(this.#all());
          if (typeof found !== "number") return settle(() => resolve(found));
          if (found > MAX_BODY_BYTES) return settle(() => resolve(undefined));
          least = Math.max(found, this.#bytes + 1);
        }
        if (this.ended || this.#failure !== undefined) settle(() => resolve(undefined));
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const settle = (how: () => void): void => {
      this.#peeking = undefined;
      how();
    };
    this.#peeking = tryRead;
    tryRead();
    return promise;
  }

  /** Discards the rest: an unread stream would never end. */
  discard(): void {
    this.#discarded = true;
    this.#chunks.length = 0;
    this.#stream.resume();
  }

  #all(): Buffer {
    const [first, second] = this.#chunks;
    if (first !== undefined && second === undefined) return first;
    const all = Buffer.concat(this.#chunks);
    this.#chunks.splice(0, Infinity, all);
    return all;
  }

  next(): Promise<IteratorResult<Buffer, undefined>> {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) {
      this.#bytes -= chunk.length;
      if (this.#bytes === 0 && this.#stream.isPaused()) this.#stream.resume();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.ended) return Promise.resolve({ done: true, value: undefined });
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const waiting = Promise.withResolvers<IteratorResult<Buffer, undefined>>();
    this.#readers.push(waiting);
    return waiting.promise;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #onChunk(chunk: Buffer): void {
    if (this.#discarded) return;
    const waiting = this.#readers.shift();
    if (waiting !== undefined) return waiting.resolve({ done: false, value: chunk });
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#peeking?.();
    if (this.#bytes > READ_AHEAD_BYTES && this.#peeking === undefined) this.#stream.pause();
  }

  #onEnd(): void {
    this.ended = true;
    for (const { resolve } of this.#readers.splice(0)) resolve({ done: true, value: undefined });
    this.#peeking?.();
  }

  #onClose(): void {
    if (this.ended) return;
    this.#failure = new Error("The server went away, or gave the turn to another attempt.");
    for (const { reject } of this.#readers.splice(0)) reject(this.#failure);
    this.#peeking?.();
  }
}
