// Owns: the steps from an event to a response, the same for all handlers. Does not own: how responses are returned (buffered.ts, streaming.ts).
import { type Clock, type Log, systemClock, TroupeError, untilAborted } from "../../core/contract/index.ts";
import { markResumeOnly } from "../../core/contract/internal.ts";
import { type HttpEvent, type LambdaContext, readEvent } from "./event.ts";
import type { LambdaOptions, LambdaServer, LambdaSource } from "./options.ts";
import { LambdaRefusal } from "./refusals.ts";
import { type RequestRules, requestOf } from "./request.ts";

const sources = new WeakMap<Request, LambdaSource>();

/** The event and caller data of a request from one of these handlers; undefined for any other request. */
export const sourceOf = (request: Request): LambdaSource | undefined => sources.get(request);

/** Which GET streams are opened: all, those that resume, or none. */
export type Streams = "all" | "resumed" | "none";

/** A response, and what is needed to return it. */
export interface ServedEvent {
  /** Undefined if the event could not be read. */
  readonly httpEvent: HttpEvent | undefined;
  readonly response: Response;
  /** Aborted when the function's time is nearly over, with a refusal as its reason, and when the client has disconnected. */
  readonly signal: AbortSignal;
  readonly leave: () => void;
  /** To be called once the response was returned. */
  readonly end: () => void;
}

/** Makes a response of each event. Throws `BAD_OPTION`. */
export class EventServer {
  readonly #fetch: (request: Request, httpEvent: HttpEvent) => Promise<Response> | Response;
  readonly #rules: RequestRules;
  readonly #marginMs: number;
  readonly #clock: Clock;
  readonly #log: Log | undefined;

  constructor(server: LambdaServer, { caller, hosts = [], basePath, marginMs = 500, clock = systemClock, log }: LambdaOptions) {
    this.#fetch = fetcher(server, caller);
    if (basePath !== undefined && !/^(?:\/[^/?#]+)+$/.test(basePath))
      throw new TroupeError("BAD_OPTION", `"${basePath}" cannot be a basePath: give a path such as /tools, without a slash at its end.`);
    this.#rules = { hosts, basePath };
    this.#marginMs = marginMs;
    this.#clock = clock;
    this.#log = log;
  }

  /** Never rejects. */
  async serve(event: unknown, context: LambdaContext | undefined, streams: Streams): Promise<ServedEvent> {
    const controller = new AbortController();
    const { signal } = controller;
    const undo = this.#deadline(context, controller);
    const leave = (): void => controller.abort();
    let httpEvent: HttpEvent | undefined;
    try {
      httpEvent = readEvent(event, context);
      const request = requestOf(httpEvent, this.#rules, streams === "none", signal);
      refuseStream(request, streams);
      // Whether something is left to resume, only the server knows.
      if (streams !== "all") markResumeOnly(request);
      sources.set(request, sourceFrom(httpEvent, event));
      const known = httpEvent;
      return { httpEvent, response: await untilAborted(signal, () => this.#respond(request, known)), signal, leave, end: undo };
    } catch (error) {
      // A refusal is short, so it needs no time limit.
      const { signal: never } = new AbortController();
      return { httpEvent, response: this.refusal(error, httpEvent).response(), signal: never, leave, end: undo };
    }
  }

  /** An error as an answer without internal details. */
  refusal(error: unknown, httpEvent: HttpEvent | undefined): LambdaRefusal {
    if (error instanceof LambdaRefusal) return error;
    this.#log?.("error", {
      event: "function-failed",
      name: error instanceof Error ? error.name : typeof error,
      ...(httpEvent?.requestId === undefined ? {} : { requestId: httpEvent.requestId }),
    });
    return new LambdaRefusal("FUNCTION_FAILED", "Something failed here: the function's log has its name.");
  }

  async #respond(request: Request, httpEvent: HttpEvent): Promise<Response> {
    const response = await this.#fetch(request, httpEvent);
    // The response is not used any more.
    if (request.signal.aborted) await response.body?.cancel();
    return response;
  }

  #deadline(context: LambdaContext | undefined, controller: AbortController): () => void {
    const left = context?.getRemainingTimeInMillis?.();
    if (left === undefined) return () => undefined;
    const expired = new LambdaRefusal(
      "FUNCTION_DEADLINE",
      "The function's time was over before the answer was there, and whether this was applied is not known: give the function more time, or do less in one call.",
    );
    const undo = this.#clock.after(Math.max(0, left - this.#marginMs), () => controller.abort(expired));
    // The clock's timers do not keep the process alive, so it could end without an answer.
    const alive = setInterval(() => undefined, 60_000);
    return () => {
      clearInterval(alive);
      undo();
    };
  }
}

function fetcher(
  server: LambdaServer,
  caller: LambdaOptions["caller"],
): (request: Request, httpEvent: HttpEvent) => Promise<Response> | Response {
  if (caller === undefined) {
    if (typeof server === "function") return server;
    // Checked now: a server that cannot be mounted should fail when the function starts, not at its first request.
    if (typeof server.fetch !== "function")
      throw new TroupeError("BAD_OPTION", "A handler needs a server with fetch: give one of createServer, or a function of a request.");
    return (request) => server.fetch(request);
  }
  const fetchAs = typeof server === "function" ? undefined : server.fetchAs;
  if (fetchAs === undefined)
    throw new TroupeError("BAD_OPTION", "The option caller needs a server that takes callers (fetchAs): give one of createServer.");
  return (request, { authorizer, sourceIp }) => {
    const known = authorizer === undefined ? undefined : caller(authorizer);
    if (known === undefined)
      throw new LambdaRefusal(
        "NOT_AUTHORIZED",
        "The gateway has not said who calls: give this route an authorizer, and the request what it asks for.",
      );
    return fetchAs(sourceIp === undefined ? known : { ...known, peer: sourceIp }, request);
  };
}

/** A stream that only listens costs the function's time, and would never end with a buffered answer. */
function refuseStream({ method, headers }: Request, streams: Streams): void {
  if (streams === "none" && headers.get("mcp-method") === "subscriptions/listen")
    throw new LambdaRefusal("NO_STREAMS", "There is nothing to listen on here, as answers come whole: read again for what is new.");
  if (method !== "GET" || streams === "all") return;
  // A GET within a session is a stream, whatever it accepts.
  if (!headers.has("mcp-session-id") && headers.get("accept")?.toLowerCase().includes("text/event-stream") !== true) return;
  if (streams === "none" || !headers.has("last-event-id"))
    throw new LambdaRefusal("NO_STREAMS", "There is no stream to listen on here: answers come with the requests they belong to.");
}

function sourceFrom({ kind, sourceIp, requestId, authorizer }: HttpEvent, event: unknown): LambdaSource {
  return {
    kind,
    ...(sourceIp === undefined ? {} : { sourceIp }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(authorizer === undefined ? {} : { authorizer }),
    event,
  };
}

/** Headers that concern the connection, or that the platform sets itself. */
const DROPPED = new Set(["connection", "content-length", "keep-alive", "set-cookie", "transfer-encoding"]);

interface ResponseHead {
  /** One value per name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
}

export function headOf({ headers }: Response): ResponseHead {
  const entries = Array.from(headers).filter(([name]) => !DROPPED.has(name));
  return { headers: Object.fromEntries(entries), cookies: headers.getSetCookie() };
}
