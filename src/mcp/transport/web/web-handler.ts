// Owns: `webHandler`: HTTP inside an application that listens itself, from the arrival of a request to its web response, or to a stream.
// Does not own: the checks (../http-core.ts), where requests come from (requests.ts).
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Answer,
  boundsOf,
  type Caller,
  Cancellation,
  type Channel,
  checkOptions,
  type Clock,
  FUNCTION,
  type Log,
  type OptionTable,
  systemClock,
  systemEntropy,
} from "../../../core/contract/index.ts";
import { hasOwn, rateLimitedLog, wellFormed, withTimeout } from "../../../core/contract/internal.ts";
import { refusal } from "../../gateway/index.ts";
import { AUTH, refuseUnaddressed, type Verified } from "../auth/index.ts";
import { UploadBudget } from "../budgets.ts";
import { HttpSse } from "../deprecated-sse.ts";
import { frameEvent, KEEP_ALIVE } from "../event-stream.ts";
import { joined } from "../http-bytes.ts";
import { HOSTS, httpGuard, ORIGINS } from "../http-checks.ts";
import { type ExchangeParts, type Framing, HttpCore, HttpExchange, STREAM_HEADERS } from "../http-core.ts";
import { HTTP_LIMITS, type WebHandler, type WebLimits, type WebOptions } from "../http-options.ts";
import { checkPath, type Route, routes } from "../http-routes.ts";
import { linesOf } from "../lines.ts";
import { type OpenStream, OpenStreams } from "../open-streams.ts";
import { type DropReason, SinkWriteQueue, type WriteQueue, type WriteQueueLimits } from "../write-queue.ts";
import { fromNode, fromRequest, giveUpOn, PendingWrites, type WebRequest, writeOut } from "./requests.ts";

const OPTIONS: OptionTable<WebOptions> = {
  gateway: true,
  path: true,
  auth: AUTH,
  allowedHosts: HOSTS,
  allowedOrigins: ORIGINS,
  sse: true,
  ready: FUNCTION,
  endpoints: true,
  limits: boundsOf(HTTP_LIMITS),
  clock: true,
  entropy: true,
  log: FUNCTION,
};

const FLUSH_MS = 1_000;

/**
 * Streamable HTTP as functions of a request, for applications with a server of their own. As strict as `serveHttp`: Host and Origin
 * are checked, everything is limited. Throws `BAD_OPTION`.
 */
export function webHandler(options: WebOptions): WebHandler {
  const {
    gateway,
    path = "/mcp",
    auth,
    allowedHosts = [],
    allowedOrigins = [],
    ready = () => true,
    endpoints = [],
    clock = systemClock,
  } = options;
  checkOptions("webHandler", options, OPTIONS);
  refuseUnaddressed("a mounted server", auth);
  const log = rateLimitedLog(options.log, clock);
  checkPath(path, "the endpoint's path");
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const streams = new OpenStreams(limits, clock);
  const uploads = new UploadBudget({
    bytes: limits.arrivingBytes,
    longest: limits.bodyBytes,
    clock,
    onFull: () => log?.("warning", { event: "inflow-full", transport: "web" }),
  });
  const sse = options.sse === true ? new HttpSse(gateway, options.entropy ?? systemEntropy) : undefined;
  let closing = false;
  // Without a configured address there is no metadata document, and no token is made for this server.
  const resource = auth?.resource ?? "";
  const core = new HttpCore({
    transport: "web",
    routes: routes({ gateway, path, mounted: true, endpoints, auth, resource, closing: () => closing, ready, sse }),
    path,
    guard: httpGuard({ host: "127.0.0.1", allowedHosts, allowedOrigins, resource: auth?.resource }),
    streams,
    auth,
    resource,
    closing: () => closing,
    limits,
    clock,
    log,
  });
  const handler = new FetchHandler({ core, uploads, limits, clock, log });
  const unsent = new PendingWrites();
  const shut = async (graceMs: number): Promise<void> => {
    closing = true;
    await withTimeout(clock, graceMs, Promise.all([handler.idle(), sse?.drain()]), () => undefined);
    handler.cut();
    streams.endAll();
    // So that no connection is busy when the application closes its server.
    await unsent.flush(clock, FLUSH_MS);
  };
  let closed: Promise<void> | undefined;
  const close = ({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> => (closed ??= shut(graceMs));
  // An error here would end the application, since the promise of an event listener is not awaited.
  const answerNode = async (request: IncomingMessage, response: ServerResponse, body: unknown, caller?: Caller): Promise<void> => {
    try {
      const answer = handler.handle(fromNode(request, response, body), caller);
      await unsent.during(
        response,
        answer.then((whole) => writeOut(whole, response)),
      );
    } catch (error) {
      log?.("error", { event: "exchange-failed", transport: "web", name: error instanceof Error ? error.name : typeof error });
      giveUpOn(response);
    }
  };
  return {
    fetch: (request) => handler.handle(fromRequest(request)),
    fetchAs: (caller, request) => handler.handle(fromRequest(request), caller),
    node: (request, response, body) => answerNode(request, response, body),
    nodeAs: (caller, request, response, body) => answerNode(request, response, body, caller),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

const CUT = refusal("UNAVAILABLE", "The server has closed before this was done: look whether it was, and try again elsewhere or later.");

type Headers = Readonly<Record<string, string>>;

interface FetchHandlerOptions {
  readonly core: HttpCore;
  readonly uploads: UploadBudget;
  readonly limits: WebLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

class FetchHandler {
  readonly #options: FetchHandlerOptions;
  readonly #core: HttpCore;
  /** Aborts each exchange that is running. */
  readonly #running = new Set<() => void>();
  #onIdle: (() => void) | undefined;

  constructor(options: FetchHandlerOptions) {
    this.#options = options;
    this.#core = options.core;
  }

  /** Settles when nothing is running. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((done) => {
      this.#onIdle = done;
    });
  }

  /** Aborts all requests that run, and answers them with an error. */
  cut(): void {
    for (const abort of this.#running) abort();
  }

  /** `known`: the caller, if the application has authenticated it. Never rejects. */
  async handle(request: WebRequest, known?: Caller): Promise<Response> {
    try {
      return await this.#handle(request, known);
    } catch (error) {
      return this.#fail(error, {});
    }
  }

  #fail(error: unknown, cors: Headers): Response {
    this.#core.reportFailure(error);
    return responseOf(this.#core.failure, cors, false);
  }

  async #handle(request: WebRequest, known: Caller | undefined): Promise<Response> {
    const cors = this.#core.originHeaders(request) ?? {};
    const refuse = (answer: Answer): Response => responseOf(answer, cors, request.method === "HEAD");
    const route = this.#core.route(request);
    if (hasOwn(route, "refused")) return refuse(route.refused);
    const verdict = known === undefined ? await this.#core.authenticate(request, route) : { caller: known };
    const admitted = this.#core.admit(request, route, verdict);
    if (hasOwn(admitted, "status")) return refuse(admitted);
    const body = request.method === "POST" ? await this.#readBody(request) : undefined;
    if (body !== undefined && "status" in body) return refuse(body);
    return this.#dispatch(request, route, admitted, body, cors);
  }

  async #readBody(request: WebRequest): Promise<Uint8Array | Answer> {
    const tooLong = this.#core.refuseLength(request);
    if (tooLong !== undefined) return tooLong;
    const { limits, uploads, clock } = this.#options;
    const timeout = new AbortController();
    const cancelTimeout = clock.after(limits.requestMs, () => timeout.abort());
    const body = await request.read(limits.bodyBytes, uploads, timeout.signal);
    cancelTimeout();
    if (timeout.signal.aborted) return refusal("LATE", "The request did not arrive in time.");
    if (body === "too-deep") return refusal("INVALID_REQUEST", "The body is nested too deep: send less at once.");
    if (body === "unreadable")
      return refusal("INVALID_REQUEST", "The body cannot be read: hand the request on as it came, or its body as it was parsed.");
    return typeof body === "string" ? this.#core.refuseBody(body) : body;
  }

  /** Settles with the response as soon as that starts; a stream continues after it. */
  #dispatch(request: WebRequest, route: Route, verified: Verified, body: Uint8Array | undefined, cors: Headers): Promise<Response> {
    const { promise, resolve } = Promise.withResolvers<Response>();
    let responded = false;
    const respond = (response: Response): void => {
      responded = true;
      resolve(response);
    };
    const exchange = new FetchExchange(
      {
        head: request,
        clientPath: request.clientPath,
        body,
        verified,
        posture: route.posture,
        tokenChecked: this.#core.checksToken(route),
      },
      request,
      (opening, framing, headers) => (responded ? undefined : this.#openStream(opening, framing, respond, { ...headers, ...cors })),
    );
    const abort = (): void => {
      if (exchange.opened === undefined) respond(responseOf(CUT, cors, false));
      // Without this the stream would stay open for as long as the application holds the body.
      exchange.opened?.close();
      exchange.disconnected.abort();
    };
    this.#running.add(abort);
    // An async function, so that a handler that throws synchronously does not throw here.
    const run = async (): Promise<void> => {
      try {
        const answer = await route.answer(exchange);
        const { opened } = exchange;
        if (answer.open !== true) exchange.release();
        if (opened === undefined) respond(responseOf(this.#core.finalAnswer(exchange, answer), cors, request.method === "HEAD"));
        else this.#core.finishStream(exchange, opened, answer);
      } catch (error) {
        exchange.release();
        exchange.opened?.close();
        respond(this.#fail(error, cors));
      } finally {
        this.#running.delete(abort);
        if (this.#running.size === 0) this.#onIdle?.();
      }
    };
    void run();
    return promise;
  }

  #openStream(exchange: FetchExchange, framing: Framing, respond: (response: Response) => void, headers: Headers): Channel | undefined {
    const lease = this.#core.leaseStream(exchange.caller);
    if (lease === undefined) return undefined;
    const { limits, clock, log } = this.#options;
    const stream = new WebStream({
      framing,
      limits,
      clock,
      onDrop: (reason) => log?.("warning", { event: "client-dropped", transport: "web", reason }),
      onEnd: () => this.#core.streamClosed(stream),
    });
    this.#core.streamOpened(exchange, stream, lease);
    const lost = (): void => stream.lose();
    if (exchange.disconnected.aborted) lost();
    else exchange.disconnected.addEventListener("abort", lost);
    stream.disconnected.addEventListener("abort", () => exchange.disconnected.abort(), { once: true });
    respond(new Response(stream.body, { status: 200, headers: { ...STREAM_HEADERS[framing], ...headers } }));
    return stream;
  }
}

const encoder = new TextEncoder();

function bytesOf(body: NonNullable<Answer["body"]>): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return encoder.encode(wellFormed(body));
  return joined(
    (body instanceof Uint8Array ? [body] : body).map((piece) => (typeof piece === "string" ? encoder.encode(wellFormed(piece)) : piece)),
  );
}

/** A complete answer as a web response. `also`: headers of the transport. */
function responseOf({ status, headers, body }: Answer, also: Headers, head: boolean): Response {
  if (body === undefined) return new Response(null, { status, headers: { ...headers, ...also } });
  const bytes = bytesOf(body);
  const about = { "content-type": "application/json", "content-length": String(bytes.byteLength) };
  return new Response(head ? null : bytes, { status, headers: { ...about, ...headers, ...also } });
}

type OpenStreamOn = (exchange: FetchExchange, framing: Framing, headers: Headers | undefined) => Channel | undefined;

/** An exchange whose answer is a web response. */
class FetchExchange extends HttpExchange {
  override readonly disconnected = new Cancellation();
  readonly #openOn: OpenStreamOn;
  /** The request's own signal no longer counts: Deno aborts it after the response, when nothing can be abandoned any more. */
  readonly release: () => void;

  constructor(parts: ExchangeParts, { disconnected }: WebRequest, openOn: OpenStreamOn) {
    super(parts);
    this.#openOn = openOn;
    const abort = (): void => this.disconnected.abort();
    this.release = () => disconnected.removeEventListener("abort", abort);
    if (disconnected.aborted) abort();
    else disconnected.addEventListener("abort", abort, { once: true });
  }

  protected override openStream(framing: Framing, headers: Headers | undefined): Channel | undefined {
    return this.#openOn(this, framing, headers);
  }
}

interface WebStreamOptions {
  readonly framing: Framing;
  readonly limits: WriteQueueLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
  readonly onEnd: () => void;
}

// About the size of a socket's buffer: up to this the client is not slow.
const BUFFERED = 65_536;

/** A web response whose body is a stream of events or lines. Drops a client that does not read. */
class WebStream implements Channel, OpenStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #queue: WriteQueue;
  readonly #disconnected = new AbortController();
  readonly #onEnd: () => void;
  readonly #framing: Framing;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #flushed: () => void = () => undefined;
  #ended = false;

  constructor({ framing, limits, clock, onDrop, onEnd }: WebStreamOptions) {
    this.#onEnd = onEnd;
    this.#framing = framing;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#flushed(),
        cancel: () => this.lose(),
      },
      { highWaterMark: BUFFERED, size: (chunk) => chunk?.byteLength ?? 0 },
    );
    const sink = {
      write: (data: string | Uint8Array): void => {
        this.#controller?.enqueue(typeof data === "string" ? encoder.encode(data) : data);
      },
      queued: (): number => Math.max(0, -(this.#controller?.desiredSize ?? 0)),
      afterwards: (run: () => void): void => {
        this.#flushed = run;
      },
      destroy: (): void => {
        this.#controller?.error(new Error("The client does not read."));
        this.lose();
      },
    };
    this.#queue = new SinkWriteQueue(sink, { limits, clock, onDrop });
  }

  get disconnected(): AbortSignal {
    return this.#disconnected.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#queue.ready;
  }

  onReady(run: () => void): () => void {
    return this.#queue.onReady(run);
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    if (!this.#ended) this.#queue.write(this.#framing === "lines" ? linesOf([text]) : frameEvent(text, eventId, retryMs, event));
  }

  keepAlive(): void {
    if (this.ready && this.#framing === "events") this.#queue.write(KEEP_ALIVE);
  }

  close(): void {
    if (this.#ended) return;
    this.#end();
    this.#controller?.close();
  }

  evict(): void {
    this.close();
    this.#disconnected.abort();
  }

  /** The client has disconnected. */
  lose(): void {
    this.#end();
    this.#disconnected.abort();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#queue.end();
    this.#onEnd();
  }
}
