// Owns: requests of node:http from their arrival to their responses: bodies, batches of one event-loop turn, keep-alive connections.
// Does not own: the checks (http-core.ts), the listening server (http.ts), bytes (http-bytes.ts).
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Answer, Cancellation, type CancelSignal, type Channel, type Clock, type Log } from "../../core/contract/index.ts";
import { hasOwn } from "../../core/contract/internal.ts";
import type { Verdict, Verified } from "./auth/index.ts";
import type { UploadBudget } from "./budgets.ts";
import { EventStream, LineStream, type StreamOptions } from "./event-stream.ts";
import { refuseUpload, writeAnswer, type BodyRequest } from "./http-bytes.ts";
import { headersOf, pathOf } from "./http-checks.ts";
import { type Framing, type HttpCore, HttpExchange, type Rejection, STREAM_HEADERS, type RequestHead } from "./http-core.ts";
import type { HttpLimits } from "./http-options.ts";
import type { Route } from "./http-routes.ts";
import { type ConnectionWork, PendingResponses } from "./pending-responses.ts";
import { TickBatcher } from "./tick-batcher.ts";

export interface NodeHttpHandlerOptions {
  readonly core: HttpCore;
  readonly uploads: UploadBudget;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

/** A request whose head has been received. */
interface Incoming extends RequestHead {
  readonly request: BodyRequest;
  readonly response: ServerResponse;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly expectsContinue: boolean;
}

/** A complete request that waits for the end of the event-loop turn. */
interface Received {
  readonly incoming: Incoming;
  readonly route: Route;
  readonly verified: Verified;
  readonly body: Uint8Array | undefined;
  readonly work: ConnectionWork;
}

/** An answer that waits for the end of the event-loop turn. */
interface Answered {
  readonly exchange: NodeExchange;
  readonly work: ConnectionWork;
  readonly answer: Answer;
}

export class NodeHttpHandler {
  readonly #options: NodeHttpHandlerOptions;
  readonly #core: HttpCore;
  readonly #pending: PendingResponses;
  /** Connections that end with an answer that was written. What still arrives on them is discarded, since it is ambiguous. */
  readonly #ending = new Set<Socket>();
  /** Shared by all streams. */
  readonly #streamOptions: StreamOptions;
  readonly #received: TickBatcher<Received>;
  readonly #answered: TickBatcher<Answered>;
  #closing = false;

  constructor(options: NodeHttpHandlerOptions) {
    this.#options = options;
    this.#core = options.core;
    const { limits, clock, log } = options;
    const onDrop = (reason: string): void => log?.("warning", { event: "client-dropped", transport: "http", reason });
    this.#pending = new PendingResponses({ clock, blockedMs: limits.blockedMs, unreadBytes: limits.unreadBytes, onDrop });
    this.#answered = new TickBatcher(clock, (answered) => this.#finish(answered));
    this.#received = new TickBatcher(
      clock,
      (received) => this.#dispatch(received),
      () => this.#answered.flush(),
    );
    this.#streamOptions = {
      limits,
      clock,
      onDrop,
      onEnd: (stream, response) => {
        this.#core.streamClosed(stream);
        this.#pending.endBackground(this.#pending.of(response.req.socket));
      },
    };
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** The connection has a pending request or response. */
  busy(socket: Socket): boolean {
    return this.#pending.busy(socket) || this.#ending.has(socket);
  }

  /** The connection ends with an answer that was written. */
  isEnding(socket: Socket): boolean {
    return this.#ending.has(socket);
  }

  /** Runs it once everything on this connection has been answered. */
  whenIdle(socket: Socket, run: () => void): void {
    this.#pending.whenIdle(socket, run);
  }

  /** The connection has ended, and node:http did not manage it any more. */
  lost(socket: Socket): void {
    this.#pending.lost(socket);
  }

  /** Handles received requests and writes known answers now, before a connection is ended. */
  flush(): void {
    this.#received.flush();
  }

  /** Answers without asking the gateway. */
  answer(response: ServerResponse, answer: Answer): void {
    const work = this.#pending.of(response.req.socket);
    this.#pending.begin(work);
    writeAnswer(response, answer);
    this.#pending.written(work, response);
  }

  /** Answers 503 from now on; settles when all requests have been answered. */
  drain(): Promise<void> {
    this.#closing = true;
    return this.#pending.answered();
  }

  /** Settles when all written responses have been read. */
  read(): Promise<void> {
    return this.#pending.read();
  }

  /** Settles when streams have ended too. */
  idle(): Promise<void> {
    return this.#pending.idle();
  }

  handle(request: BodyRequest, response: ServerResponse, expectsContinue = false): void {
    const { socket, method = "", url = "" } = request;
    if (this.#ending.size > 0 && this.#ending.has(socket)) return request.throwAway();
    const headers = headersOf(request);
    const incoming = { request, response, method, url, path: pathOf(url), headers, peer: socket.remoteAddress, expectsContinue };
    const cors = this.#core.originHeaders(incoming);
    for (const name in cors) response.setHeader(name, cors[name] ?? "");
    const route = this.#core.route(incoming);
    if (hasOwn(route, "refused")) return this.#reject(incoming, route);
    // The body may arrive while a token is verified, so its limits apply from now on.
    request.hold(this.#options.limits.bodyBytes, this.#options.uploads);
    const verdict = this.#core.authenticate(incoming, route);
    if (!(verdict instanceof Promise)) return this.#admit(incoming, route, verdict);
    const work = this.#pending.of(socket);
    this.#pending.beginBackground(work);
    void verdict.then((verified) => this.#admit(incoming, route, verified)).finally(() => this.#pending.endBackground(work));
  }

  #reject({ request, response }: Incoming, { refused, why }: Rejection): void {
    if (why === "route") return this.#refuse(request, response, refused);
    if (why === "head") {
      // An intermediary may have parsed this head differently (request smuggling): answer, and end the connection.
      const { socket } = request;
      this.#ending.add(socket);
      socket.once("close", () => this.#ending.delete(socket));
    }
    this.#refuse(request, response, { ...refused, headers: { ...refused.headers, connection: "close" } });
  }

  #admit(incoming: Incoming, route: Route, verdict: Verdict): void {
    const { request, response, method, expectsContinue } = incoming;
    const admitted = this.#core.admit(incoming, route, verdict);
    if (hasOwn(admitted, "status")) return this.#refuse(request, response, admitted);
    if (method !== "POST") {
      // A GET's body is ignored.
      request.throwAway();
      return this.#receive(incoming, route, admitted, undefined);
    }
    const tooLong = this.#core.refuseLength(incoming);
    if (tooLong !== undefined) {
      if (expectsContinue) this.answer(response, { ...tooLong, headers: { connection: "close" } });
      else this.#refuseUpload(request, response, tooLong);
      return;
    }
    if (expectsContinue) response.writeContinue();
    request.readBody((body) => {
      if (typeof body === "string") this.#refuseUpload(request, response, this.#core.refuseBody(body));
      else this.#receive(incoming, route, admitted, body);
    });
  }

  #receive(incoming: Incoming, route: Route, verified: Verified, body: Uint8Array | undefined): void {
    const work = this.#pending.of(incoming.request.socket);
    this.#pending.begin(work);
    this.#received.add({ incoming, route, verified, body, work });
  }

  #dispatch({ incoming, route, verified, body, work }: Received): void {
    const exchange = new NodeExchange(this.#openStream, incoming, route, verified, body, this.#core.checksToken(route));
    let answer: Answer | Promise<Answer>;
    try {
      answer = route.answer(exchange);
    } catch (error) {
      return this.#fail(exchange, work, error);
    }
    if (answer instanceof Promise)
      answer.then(
        (settled) => this.#answered.add({ exchange, work, answer: settled }),
        (error: unknown) => this.#fail(exchange, work, error),
      );
    else this.#answered.add({ exchange, work, answer });
  }

  #finish({ exchange, work, answer }: Answered): void {
    const { opened, request, response } = exchange;
    try {
      if (opened === undefined) this.#write(exchange, work, answer);
      else if (this.#core.finishStream(exchange, opened, answer)) request.forget();
    } catch (error) {
      return this.#fail(exchange, work, error);
    }
    if (opened !== undefined && answer.open === true) this.#pending.streaming(request.socket, work);
    else this.#pending.written(work, response);
  }

  #write(exchange: NodeExchange, work: ConnectionWork, answer: Answer): void {
    const { response } = exchange;
    if (response.destroyed) return;
    const final = this.#core.finalAnswer(exchange, answer);
    // While closing, a connection ends with its last answer: further requests would get none.
    const last = this.#closing && work.answers === 1 && work.background === 0;
    writeAnswer(response, last ? { ...final, headers: { ...final.headers, connection: "close" } } : final);
  }

  #fail(exchange: NodeExchange, work: ConnectionWork, error: unknown): void {
    const { opened, response } = exchange;
    if (opened !== undefined) opened.close();
    else if (!response.headersSent && !response.destroyed) writeAnswer(response, this.#core.failure);
    // An answer that was started cannot be completed.
    else if (!response.writableEnded) response.destroy();
    this.#pending.written(work, response);
    // Last, since a log that throws must not prevent an answer.
    this.#core.reportFailure(error);
  }

  readonly #openStream: OpenStreamOn = (exchange, framing, extraHeaders) => {
    const { request, response } = exchange;
    if (response.destroyed || response.headersSent) return undefined;
    const lease = this.#core.leaseStream(exchange.caller);
    if (lease === undefined) return undefined;
    const chunked = request.httpVersionMinor >= 1;
    const head = { ...STREAM_HEADERS[framing], ...(chunked && { "transfer-encoding": "chunked" }), ...extraHeaders };
    response.writeHead(200, Object.entries(head).flat());
    response.flushHeaders();
    const stream =
      framing === "events"
        ? new EventStream(response, chunked, this.#streamOptions)
        : new LineStream(response, chunked, this.#streamOptions);
    this.#pending.beginBackground(this.#pending.of(request.socket));
    this.#core.streamOpened(exchange, stream, lease);
    return stream;
  };

  #refuse(request: BodyRequest, response: ServerResponse, answer: Answer): void {
    if (response.destroyed) return;
    const length = request.headers["content-length"];
    const uploads =
      request.headers["transfer-encoding"] !== undefined ||
      (length !== undefined && (answer.headers?.["connection"] === "close" || Number(length) > this.#options.limits.bodyBytes));
    request.throwAway();
    if (uploads && answer.body !== undefined) this.#refuseUpload(request, response, answer);
    else this.answer(response, answer);
  }

  #refuseUpload(request: BodyRequest, response: ServerResponse, answer: Answer): void {
    this.#pending.backgroundUntilClose(this.#pending.of(request.socket), response);
    refuseUpload(request, response, answer, this.#options.clock);
  }
}

type OpenStreamOn = (
  exchange: NodeExchange,
  framing: Framing,
  headers: Readonly<Record<string, string>> | undefined,
) => Channel | undefined;

/** An exchange whose answer is a response of node:http. */
export class NodeExchange extends HttpExchange {
  readonly request: BodyRequest;
  readonly response: ServerResponse;
  readonly #openOn: OpenStreamOn;
  #disconnected: ResponseClosed | undefined;

  constructor(
    openOn: OpenStreamOn,
    head: Incoming,
    { posture }: Route,
    verified: Verified,
    body: Uint8Array | undefined,
    tokenChecked: boolean,
  ) {
    super({ head, clientPath: head.path, body, verified, posture, tokenChecked });
    this.request = head.request;
    this.response = head.response;
    this.#openOn = openOn;
  }

  /** Created on demand, since few handlers need it. */
  override get disconnected(): CancelSignal {
    return (this.#disconnected ??= new ResponseClosed(this.response));
  }

  protected override openStream(framing: Framing, headers: Readonly<Record<string, string>> | undefined): Channel | undefined {
    return this.#openOn(this, framing, headers);
  }
}

/** Aborted if the client closes the connection before it has its answer. Listens to the response only if it has a listener. */
class ResponseClosed extends Cancellation {
  readonly #response: ServerResponse;
  #listening = false;

  constructor(response: ServerResponse) {
    super();
    this.#response = response;
  }

  override get aborted(): boolean {
    return this.#response.closed && !this.#response.writableFinished;
  }

  override addEventListener(type: "abort", listener: () => void): void {
    super.addEventListener(type, listener);
    if (this.#listening) return;
    this.#listening = true;
    this.#response.once("close", () => {
      if (this.aborted) this.abort();
    });
  }
}
