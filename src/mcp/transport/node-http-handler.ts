import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answer, Caller, Channel, Clock, Log } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";
import { TickBatcher, type ConnectionWork, PendingResponses } from "./pipeline.ts";
import {
  type Authenticator,
  type ChallengeContext,
  type Verdict,
  type Verified,
  refuseToken,
  verdictOn,
  withMetadata,
} from "./auth/index.ts";
import { textOf, refuseUpload, writeAnswer } from "./http-answer.ts";
import { EventStream, type StreamDoor } from "./event-stream.ts";
import { Expiry, type OpenStream, type OpenStreams } from "./open-streams.ts";
import { type BodyRefusal, refuseBody, type BodyRequest } from "./http-body.ts";
import {
  allowOrigin,
  type HttpGuard,
  pathOf,
  refuseHead,
  type HeaderList,
  headersOf,
  refuseMedia,
  refusePacked,
  answerVerb,
} from "./http-checks.ts";
import { type Framing, HttpExchange } from "./http-exchange.ts";
import type { HttpLimits } from "./http-options.ts";
import type { Route, Routes } from "./http-routes.ts";
import type { UploadBudget } from "./budgets.ts";
import { lineStream } from "./lines.ts";
import { withoutStream } from "./no-stream.ts";
import { hasOwn } from "../../core/contract/internal.ts";

const LINGER_MS = 1_000;

const TYPE: Readonly<Record<Framing, string>> = { events: "text/event-stream", lines: "application/x-ndjson" };

export interface NodeHttpHandlerOptions {
  readonly routes: Routes;
  readonly guard: HttpGuard;
  readonly streams: OpenStreams;
  readonly uploads: UploadBudget;
  readonly auth: Authenticator | undefined;
  readonly resource: string;
  readonly challenge: ChallengeContext;
  readonly cors: boolean;
  /** Of the MCP endpoint. */
  readonly path: string;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

const ANYBODY: Verified = { caller: { scopes: Object.freeze([]) } };

/** A request on its way from its head to its body. */
interface Arrival {
  readonly request: BodyRequest;
  readonly response: ServerResponse;
  readonly headers: HeaderList;
  readonly path: string;
  readonly query: string;
  readonly route: Route;
  /** The client waits for leave to send its body. */
  readonly expects: boolean;
}

/** A request that was answered, and is to be told. */
interface Answered {
  readonly exchange: HttpExchange;
  readonly work: ConnectionWork;
  readonly answer: Answer;
}

/** A request that is there, its body too, and is owed an answer. */
interface Whole {
  readonly arrival: Arrival;
  readonly verified: Verified;
  readonly body: Uint8Array | undefined;
  readonly work: ConnectionWork;
}

/**
 * What every request passes, whichever door it wants: framing, names, path, verb,
 * token, media types, size; in this order, so that a stranger learns and costs
 * as little as can be.
 */
export class NodeHttpHandler {
  readonly #options: NodeHttpHandlerOptions;
  readonly #pending: PendingResponses;
  /** What comes on these is not looked at: a head on them could be read two ways. */
  readonly #shut = new Set<Socket>();
  readonly #door: StreamDoor;
  /** Of the streams whose tokens expire: the undo of that. */
  readonly #expiries = new Map<OpenStream, () => void>();
  readonly #arrived: TickBatcher<Whole>;
  readonly #answered: TickBatcher<Answered>;
  #closing = false;

  constructor(options: NodeHttpHandlerOptions) {
    this.#options = options;
    const { streams, limits, clock, log } = options;
    this.#pending = new PendingResponses({
      clock,
      blockedMs: limits.blockedMs,
      unreadBytes: limits.unreadBytes,
      onDrop: (reason) => log?.("warning", { event: "client-dropped", door: "http", reason }),
    });
    this.#answered = new TickBatcher(clock, (answered) => this.#finish(answered));
    this.#arrived = new TickBatcher(
      clock,
      (whole) => this.#dispatch(whole),
      () => this.#answered.flush(),
    );
    this.#door = {
      limits,
      clock,
      onDrop: (reason) => log?.("warning", { event: "client-dropped", door: "http", reason }),
      onEnd: (stream, response) => {
        streams.remove(stream);
        this.#expiries.get(stream)?.();
        this.#expiries.delete(stream);
        this.#pending.endBackground(this.#pending.of(response.req.socket));
      },
    };
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** An answer is on its way on this connection, or soon will be. */
  busy(socket: Socket): boolean {
    return this.#pending.busy(socket) || this.#shut.has(socket);
  }

  /** The connection ends with an answer that it has been given. */
  closes(socket: Socket): boolean {
    return this.#shut.has(socket);
  }

  /** Runs it once all that came before on this connection has been answered. */
  behind(socket: Socket, run: () => void): void {
    this.#pending.whenIdle(socket, run);
  }

  /** node:http has let go of the connection, and it has ended. */
  gone(socket: Socket): void {
    this.#pending.lost(socket);
  }

  /** Takes up what was asked, and writes the answers that are known: what comes next may end their connection. */
  flush(): void {
    this.#arrived.flush();
  }

  /** Answers on the spot. */
  answer(response: ServerResponse, answer: Answer): void {
    const work = this.#pending.of(response.req.socket);
    this.#pending.begin(work);
    writeAnswer(response, answer);
    this.#pending.written(work, response);
  }

  /** Answers 503 from now on; settles when all that was asked has been answered. */
  drain(): Promise<void> {
    this.#closing = true;
    return this.#pending.answered();
  }

  /** Settles when nothing that was answered is still on its way. */
  left(): Promise<void> {
    return this.#pending.read();
  }

  /** The same of streams too. */
  quiet(): Promise<void> {
    return this.#pending.idle();
  }

  handle(request: BodyRequest, response: ServerResponse, expects = false): void {
    if (this.#shut.size > 0 && this.#shut.has(request.socket)) return request.throwAway();
    const headers = headersOf(request);
    const url = request.url ?? "";
    const path = pathOf(url);
    const { guard, limits, cors } = this.#options;
    const origin = headers.get("origin");
    if (cors) response.setHeader("vary", "Origin");
    if (guard.cors(origin)) allowOrigin(response, origin);
    const wrong = refuseHead({ guard, headers: limits.headers }, headers, url);
    if (wrong !== undefined) return this.#shutOut(request, response, wrong);
    const route = this.#options.routes.find(path);
    if (route === undefined)
      return this.#refuse(request, response, refusal("PATH", `There is nothing at this path: MCP is at ${this.#options.path}.`));
    const told = answerVerb(request.method ?? "", route.verbs, guard, headers);
    if (told !== undefined) return this.#refuse(request, response, told);
    if (this.#closing && route.guarded) {
      return this.#refuse(
        request,
        response,
        refusal("UNAVAILABLE", "The server is closing: try again elsewhere or later.", { connection: "close" }),
      );
    }
    const arrival = { request, response, headers, path, query: url.slice(path.length + 1), route, expects };
    const { auth } = this.#options;
    if (auth === undefined || !route.guarded) return this.#admitted(arrival, ANYBODY);
    // While the token is looked at, the body may come already.
    request.hold(this.#options.limits.bodyBytes, this.#options.uploads);
    const verdict = verdictOn(auth, headers.get("authorization"), this.#options.resource, request.socket.remoteAddress);
    if (!(verdict instanceof Promise)) return this.#admitted(arrival, verdict);
    const work = this.#pending.of(request.socket);
    this.#pending.beginBackground(work);
    void verdict.then((found) => this.#admitted(arrival, found)).finally(() => this.#pending.endBackground(work));
  }

  #admitted(arrival: Arrival, verdict: Verdict): void {
    const { request, response, headers, route } = arrival;
    if (hasOwn(verdict, "refused")) {
      this.#options.log?.("notice", { event: "request-refused", door: "http", why: verdict.refused });
      return this.#refuse(request, response, refuseToken(verdict, this.#options.challenge));
    }
    const { method = "" } = request;
    const post = method === "POST";
    const media = (route.mcp ? refuseMedia(method, headers, route) : undefined) ?? (post ? refusePacked(headers) : undefined);
    if (media !== undefined) return this.#refuse(request, response, media);
    if (!post) {
      // Nobody reads what a GET brings along.
      request.throwAway();
      return this.#arrives(arrival, verdict, undefined);
    }
    const { bodyBytes } = this.#options.limits;
    const length = headers.get("content-length");
    if (length !== undefined && Number(length) > bodyBytes) {
      const answer = this.#refusalOf("too-large");
      if (arrival.expects) this.answer(response, { ...answer, headers: { connection: "close" } });
      else this.#refuseUpload(request, response, answer);
      return;
    }
    if (arrival.expects) response.writeContinue();
    request.readBody(bodyBytes, this.#options.uploads, (body) => {
      if (typeof body === "string") this.#refuseUpload(request, response, this.#refusalOf(body));
      else this.#arrives(arrival, verdict, body);
    });
  }

  #refusalOf(why: BodyRefusal): Answer {
    return refuseBody(why, this.#options.limits.bodyBytes);
  }

  #arrives(arrival: Arrival, verified: Verified, body: Whole["body"]): void {
    const work = this.#pending.of(arrival.request.socket);
    this.#pending.begin(work);
    this.#arrived.add({ arrival, verified, body, work });
  }

  #dispatch({ arrival, verified, body, work }: Whole): void {
    const { request, response, headers, path, query, route } = arrival;
    const peer = request.socket.remoteAddress;
    const caller: Caller = peer === undefined ? verified.caller : { ...verified.caller, peer };
    const { method } = request;
    const exchange = new HttpExchange({
      // HEAD is answered as GET; node:http leaves its body out.
      verb: method === "POST" || method === "DELETE" ? method : "GET",
      path,
      query,
      headers,
      body,
      caller,
      posture: route.posture,
      request,
      response,
      checked: this.#options.auth !== undefined && route.guarded,
      open: (opening, framing, given) => this.#openStream(opening, framing, given, verified.expiresAt),
    });
    let answer: Answer | Promise<Answer>;
    try {
      answer = route.answer(exchange);
    } catch (error) {
      return this.#failed(exchange, work, error);
    }
    if (answer instanceof Promise)
      answer.then(
        (late) => this.#answered.add({ exchange, work, answer: late }),
        (error: unknown) => this.#failed(exchange, work, error),
      );
    else this.#answered.add({ exchange, work, answer });
  }

  #finish({ exchange, work, answer }: Answered): void {
    try {
      this.#tell(exchange, answer, work);
    } catch (error) {
      return this.#failed(exchange, work, error);
    }
    // A stream that goes on is owed by itself.
    if (exchange.opened !== undefined && answer.open === true) this.#pending.streaming(exchange.request.socket, work);
    else this.#pending.written(work, exchange.response);
  }

  #tell(exchange: HttpExchange, answer: Answer, work: ConnectionWork): void {
    const { opened, request, response } = exchange;
    if (opened === undefined) {
      const told = exchange.refused ? withoutStream(answer) : answer;
      if (!response.destroyed) writeAnswer(response, this.#dressed(told, this.#closing && work.answers === 1 && work.background === 0));
      return;
    }
    const { body } = answer;
    if (body !== undefined) opened.send(textOf(body));
    const expired = exchange.expiry?.answered() === true;
    if (answer.open !== true || expired) opened.close();
    else request.forget();
  }

  /** The answer with what only the door knows. `closes`: the connection ends with it, and nothing behind it would be sent. */
  #dressed(answer: Answer, closes: boolean): Answer {
    const whole = withMetadata(answer, this.#options.challenge);
    return closes ? { ...whole, headers: { ...whole.headers, connection: "close" } } : whole;
  }

  #failed(exchange: HttpExchange, work: ConnectionWork, error: unknown): void {
    const { opened, response } = exchange;
    if (opened !== undefined) opened.close();
    else if (!response.headersSent && !response.destroyed)
      writeAnswer(response, { ...refusal("INTERNAL", "Something failed here."), status: 500 });
    // Nobody can tell the rest of an answer that was begun.
    else if (!response.writableEnded) response.destroy();
    this.#pending.written(work, response);
    // The name only: a message may quote what a caller sent. Last: a log that fails takes nobody's answer along.
    this.#options.log?.("error", { event: "exchange-failed", door: "http", name: error instanceof Error ? error.name : typeof error });
  }

  #openStream(
    exchange: HttpExchange,
    framing: Framing,
    given: Readonly<Record<string, string>> | undefined,
    expiresAt: number | undefined,
  ): Channel | undefined {
    const { streams, clock, log } = this.#options;
    const { caller, request, response } = exchange;
    if (response.destroyed || response.headersSent) return undefined;
    const lease = streams.admit(caller);
    if (lease === undefined) {
      log?.("warning", { event: "stream-refused", door: "http", reason: "streams" });
      return undefined;
    }
    const chunked = request.httpVersionMinor >= 1;
    const head = ["content-type", TYPE[framing], "cache-control", "no-cache, no-transform", "x-accel-buffering", "no"];
    if (chunked) head.push("transfer-encoding", "chunked");
    for (const name in given) head.push(name, given[name] ?? "");
    response.writeHead(200, head);
    response.flushHeaders();
    const stream = framing === "events" ? new EventStream(response, chunked, this.#door) : lineStream(response, chunked, this.#door);
    streams.add(stream, lease);
    this.#pending.beginBackground(this.#pending.of(request.socket));
    if (expiresAt !== undefined) {
      const expiry = new Expiry(stream);
      exchange.expiry = expiry;
      this.#expiries.set(
        stream,
        clock.after(expiresAt - clock.now(), () => expiry.expire()),
      );
    }
    return stream;
  }

  /** Somebody between may have taken such a head for another request than we do, and so what follows it. */
  #shutOut(request: BodyRequest, response: ServerResponse, answer: Answer): void {
    const { socket } = request;
    this.#shut.add(socket);
    socket.once("close", () => this.#shut.delete(socket));
    this.#refuse(request, response, { ...answer, headers: { ...answer.headers, connection: "close" } });
  }

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
    refuseUpload(request, response, answer, LINGER_MS, this.#options.clock);
  }
}
