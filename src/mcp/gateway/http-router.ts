// Owns: HTTP requests to an MCP endpoint: their headers, which era they are of, and the answers of 2026-07-28. Does not own: those of
// sessions (legacy/session-http.ts), and how a request is performed (modern/modern-request.ts).
import type { Answer, JsonObject, Channel, Exchange, Source } from "../../core/contract/index.ts";
import { admitsReply, andThenElse, isLarge, memoizeByString, readAccept } from "../../core/contract/internal.ts";
import type { Core } from "./core.ts";
import type { Dialect } from "./dialects.ts";
import { claimedRevision, isModernParams, unknownRevision } from "./envelope.ts";
import { exchangeFault, Fault, faultAnswer, requestFault } from "./errors.ts";
import {
  type Batch,
  decode,
  getsReply,
  type Incoming,
  type Notification,
  notificationText,
  type Request,
  type RequestId,
} from "./json-rpc.ts";
import type { SessionHttp } from "./legacy/session-http.ts";
import { checkMethodHeader, joined } from "./modern/headers.ts";
import { listen } from "./modern/listen.ts";
import { type ModernReply, ModernRequest, openRequest } from "./modern/modern-request.ts";
import type { OutOfBandChannel, SilentCall } from "./active-requests.ts";
import { pieces } from "./result-shapes.ts";
import { type Era, isLegacyRevision, isModernRevision, LATEST_MODERN } from "./revision.ts";

// Of what is refused, only short bodies are decoded a second time.
const SHORT = 65_536;

export class HttpRouter {
  readonly #core: Core;
  readonly #legacy: SessionHttp;
  readonly #sourceFor: (posture: "meta" | undefined) => Source;

  constructor(core: Core, legacy: SessionHttp, sourceFor: (posture: "meta" | undefined) => Source) {
    this.#core = core;
    this.#legacy = legacy;
    this.#sourceFor = sourceFor;
  }

  /** Never throws. */
  exchange(request: Exchange): Answer | Promise<Answer> {
    try {
      return andThenElse(this.#route(request), answered, this.#failed, request);
    } catch (error) {
      return this.#failed(error, request);
    }
  }

  readonly #failed = (error: unknown, request: Exchange): Answer =>
    this.#fault(exchangeFault(this.#core, error), "legacy", this.#idOf(request));

  #fault(fault: Fault, era: Era, id: RequestId | null): Answer {
    return faultAnswer(fault, era, id, this.#core.settings.dialect.faults);
  }

  // Decoded a second time: failures here are rare, and requests that succeed do not pay for them.
  #idOf({ verb, body }: Exchange): RequestId | null {
    const incoming = verb === "POST" && body !== undefined && body.length <= SHORT ? decode(body, this.#core.settings.limits) : undefined;
    return incoming?.kind === "request" ? incoming.id : null;
  }

  #route(request: Exchange): Answer | Promise<Answer> {
    this.#core.admit();
    const version = request.header("mcp-protocol-version")?.trim();
    const modernVersion = version !== undefined && isModernRevision(version);
    const { dialect, limits } = this.#core.settings;
    if (request.verb !== "POST") return this.#standalone(request, modernVersion);
    checkHeaders(request, dialect);
    const incoming = decode(request.body ?? "", limits);
    if (incoming.kind === "malformed" && modernVersion) return this.#fault(unenveloped(incoming.fault), "modern", incoming.id);
    if (incoming.kind === "malformed" && dialect.sessionOn !== "all") return this.#fault(incoming.fault, "legacy", incoming.id);
    const refused = dialect.versionsFirst ? unknownRevision(dialect, request, incoming) : undefined;
    if (refused !== undefined) return refused;
    const { body = "" } = request;
    if (isLarge(body) && getsReply(incoming)) return this.#large(request, body, incoming, version);
    return this.#posted(request, incoming, version);
  }

  // Counts against the memory budget while it is worked on. A method of its own, so that short requests do not pay for the closure.
  #large(request: Exchange, body: Uint8Array | string, incoming: Incoming | Batch, version: string | undefined): Answer | Promise<Answer> {
    return this.#core.memory.during(body, request.caller, () => this.#posted(request, incoming, version));
  }

  #posted(request: Exchange, incoming: Incoming | Batch, version: string | undefined): Answer | Promise<Answer> {
    if (!isModern(this.#core.settings.dialect, request, incoming, version)) return this.#legacy.post(request, incoming, version);
    return this.#modern(request, incoming);
  }

  #standalone(request: Exchange, modernVersion: boolean): Promise<Answer> | Answer {
    // Without a session there is nothing to listen to or to end: 2026-07-28 has POST only.
    if (modernVersion || request.header("mcp-session-id") === undefined)
      return this.#fault(
        new Fault("VERB", "This endpoint answers POST; GET and DELETE are for a session, named by Mcp-Session-Id.", {
          headers: { allow: "POST" },
          ...(modernVersion ? undefined : { reason: "sessionless" }),
        }),
        modernVersion ? "modern" : "legacy",
        null,
      );
    return request.verb === "GET" ? this.#legacy.get(request) : this.#legacy.delete(request);
  }

  #modern(request: Exchange, incoming: Incoming | Batch): Answer | Promise<Answer> {
    if (incoming.kind === "request") return modernExchange(this.#core, this.#sourceFor(request.posture), request, incoming);
    if (incoming.kind === "notification") return modernNotification(this.#core, request, incoming);
    const reason = incoming.kind === "batch" ? "batch-sessionless" : "client-response";
    return this.#fault(
      new Fault("INVALID_REQUEST", "A POST carries one request or notification; clients send no batches and no responses.", { reason }),
      "modern",
      this.#core.settings.dialect.echoesResponses && incoming.kind === "response" ? incoming.id : null,
    );
  }
}

/** In 2026-07-28, params that are not an object lack their `_meta`. */
function unenveloped(fault: Fault): Fault {
  return fault.kind === "PARAMS" ? new Fault("ENVELOPE", fault.message, { reason: "params-shape" }) : fault;
}

const answered = (answer: Answer): Answer => answer;

function isModern(dialect: Dialect, request: Exchange, incoming: Incoming | Batch, version: string | undefined): boolean {
  if (version !== undefined && isModernRevision(version)) return true;
  if (incoming.kind === "batch" || incoming.kind === "response" || incoming.kind === "malformed") return false;
  const legacyVersion = version !== undefined && isLegacyRevision(version);
  if (incoming.method === "server/discover") return !dialect.discoversInSessions || isModernParams(incoming.params);
  if (isModernParams(incoming.params))
    return !(dialect.versionsFirst && version === undefined && claimedRevision(version, incoming.params) !== LATEST_MODERN);
  return version !== undefined && !legacyVersion && incoming.method !== "initialize" && request.header("mcp-session-id") === undefined;
}

const isJson = memoizeByString((type) => /^\s*application\/json\s*(?:;|$)/i.test(type));

function checkHeaders(request: Exchange, { acceptsEither }: Dialect): void {
  const type = request.header("content-type");
  if (type !== undefined && !isJson(type)) throw new Fault("MEDIA_TYPE", "The body is application/json.");
  const accept = request.header("accept");
  if (accept !== undefined && !admitsReply(readAccept(accept), acceptsEither))
    throw new Fault("NOT_ACCEPTABLE", "The client must accept application/json and text/event-stream.");
}

/** The request of one POST. It is cancelled when its client closes the connection. */
function modernExchange(core: Core, source: Source, exchange: Exchange, request: Request): Answer | Promise<Answer> {
  const header = headersOf(core, exchange);
  const channel = new ModernPostChannel(exchange);
  try {
    if (request.method === "subscriptions/listen")
      return andThenElse(subscribe(core, source, exchange, request), answered, modernFailed, core, channel, request);
    const { caller, disconnected } = exchange;
    const one = new ModernRequest(core, request, { caller, source, channel, header, disconnected });
    const reply = core.work.during(() => one.perform());
    if (reply instanceof Promise) core.silentCalls.add(channel);
    return andThenElse(reply, modernAnswer, modernFailed, core, channel, request);
  } catch (error) {
    return modernFailed(error, core, channel, request);
  }
}

const DISCONNECTED: Answer = Object.freeze({ status: 499 });

/** Undefined instead of a reply: the client has disconnected. */
function modernAnswer(reply: ModernReply, core: Core, channel: ModernPostChannel): Answer {
  core.silentCalls.delete(channel);
  return reply === undefined ? DISCONNECTED : { status: 200, body: pieces(reply) };
}

function modernFailed(error: unknown, core: Core, channel: ModernPostChannel, request: Request): Answer {
  core.silentCalls.delete(channel);
  return faultAnswer(requestFault(core, request.method, error), "modern", request.id, core.settings.dialect.faults);
}

function headersOf({ settings }: Core, exchange: Exchange): Exchange["header"] {
  if (settings.dialect.joinsHeaders) return (name) => joined(exchange.header(name));
  return (name) => exchange.header(name);
}

/** The core protocol has no notifications over HTTP; one that a client sends is accepted and ignored. */
function modernNotification(core: Core, exchange: Exchange, notification: Notification): Answer {
  core.limit(exchange.caller);
  try {
    checkMethodHeader(headersOf(core, exchange), notification.method, core.settings.dialect.namesFirst);
  } catch (error) {
    return faultAnswer(requestFault(core, notification.method, error), "modern", null, core.settings.dialect.faults);
  }
  return { status: 202 };
}

const close = (channel: Channel): void => channel.close();

async function subscribe(core: Core, source: Source, exchange: Exchange, request: Request): Promise<Answer> {
  openRequest(core, request, headersOf(core, exchange));
  const made = await listen(core, { request, caller: exchange.caller, source, open: () => exchange.stream(), ended: close });
  // The signal of the channel, since the exchange is no longer used.
  made.cancelWith(exchange.stream().disconnected);
  return { status: 200, open: true };
}

/** Turns the response into an event stream once something has to be sent before the reply. */
class ModernPostChannel implements OutOfBandChannel, SilentCall {
  readonly #exchange: Exchange;
  place = -1;
  since = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  notify(method: string, params: JsonObject): void {
    const channel = this.#exchange.stream();
    if (channel.ready) channel.send(notificationText(method, params));
  }

  breakSilence(): void {
    if (readAccept(this.#exchange.header("accept") ?? "").events) this.#exchange.stream();
  }
}
