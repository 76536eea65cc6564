import type { Answer, Caller, Channel, Clock, Log } from "../../../core/contract/index.ts";
import { refusal } from "../../gateway/index.ts";
import {
  type Authenticator,
  type ChallengeContext,
  challengeContext,
  refuseToken,
  type Verdict,
  type Verified,
  verdictOn,
  withMetadata,
} from "../auth/index.ts";
import { refuseBody } from "../http-body.ts";
import { Expiry, type OpenStreams } from "../open-streams.ts";
import { originHeaders, type HttpGuard, pathOf, refuseHead, refuseMedia, refusePacked, answerVerb } from "../http-checks.ts";
import type { UploadBudget } from "../budgets.ts";
import type { Arrival, Body } from "./requests.ts";
import { textOf, responseOf } from "../http-answer.ts";
import { WebExchange } from "./web-exchange.ts";
import type { WebLimits } from "../http-options.ts";
import type { WebEndpoint, WebRoute } from "./web-routes.ts";
import { withoutStream } from "../no-stream.ts";
import { WebStream } from "./web-stream.ts";
import { hasOwn } from "../../../core/contract/internal.ts";

const CUT = refusal("UNAVAILABLE", "The server has closed before this was done: look whether it was, and try again elsewhere or later.");
const PAGE_VERBS = ["GET", "HEAD"];
const EVENTS = { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" };

export interface FetchHandlerOptions {
  readonly route: (path: string) => WebRoute | undefined;
  readonly path: string;
  readonly guard: HttpGuard;
  readonly streams: OpenStreams;
  readonly uploads: UploadBudget;
  readonly auth: Authenticator | undefined;
  readonly cors: boolean;
  readonly closing: () => boolean;
  readonly limits: WebLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

/** What is known of a request once its head was looked at. */
interface Admitted {
  readonly arrival: Arrival;
  readonly route: WebEndpoint;
  readonly challenge: ChallengeContext;
  /** Of every answer. */
  readonly also: Readonly<Record<string, string>>;
}

/** The same checks in the same order as the door on node:http, for requests that some application took in. */
export class FetchHandler {
  readonly #options: FetchHandlerOptions;
  /** What runs, each by how it is cut off. */
  readonly #running = new Set<() => void>();
  #onIdle: (() => void) | undefined;

  constructor(options: FetchHandlerOptions) {
    this.#options = options;
  }

  /** Settles when nothing runs. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((done) => {
      this.#onIdle = done;
    });
  }

  /** Ends what still runs: who waits for it is told, and so is whoever runs it. */
  cut(): void {
    for (const one of this.#running) one();
  }

  /** `known`: who calls, where the application has found that out. Never rejects: whoever mounts this waits for no error. */
  async handle(arrival: Arrival, known?: Caller): Promise<Response> {
    try {
      return await this.#handle(arrival, known);
    } catch (error) {
      return this.#failed(error, {});
    }
  }

  #failed(error: unknown, also: Readonly<Record<string, string>>): Response {
    this.#options.log?.("error", { event: "exchange-failed", door: "web", name: error instanceof Error ? error.name : typeof error });
    return responseOf({ ...refusal("INTERNAL", "Something failed here."), status: 500 }, also, false);
  }

  async #handle(arrival: Arrival, known: Caller | undefined): Promise<Response> {
    const { guard, limits, auth, cors } = this.#options;
    const { headers, method } = arrival;
    const origin = headers.get("origin");
    const also = { ...(cors ? { vary: "Origin" } : {}), ...(guard.cors(origin) ? originHeaders(origin) : {}) };
    const refuse = (answer: Answer): Response => responseOf(answer, also, method === "HEAD");
    const wrong = refuseHead({ guard, headers: limits.headers }, headers, arrival.url);
    if (wrong !== undefined) return refuse(wrong);
    const resource = auth?.resource ?? "";
    const route = this.#options.route(pathOf(arrival.url));
    if (route === undefined) return refuse(refusal("PATH", `There is nothing at this path: MCP is at ${this.#options.path}.`));
    const told = answerVerb(method, "page" in route ? PAGE_VERBS : route.verbs, guard, headers);
    if (told !== undefined) return refuse(told);
    if ("page" in route) return refuse(route.page());
    if (this.#options.closing()) return refuse(refusal("UNAVAILABLE", "The server is closing: try again elsewhere or later."));
    const challenge = challengeContext(auth, resource);
    const verdict = await this.#verdict(arrival, resource, known);
    if (hasOwn(verdict, "refused")) {
      this.#options.log?.("notice", { event: "request-refused", door: "web", why: verdict.refused });
      return refuse(refuseToken(verdict, challenge));
    }
    const post = method === "POST";
    const media = refuseMedia(method, headers, route) ?? (post && arrival.unpacked !== true ? refusePacked(headers) : undefined);
    if (media !== undefined) return refuse(media);
    const body = post ? await this.#read(arrival) : undefined;
    if (body !== undefined && "status" in body) return refuse(body);
    return this.#dispatch({ arrival, route, challenge, also }, verdict, body);
  }

  #verdict({ headers, peer }: Arrival, resource: string, known: Caller | undefined): Verdict | Promise<Verdict> {
    if (known !== undefined) return { caller: known };
    const { auth } = this.#options;
    return auth === undefined ? { caller: { scopes: [] } } : verdictOn(auth, headers.get("authorization"), resource, peer);
  }

  async #read(arrival: Arrival): Promise<Uint8Array | Answer> {
    const { bodyBytes, requestMs } = this.#options.limits;
    const length = arrival.headers.get("content-length");
    if (length !== undefined && Number(length) > bodyBytes) return refuseBody("too-large", bodyBytes);
    const late = new AbortController();
    const undo = this.#options.clock.after(requestMs, () => late.abort());
    const body: Body = await arrival.read(bodyBytes, this.#options.uploads, late.signal);
    undo();
    if (late.signal.aborted) return refusal("LATE", "The request did not arrive in time.");
    if (body === "too-deep") return refusal("INVALID_REQUEST", "The body is nested too deep: send less at once.");
    if (body === "unreadable")
      return refusal("INVALID_REQUEST", "The body cannot be read: hand the request on as it came, or its body as it was parsed.");
    return typeof body === "string" ? refuseBody(body, bodyBytes) : body;
  }

  #dispatch(admitted: Admitted, verified: Verified, body: Uint8Array | undefined): Promise<Response> {
    const { arrival, route, challenge, also } = admitted;
    const { promise, resolve } = Promise.withResolvers<Response>();
    let responded = false;
    const respond = (response: Response): void => {
      responded = true;
      resolve(response);
    };
    const caller: Caller = arrival.peer === undefined ? verified.caller : { ...verified.caller, peer: arrival.peer };
    const exchange = new WebExchange({
      arrival,
      caller,
      body,
      posture: route.posture,
      checked: this.#options.auth !== undefined,
      open: (opening, headers) => (responded ? undefined : this.#open(opening, verified, respond, { ...headers, ...also })),
    });
    const cut = (): void => {
      if (exchange.opened === undefined) respond(responseOf(CUT, also, false));
      // Lost, it would stay open where the application holds the body.
      exchange.opened?.close();
      exchange.gone.abort();
    };
    this.#running.add(cut);
    // A handler's first steps are no part of `handle`: it must not throw where it is called.
    const run = async (): Promise<void> => {
      try {
        const answer = await route.answer(exchange);
        const { opened } = exchange;
        if (opened === undefined)
          return respond(responseOf(withMetadata(exchange.refused ? withoutStream(answer) : answer, challenge), also, false));
        if (answer.body !== undefined) opened.send(textOf(answer.body));
        const expired = exchange.expiry?.answered() === true;
        if (answer.open !== true || expired) opened.close();
      } catch (error) {
        exchange.opened?.close();
        respond(this.#failed(error, also));
      } finally {
        this.#running.delete(cut);
        if (this.#running.size === 0) this.#onIdle?.();
      }
    };
    void run();
    return promise;
  }

  #open(
    exchange: WebExchange,
    { expiresAt }: Verified,
    answer: (response: Response) => void,
    also: Readonly<Record<string, string>>,
  ): Channel | undefined {
    const { streams, limits, clock, log } = this.#options;
    const { caller } = exchange;
    const lease = streams.admit(caller);
    if (lease === undefined) {
      log?.("warning", { event: "stream-refused", door: "web", reason: "streams" });
      return undefined;
    }
    let undoExpiry: (() => void) | undefined;
    const stream = new WebStream({
      limits,
      clock,
      onDrop: (reason) => log?.("warning", { event: "client-dropped", door: "web", reason }),
      onEnd: () => {
        streams.remove(stream);
        undoExpiry?.();
      },
    });
    streams.add(stream, lease);
    if (expiresAt !== undefined) {
      const expiry = new Expiry(stream);
      exchange.expiry = expiry;
      undoExpiry = clock.after(expiresAt - clock.now(), () => expiry.expire());
    }
    const lost = (): void => stream.lose();
    if (exchange.gone.aborted) lost();
    else exchange.gone.addEventListener("abort", lost);
    stream.gone.addEventListener("abort", () => exchange.gone.abort(), { once: true });
    answer(new Response(stream.body, { status: 200, headers: { ...EVENTS, ...also } }));
    return stream;
  }
}
