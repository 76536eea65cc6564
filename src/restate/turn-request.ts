import type { ReadableOptions } from "node:stream";
import { constants, Http2ServerRequest, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";

/** So much may come before it is asked for. */
const AHEAD_BYTES = 65_536;

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

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => this.#come(chunk));
    stream.on("end", () => this.#end());
    stream.on("close", () => this.#fail());
    // Then nobody says so any more.
    if (stream.destroyed) this.#fail();
  }

  /**
   * What `read` finds in all that has come, asked again with each piece until it finds something. Nothing is taken. Undefined: it
   * does not come, or is too long to be held.
   */
  found<T>(read: (bytes: Buffer) => T | undefined): Promise<T | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    const look = (): void => {
      try {
        const [first] = this.#chunks;
        const found = first === undefined ? undefined : read(this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks));
        if (found === undefined && !this.ended && this.#failure === undefined && this.#bytes <= AHEAD_BYTES) {
          this.#looking = look;
          return;
        }
        resolve(found);
      } catch (error) {
        reject(error);
      }
      this.#looking = undefined;
    };
    look();
    return promise;
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
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) return waiting.resolve({ done: false, value: chunk });
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > AHEAD_BYTES) this.#stream.pause();
    this.#looking?.();
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
