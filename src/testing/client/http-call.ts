import type { Answer, Caller, Exchange, Gateway } from "../../core/contract/index.ts";
import { type Frame, Frames } from "./frames.ts";

/** One request of a test client, for whoever answers: also with all its headers. */
export interface TestExchange extends Exchange {
  readonly request: HttpRequest;
}

/** What answers HTTP requests: a `Gateway`, without a socket, a server with one, or `remoteServer`. */
export interface Exchanging extends Partial<AsyncDisposable> {
  /** It is in another process: whether something is still to come is not seen from here. */
  readonly remote?: boolean;
  exchange(exchange: TestExchange): ReturnType<Gateway["exchange"]>;
}

/** What the test client sends over HTTP. */
export interface HttpRequest {
  readonly verb: Exchange["verb"];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What an HTTP exchange was answered with. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty where the answer is a stream. */
  readonly body: string;
  readonly streamed: boolean;
}

/** One HTTP request to a gateway in this process, and what comes back: whole, or event by event. */
export class HttpCall {
  readonly request: HttpRequest;
  readonly frames: Frames;
  /** Settles with the head of a stream as soon as it opens, else with the whole answer. */
  readonly answer: Promise<HttpAnswer>;
  /** Settles when nothing more will come of it. */
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
