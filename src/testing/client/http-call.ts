// Owns: one HTTP request of a test client, its answer, and the events of a streamed one. Does not own: what is sent (connection.ts).
import type { Answer, Caller, Channel, Exchange, Gateway } from "../../core/contract/index.ts";
import { isReply, parsed, type TestReply } from "./messages.ts";
import { counted } from "../../core/contract/internal.ts";

/** One request of a test client, for its server: an exchange that also has all headers. */
export interface TestExchange extends Exchange {
  readonly request: HttpRequest;
}

/** Answers HTTP requests: a `Gateway`, a server that has one, or `remoteServer`. */
export interface Exchanging extends Partial<AsyncDisposable> {
  /** True if it runs in another process, where pending work cannot be observed. */
  readonly remote?: boolean;
  exchange(exchange: TestExchange): ReturnType<Gateway["exchange"]>;
}

/** An HTTP request of the test client. */
export interface HttpRequest {
  readonly verb: Exchange["verb"];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The answer to an HTTP request. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty if the answer is a stream. */
  readonly body: string;
  readonly streamed: boolean;
}

/** One HTTP request to a server, and its answer: whole, or event by event. */
export class HttpCall {
  readonly request: HttpRequest;
  readonly frames: Frames;
  /** Settles with the head of a stream when it opens, otherwise with the whole answer. */
  readonly answer: Promise<HttpAnswer>;
  /** Settles when the answer is complete. */
  readonly done: Promise<HttpAnswer>;
  readonly #disconnected = new AbortController();

  constructor(served: Exchanging, request: HttpRequest, caller: Caller, onFrame: (frame: Frame) => void) {
    this.request = request;
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    this.answer = promise;
    const frames = new Frames(onFrame);
    this.frames = frames;
    let head: HttpAnswer | undefined;
    const exchange: TestExchange = {
      request,
      verb: request.verb,
      header: (name) => request.headers[name],
      ...(request.body === undefined ? undefined : { body: new TextEncoder().encode(request.body) }),
      caller,
      stream: (headers) => {
        if (head === undefined) {
          head = { status: 200, headers: { "content-type": "text/event-stream", ...headers }, body: "", streamed: true };
          resolve(head);
        }
        return frames;
      },
      disconnected: this.#disconnected.signal,
    };
    const run = async (): Promise<HttpAnswer> => {
      const answer = await served.exchange(exchange);
      if (head === undefined) {
        frames.close();
        const whole = wholeAnswer(answer);
        resolve(whole);
        return whole;
      }
      const last = textOf(answer);
      if (last !== "") frames.send(last);
      if (answer.open === true) await frames.over;
      else frames.close();
      return head;
    };
    this.done = run();
    this.done.catch((error: unknown) => {
      reject(error);
      frames.fail(error);
    });
    promise.catch(() => undefined);
  }

  /** The client closes its connection. */
  leave(): void {
    this.#disconnected.abort();
    this.frames.leave();
  }
}

function wholeAnswer(answer: Answer): HttpAnswer {
  const body = textOf(answer);
  const headers = { ...(answer.body === undefined ? undefined : { "content-type": "application/json" }), ...answer.headers };
  return { status: answer.status, headers, body, streamed: false };
}

function textOf({ body }: Answer): string {
  if (body === undefined) return "";
  const pieces = typeof body === "string" || body instanceof Uint8Array ? [body] : body;
  const decoder = new TextDecoder();
  return pieces.map((piece) => (typeof piece === "string" ? piece : decoder.decode(piece, { stream: true }))).join("");
}

/** An answer, event by event. An answer that is not a stream is one event. */
export class TestStream implements AsyncIterable<Frame> {
  readonly #call: HttpCall;

  constructor(call: HttpCall) {
    this.#call = call;
  }

  /** Status and headers, as soon as they are known. */
  get answer(): Promise<HttpAnswer> {
    return this.#call.answer;
  }

  /** Settles with the reply, when the answer is complete. */
  get reply(): Promise<TestReply> {
    return replyOf(this.#call);
  }

  /** The events received so far. */
  get frames(): readonly Frame[] {
    return this.#call.frames.all;
  }

  /** Closes the connection. That cancels a modern request; a legacy one continues, and `resume` gets the rest. */
  cancel(): void {
    this.#call.leave();
  }

  /** All events, when the answer is complete. */
  async all(): Promise<readonly Frame[]> {
    const frames: Frame[] = [];
    for await (const frame of this) frames.push(frame);
    return frames;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    yield* this.#call.frames;
    const { streamed, body } = await this.#call.answer;
    if (!streamed && body !== "") yield { data: body };
  }
}

/** The JSON-RPC response to a call. Rejects if there is none; the message quotes what arrived instead. */
export async function replyOf(call: HttpCall): Promise<TestReply> {
  const { status, streamed, body } = await call.done;
  const messages = call.frames.all.filter(({ event = "message" }) => event === "message");
  const texts = streamed ? messages.map(({ data }) => data) : [body];
  for (const text of texts.toReversed()) {
    const message = parsed(text);
    if (isReply(message)) return message;
  }
  const came = streamed
    ? `${counted(texts.length, "event")} without one`
    : `status ${status}, ${body === "" ? "no body" : body.slice(0, 500)}`;
  throw new Error(`No JSON-RPC response came: ${came}. For what is none, use \`http\`.`);
}

/** One event of an event stream. */
export interface Frame {
  readonly id?: string;
  /** Absent: `message`. */
  readonly event?: string;
  /** Empty in the first event of a resumable stream. */
  readonly data: string;
}

/** The client's end of an event stream. Stores all events, and can be iterated several times. */
export class Frames implements Channel, AsyncIterable<Frame> {
  /** All events so far, in order. */
  readonly all: Frame[] = [];
  readonly #onFrame: (frame: Frame) => void;
  readonly #ready = new Set<() => void>();
  readonly #disconnected = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #over = Promise.withResolvers<void>();
  #paused = false;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  get ready(): boolean {
    return !this.#paused && !this.ended;
  }

  get disconnected(): AbortSignal {
    return this.#disconnected.signal;
  }

  /** Settles when the stream has ended. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  get ended(): boolean {
    return this.#ended || this.#disconnected.signal.aborted;
  }

  onReady(run: () => void): () => void {
    this.#ready.add(run);
    return () => void this.#ready.delete(run);
  }

  send(text: string, eventId?: string, _retryMs?: number, event?: string): void {
    if (this.ended) return;
    const frame: Frame = {
      ...(eventId === undefined ? undefined : { id: eventId }),
      ...(event === undefined ? undefined : { event }),
      data: text,
    };
    this.all.push(frame);
    this.#onFrame(frame);
    this.#wake();
  }

  close(): void {
    this.#ended = true;
    this.#over.resolve();
    this.#wake();
  }

  /** The server failed: iterators get the events received so far, then the error. */
  fail(error: unknown): void {
    if (this.ended) return;
    this.#failure = { error };
    this.close();
  }

  /** The client closes its connection. */
  leave(): void {
    if (this.ended) return;
    this.#disconnected.abort();
    this.#over.resolve();
    this.#wake();
  }

  /** Simulates a client that does not read: to the server, the stream is not ready until `unpause`. */
  pause(): void {
    this.#paused = true;
  }

  unpause(): void {
    this.#paused = false;
    for (const run of Array.from(this.#ready)) run();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    for (let at = 0; ; at += 1) {
      while (at >= this.all.length && !this.ended) await this.#more();
      const next = this.all[at];
      if (next === undefined) break;
      yield next;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const run of this.#waiting) run();
    this.#waiting.clear();
  }
}
