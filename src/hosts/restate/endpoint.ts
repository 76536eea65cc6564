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

/** Whether it took the request. */
export type ExtraHandler = (request: Http2ServerRequest, response: Http2ServerResponse) => boolean;

export interface EndpointOptions {
  readonly sdk: RestateSdk;
  /** What the SDK made. */
  readonly services: readonly SdkDefinition[];
  /** Default: loopback. Whoever reaches this port runs turns: keep it on a private network. */
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly identityKeys: readonly string[];
  /** What is answered without the SDK. */
  readonly direct: DirectTurns;
}

/**
 * What may wait to be sent on one connection. With Node's default of 10, a connection refused all other turns while one large piece was
 * being sent, and a turn may send several of up to 31 MiB each.
 */
const SESSION_MEGABYTES = 128;

/** Where the server finds the actors of this node, and other nodes find it: HTTP/2 in clear. */
export class Endpoint {
  readonly url: string;
  /** Asked before the SDK. */
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

  /** Takes no new turns. Settles when those that run have ended, or `signal` is aborted. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#server.close();
    for (const session of this.#sessions) session.close();
    if (this.#sessions.size === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** What still runs counts for nothing: the server has it run again. */
  async close(): Promise<void> {
    const closed = this.#server.listening || this.#sessions.size > 0 ? once(this.#server, "close") : undefined;
    if (this.#server.listening) this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}

/** So much may come before it is asked for. */
const READ_AHEAD_BYTES = 65_536;
/** More than the server sends of one invocation, unless it is told to. */
const MAX_BODY_BYTES = 64 * 2 ** 20;

/**
 * A request to run a turn. Its body is read as it comes: a second stream, and an iterator of it, took as long as the turn. And one
 * that ends as it should does so in silence: whoever serves it aborts, with an error and its stack, at each end it is told of.
 */
export class TurnRequest extends Http2ServerRequest {
  /** Without those of HTTP/2 itself: whoever serves it copies each of them more than once. */
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

/** What comes, for whoever asks next. */
class RequestBody implements NodeJS.AsyncIterator<Buffer> {
  ended = false;
  readonly #stream: ServerHttp2Stream;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  /** Whoever asked before it came, the first one first. */
  readonly #readers: PromiseWithResolvers<IteratorResult<Buffer, undefined>>[] = [];
  #peeking: (() => void) | undefined;
  #failure: Error | undefined;
  #discarded = false;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => this.#onChunk(chunk));
    stream.on("end", () => this.#onEnd());
    stream.on("close", () => this.#onClose());
    // Then nobody says so any more.
    if (stream.destroyed) this.#onClose();
  }

  /**
   * What `read` finds in all that has come, however long that is; or it says how long it must be at least, and is asked again once it
   * is. Nothing is taken. Undefined: no more comes, or it is too long to be held.
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

  /** Nobody asks any more: what is here and comes is let go, or its stream would never be over. */
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
