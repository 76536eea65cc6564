// Owns: what every HTTP request passes, and in which order: head, path, verb, token, media types, size; then its exchange with the
// gateway. The order limits what unauthenticated clients can learn and cost.
// Does not own: bytes and sockets. node-http-handler.ts, web/web-handler.ts and websocket.ts receive requests and write answers.
import {
  type Answer,
  type CancelSignal,
  type Caller,
  type Channel,
  type Clock,
  type MountRequest,
  type Exchange,
  type Log,
} from "../../core/contract/index.ts";
import { hasOwn } from "../../core/contract/internal.ts";
import { refusal } from "../gateway/index.ts";
import {
  type Authenticator,
  type ChallengeContext,
  challengeContext,
  type Refused,
  refuseToken,
  type Verdict,
  verdictOn,
  type Verified,
  withMetadata,
} from "./auth/index.ts";
import { textOf, type BodyRefusal, refuseBody } from "./http-bytes.ts";
import { answerVerb, type HeaderList, originHeaders, refuseHead, refuseMedia, refusePacked, type HttpGuard } from "./http-checks.ts";
import type { HttpLimits } from "./http-options.ts";
import type { Route, Routes } from "./http-routes.ts";
import { Expiry, type OpenStream, type OpenStreams, type StreamLease } from "./open-streams.ts";

/** A request before its body was read. */
export interface RequestHead {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: HeaderList;
  readonly peer: string | undefined;
  /** A framework has decoded the body already; its `Content-Encoding` header is still there. */
  readonly unpacked?: boolean;
  /** Its host opens no standalone streams. */
  readonly resumesOnly?: boolean;
}

/** A request that is answered before its token is checked. */
export interface Rejection {
  readonly refused: Answer;
  /** `head`: the head is ambiguous, so what follows on its connection is not trusted. */
  readonly why: "head" | "route" | "closing";
}

export interface HttpCoreOptions {
  /** In log lines. */
  readonly transport: "http" | "web" | "websocket";
  readonly routes: Routes;
  /** The path of the MCP endpoint. */
  readonly path: string;
  readonly guard: HttpGuard;
  readonly streams: OpenStreams;
  readonly auth: Authenticator | undefined;
  /** The audience of tokens; empty if it is not configured. */
  readonly resource: string;
  readonly closing: () => boolean;
  readonly limits: Pick<HttpLimits, "headers" | "bodyBytes">;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

const ANONYMOUS: Verified = { caller: { scopes: Object.freeze([]) } };
export const CLOSING = refusal("UNAVAILABLE", "The server is closing: try again elsewhere or later.");
const INTERNAL: Answer = { ...refusal("INTERNAL", "Something failed here."), status: 500 };
const VARY = { vary: "Origin" };

/** The steps of a request, in the order in which the adapters take them. */
export class HttpCore {
  readonly #options: HttpCoreOptions;
  readonly #challenge: ChallengeContext;
  /** Cancels the expiry timers of streams whose tokens expire. */
  readonly #expiries = new Map<OpenStream, () => void>();

  constructor(options: HttpCoreOptions) {
    this.#options = options;
    this.#challenge = challengeContext(options.auth, options.resource);
  }

  /** CORS headers of every answer to this request. */
  originHeaders({ headers }: RequestHead): Readonly<Record<string, string>> | undefined {
    const { guard } = this.#options;
    const origin = headers.get("origin");
    if (guard.cors(origin)) return { ...VARY, ...originHeaders(origin) };
    return guard.hasCors ? VARY : undefined;
  }

  /** The answer to a head that is malformed, ambiguous, or not meant for this server. */
  refuseHead({ headers, url }: Pick<RequestHead, "headers" | "url">): Answer | undefined {
    const { guard, limits } = this.#options;
    return refuseHead(headers, url, guard, limits.headers);
  }

  /** Step 1, from the head alone: is the request meant for this server, and for which route? */
  route(head: RequestHead): Route | Rejection {
    const { guard, routes, path, closing } = this.#options;
    const malformed = this.refuseHead(head);
    if (malformed !== undefined) return { refused: malformed, why: "head" };
    const route = routes.find(head.path);
    if (route === undefined) return { refused: refusal("PATH", `There is nothing at this path: MCP is at ${path}.`), why: "route" };
    const answered = answerVerb(head.method, route.verbs, guard, head.headers);
    if (answered !== undefined) return { refused: answered, why: "route" };
    return closing() && route.guarded ? { refused: CLOSING, why: "closing" } : route;
  }

  /** Step 2: who is calling? A promise while a signature is verified. */
  authenticate({ headers, peer }: Pick<RequestHead, "headers" | "peer">, { guarded }: Pick<Route, "guarded">): Verdict | Promise<Verdict> {
    const { auth, resource } = this.#options;
    if (auth === undefined || !guarded) return ANONYMOUS;
    return verdictOn(auth, headers.get("authorization"), resource, peer);
  }

  /** A token is checked on this route. */
  checksToken({ guarded }: Pick<Route, "guarded">): boolean {
    return guarded && this.#options.auth !== undefined;
  }

  /** The answer to a request whose token is missing or was refused. */
  refuseToken(verdict: Refused): Answer {
    const { log, transport } = this.#options;
    log?.("notice", { event: "request-refused", transport, why: verdict.refused });
    return refuseToken(verdict, this.#challenge);
  }

  /** Step 3: a valid token, and media types that can be served. Returns the answer if not. */
  admit({ method, headers, unpacked }: RequestHead, route: Route, verdict: Verdict): Verified | Answer {
    if (hasOwn(verdict, "refused")) return this.refuseToken(verdict);
    const unsupported = route.mcp ? refuseMedia(method, headers, route) : undefined;
    if (unsupported !== undefined) return unsupported;
    return (method === "POST" && unpacked !== true ? refusePacked(headers) : undefined) ?? verdict;
  }

  /** Step 4, before the body is read: its declared length. */
  refuseLength({ headers }: RequestHead): Answer | undefined {
    const length = headers.get("content-length");
    return length !== undefined && Number(length) > this.#options.limits.bodyBytes ? this.refuseBody("too-large") : undefined;
  }

  refuseBody(why: BodyRefusal): Answer {
    return refuseBody(why, this.#options.limits.bodyBytes);
  }

  /** A lease for one more stream; undefined if there are too many. */
  leaseStream(caller: Caller): StreamLease | undefined {
    const { streams, log, transport } = this.#options;
    const lease = streams.admit(caller);
    if (lease === undefined) log?.("warning", { event: "stream-refused", transport, reason: "streams" });
    return lease;
  }

  /** Starts the keep-alive of the stream, which ends when its token expires. */
  streamOpened(exchange: HttpExchange, stream: OpenStream, lease: StreamLease): void {
    const { streams, clock } = this.#options;
    streams.add(stream, lease);
    const { expiresAt } = exchange;
    if (expiresAt === undefined) return;
    const expiry = new Expiry(stream);
    exchange.expiry = expiry;
    this.#expiries.set(
      stream,
      clock.after(expiresAt - clock.now(), () => expiry.expire()),
    );
  }

  streamClosed(stream: OpenStream): void {
    this.#options.streams.remove(stream);
    this.#expiries.get(stream)?.();
    this.#expiries.delete(stream);
  }

  /** Last step with a stream: the answer's body is its last message. True: the stream stays open. */
  finishStream({ expiry }: HttpExchange, stream: Channel, { body, open }: Answer): boolean {
    if (body !== undefined) stream.send(textOf(body));
    const expired = expiry?.answered() === true;
    if (open === true && !expired) return true;
    stream.close();
    return false;
  }

  /** Last step without a stream: adds the metadata address to the answer. */
  finalAnswer(exchange: HttpExchange, answer: Answer): Answer {
    return withMetadata(exchange.streamRefused ? withoutStream(answer) : answer, this.#challenge);
  }

  /** The answer to a request whose handler threw. */
  get failure(): Answer {
    return INTERNAL;
  }

  /** Logs the error's name only, since its message may quote what a caller sent. */
  reportFailure(error: unknown): void {
    const { log, transport } = this.#options;
    log?.("error", { event: "exchange-failed", transport, name: error instanceof Error ? error.name : typeof error });
  }
}

/** The framing of messages in a response that is a stream of them. */
export type Framing = "events" | "lines";

const NO_BUFFERING = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" };

/** The headers of a stream, besides those that its handler gives it. */
export const STREAM_HEADERS: Readonly<Record<Framing, Readonly<Record<string, string>>>> = {
  events: { "content-type": "text/event-stream", ...NO_BUFFERING },
  lines: { "content-type": "application/x-ndjson", ...NO_BUFFERING },
};

export interface ExchangeParts {
  readonly head: RequestHead;
  /** The path as its client wrote it; undefined if a router may have stripped a prefix. */
  readonly clientPath: string | undefined;
  readonly body: Uint8Array | undefined;
  readonly verified: Verified;
  readonly posture: "meta" | undefined;
  /** A token was checked; handlers do not see it. */
  readonly tokenChecked: boolean;
}

/** One request, as its handler sees it. Adapters define how a stream is opened, and when the client has disconnected. */
export abstract class HttpExchange implements MountRequest {
  readonly verb: Exchange["verb"];
  readonly body?: Uint8Array;
  readonly caller: Caller;
  readonly posture?: "meta";
  readonly clientPath: string | undefined;
  /** When the token expires, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  /** Set for a stream whose token expires. */
  expiry: Expiry | undefined;
  readonly #head: RequestHead;
  readonly #tokenChecked: boolean;
  #stream: Channel | undefined;
  #streamRequested = false;

  constructor({ head, clientPath, body, verified, posture, tokenChecked }: ExchangeParts) {
    const { method, peer } = head;
    // HEAD is handled as GET; the adapter omits the body.
    this.verb = method === "POST" || method === "DELETE" ? method : "GET";
    this.caller = peer === undefined ? verified.caller : { ...verified.caller, peer };
    this.expiresAt = verified.expiresAt;
    this.clientPath = clientPath;
    this.#head = head;
    this.#tokenChecked = tokenChecked;
    if (body !== undefined) this.body = body;
    if (posture !== undefined) this.posture = posture;
  }

  /** Aborted if the client closes the connection before it has its answer. */
  abstract get disconnected(): CancelSignal;

  /** Answers with a stream; undefined: this request cannot have one. */
  protected abstract openStream(framing: Framing, headers: Readonly<Record<string, string>> | undefined): Channel | undefined;

  get path(): string {
    return this.#head.path;
  }

  get resumesOnly(): boolean {
    return this.#head.resumesOnly === true;
  }

  get query(): string {
    const { url, path } = this.#head;
    return url.slice(path.length + 1);
  }

  header(name: string): string | undefined {
    return this.#tokenChecked && name === "authorization" ? undefined : this.#head.headers.get(name);
  }

  get headerNames(): readonly string[] {
    return this.#head.headers.names;
  }

  stream(headers?: Readonly<Record<string, string>>): Channel {
    return this.#open("events", headers);
  }

  lines(): Channel {
    return this.#open("lines");
  }

  /** The stream that was opened. */
  get opened(): Channel | undefined {
    return this.#stream;
  }

  /** A stream was requested and refused. */
  get streamRefused(): boolean {
    return this.#streamRequested && this.#stream === undefined;
  }

  #open(framing: Framing, headers?: Readonly<Record<string, string>>): Channel {
    if (!this.#streamRequested) this.#stream = this.openStream(framing, headers);
    this.#streamRequested = true;
    return this.#stream ?? NO_STREAM;
  }
}

/** Represents a stream that was refused. */
const NO_STREAM: Channel = { send() {}, ready: false, onReady: () => () => {}, disconnected: AbortSignal.abort(), close() {} };

export const TOO_MANY_STREAMS = refusal("BUSY", "Too many streams are open: close one.", { "retry-after": "5" });

/** The answer for a caller whose stream was refused; an error if the stream was the whole answer. */
const withoutStream = (answer: Answer): Answer => (answer.status === 200 && answer.body === undefined ? TOO_MANY_STREAMS : answer);
