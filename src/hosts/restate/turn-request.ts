import type { ReadableOptions } from "node:stream";
import { constants, Http2ServerRequest, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";

/** So much may come before it is asked for. */
const AHEAD_BYTES = 65_536;
/** More than the server sends of one invocation, unless it is told to. */
const MOST_BYTES = 64 * 2 ** 20;

/**
 * A request to run a turn. Its body is read as it comes: a second stream, and an iterator of it, took as long as the turn. And one
 * that ends as it should does so in silence: whoever serves it aborts, with an error and its stack, at each end it is told of.
 */
export class TurnRequest extends Http2ServerRequest {
  /** Without those of HTTP/2 itself: whoever serves it copies each of them more than once. */
  override readonly headers: IncomingHttpHeaders = {};
  #body: Body | undefined;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, options: ReadableOptions, raw: readonly string[]) {
    super(stream, headers, options, raw);
    for (const name in headers) if (!name.startsWith(":")) this.headers[name] = headers[name];
  }

  get body(): Body {
    return (this.#body ??= new Body(this.stream));
  }

  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Buffer> {
    return this.body;
  }

  override emit(event: string | symbol, ...told: unknown[]): boolean {
    if (event === "close" && this.#body?.ended === true && isDone(this.stream)) return false;
    return super.emit(event, ...told);
  }
}

const isDone = ({ writableFinished, aborted, rstCode }: ServerHttp2Stream): boolean =>
  writableFinished && !aborted && rstCode === constants.NGHTTP2_NO_ERROR;

/** What comes, for whoever asks next. */
class Body implements NodeJS.AsyncIterator<Buffer> {
  ended = false;
  readonly #stream: ServerHttp2Stream;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  /** Whoever asked before it came, the first one first. */
  readonly #waiting: PromiseWithResolvers<IteratorResult<Buffer, undefined>>[] = [];
  #looking: (() => void) | undefined;
  #failure: Error | undefined;
  #left = false;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => this.#come(chunk));
    stream.on("end", () => this.#end());
    stream.on("close", () => this.#fail());
    // Then nobody says so any more.
    if (stream.destroyed) this.#fail();
  }

  /**
   * What `read` finds in all that has come, however long that is; or it says how long it must be at least, and is asked again once it
   * is. Nothing is taken. Undefined: no more comes, or it is too long to be held.
   */
  found<T extends object>(read: (bytes: Buffer) => T | number): Promise<T | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    let least = 1;
    const look = (): void => {
      try {
        if (this.#bytes >= least) {
          const found = read(this.#all());
          if (typeof found !== "number") return settle(() => resolve(found));
          if (found > MOST_BYTES) return settle(() => resolve(undefined));
          least = Math.max(found, this.#bytes + 1);
        }
        if (this.ended || this.#failure !== undefined) settle(() => resolve(undefined));
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const settle = (how: () => void): void => {
      this.#looking = undefined;
      how();
    };
    this.#looking = look;
    look();
    return promise;
  }

  /** Nobody asks any more: what is here and comes is let go, or its stream would never be over. */
  leave(): void {
    this.#left = true;
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
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #come(chunk: Buffer): void {
    if (this.#left) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return waiting.resolve({ done: false, value: chunk });
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#looking?.();
    if (this.#bytes > AHEAD_BYTES && this.#looking === undefined) this.#stream.pause();
  }

  #end(): void {
    this.ended = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
    this.#looking?.();
  }

  #fail(): void {
    if (this.ended) return;
    this.#failure = new Error("The server went away, or gave the turn to another attempt.");
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
    this.#looking?.();
  }
}
