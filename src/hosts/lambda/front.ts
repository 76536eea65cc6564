import { type Clock, type Log, systemClock, TroupeError, untilAborted } from "../../core/contract/index.ts";
import type { Arrived, LambdaContext } from "./arrived.ts";
import { readEvent } from "./event.ts";
import type { LambdaOptions, LambdaServer, LambdaSource } from "./options.ts";
import { LambdaRefusal } from "./refusal.ts";
import { type RequestRules, requestOf } from "./request.ts";

const sources = new WeakMap<Request, LambdaSource>();

/** What came with a request of these handlers beside it; undefined for any other. */
export const sourceOf = (request: Request): LambdaSource | undefined => sources.get(request);

/** Which GET streams are opened: all, those that resume, or none. */
export type Streams = "all" | "resumed" | "none";

/** A response, and what it takes to hand it over. */
export interface Served {
  /** Undefined where the event could not be read. */
  readonly arrived: Arrived | undefined;
  readonly response: Response;
  /** Aborted when the function's time is nearly over, with that refusal as its reason, and when the client has left. */
  readonly signal: AbortSignal;
  readonly leave: () => void;
  /** The response was handed over. */
  readonly end: () => void;
}

/** The way of an event to its response, the same for all handlers. Throws `DOOR_OPTION`. */
export class Front {
  readonly #fetch: (request: Request, arrived: Arrived) => Promise<Response> | Response;
  readonly #rules: RequestRules;
  readonly #marginMs: number;
  readonly #clock: Clock;
  readonly #log: Log | undefined;

  constructor(server: LambdaServer, { caller, hosts = [], basePath, marginMs = 500, clock = systemClock, log }: LambdaOptions) {
    this.#fetch = fetcher(server, caller);
    if (basePath !== undefined && !/^(?:\/[^/?#]+)+$/.test(basePath))
      throw new TroupeError("DOOR_OPTION", `"${basePath}" cannot be a basePath: give a path such as /tools, without a slash at its end.`);
    this.#rules = { hosts, basePath };
    this.#marginMs = marginMs;
    this.#clock = clock;
    this.#log = log;
  }

  /** Never rejects. */
  async serve(event: unknown, context: LambdaContext | undefined, streams: Streams): Promise<Served> {
    const controller = new AbortController();
    const { signal } = controller;
    const undo = this.#deadline(context, controller);
    const leave = (): void => controller.abort();
    let arrived: Arrived | undefined;
    try {
      arrived = readEvent(event, context);
      const request = requestOf(arrived, this.#rules, signal);
      refuseStream(request, streams);
      sources.set(request, sourceFrom(arrived, event));
      const asked = arrived;
      return { arrived, response: await untilAborted(signal, () => this.#ask(request, asked)), signal, leave, end: undo };
    } catch (error) {
      // A refusal is short, and told however late it is.
      const { signal: never } = new AbortController();
      return { arrived, response: this.refusal(error, arrived).response(), signal: never, leave, end: undo };
    }
  }

  /** What was thrown, as an answer that tells nothing of what is inside. */
  refusal(error: unknown, arrived: Arrived | undefined): LambdaRefusal {
    if (error instanceof LambdaRefusal) return error;
    this.#log?.("error", {
      event: "function-failed",
      name: error instanceof Error ? error.name : typeof error,
      ...(arrived?.requestId === undefined ? {} : { requestId: arrived.requestId }),
    });
    return new LambdaRefusal("FUNCTION_FAILED", "Something failed here: the function's log has its name.");
  }

  async #ask(request: Request, arrived: Arrived): Promise<Response> {
    const response = await this.#fetch(request, arrived);
    // Nobody waits for it any more.
    if (request.signal.aborted) await response.body?.cancel();
    return response;
  }

  #deadline(context: LambdaContext | undefined, controller: AbortController): () => void {
    const left = context?.getRemainingTimeInMillis?.();
    if (left === undefined) return () => undefined;
    const late = new LambdaRefusal(
      "FUNCTION_DEADLINE",
      "The function's time was over before the answer was there, and whether this was applied is not known: give the function more time, or do less in one call.",
    );
    const undo = this.#clock.after(Math.max(0, left - this.#marginMs), () => controller.abort(late));
    // The clock keeps no process alive: one whose handler waits for nothing would end without an answer.
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
): (request: Request, arrived: Arrived) => Promise<Response> | Response {
  if (caller === undefined) {
    if (typeof server === "function") return server;
    // Taken now: a server that cannot be mounted says so when the function starts, not to its first caller.
    if (typeof server.fetch !== "function")
      throw new TroupeError("DOOR_OPTION", "A handler needs a server with fetch: give one of createServer, or a function of a request.");
    return (request) => server.fetch(request);
  }
  const fetchAs = typeof server === "function" ? undefined : server.fetchAs;
  if (fetchAs === undefined)
    throw new TroupeError("DOOR_OPTION", "The option caller needs a server that takes callers (fetchAs): give one of createServer.");
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

/** A stream that only listens costs the function's time, and never ends where answers are whole. */
function refuseStream({ method, headers }: Request, streams: Streams): void {
  if (method !== "GET" || streams === "all") return;
  // A GET within a session listens whatever it accepts, also where it does not say.
  if (!headers.has("mcp-session-id") && headers.get("accept")?.toLowerCase().includes("text/event-stream") !== true) return;
  if (streams === "none" || !headers.has("last-event-id"))
    throw new LambdaRefusal("NO_STREAMS", "There is no stream to listen on here: answers come with the requests they belong to.");
}

function sourceFrom({ kind, sourceIp, requestId, authorizer }: Arrived, event: unknown): LambdaSource {
  return {
    kind,
    ...(sourceIp === undefined ? {} : { sourceIp }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(authorizer === undefined ? {} : { authorizer }),
    event,
  };
}
