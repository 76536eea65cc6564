import type { Answer, Exchange, Source } from "../../core/contract/index.ts";
import { isLarge, memoizeByString } from "../../core/contract/internal.ts";
import type { Core } from "./core.ts";
import { Fault } from "./errors.ts";
import { exchangeFault } from "./fault-answers.ts";
import { faultAnswer } from "./fault-answers.ts";
import { type Batch, decode, type Incoming, isWaitedFor, type RequestId } from "./json-rpc.ts";
import type { LegacyHttp } from "./legacy/http.ts";
import { modernExchange, modernNotification } from "./modern/http.ts";
import { isModernParams } from "./modern/envelope.ts";
import { claimedRevision, unknownRevision } from "./claimed-revision.ts";
import type { Profile } from "./profile.ts";
import { acceptsEvents, acceptsMedia } from "./accepts.ts";
import { type Era, isLegacyRevision, isModernRevision, LATEST_MODERN } from "./revision.ts";

// A client that is refused much can make us read it twice, but nothing long.
const SHORT = 65_536;

/** HTTP requests to an MCP endpoint, whichever era their clients speak. */
export class GatewayHttp {
  readonly #core: Core;
  readonly #legacy: LegacyHttp;
  readonly #sourceFor: (posture: "meta" | undefined) => Source;

  constructor(core: Core, legacy: LegacyHttp, sourceFor: (posture: "meta" | undefined) => Source) {
    this.#core = core;
    this.#legacy = legacy;
    this.#sourceFor = sourceFor;
  }

  /** Never throws. */
  exchange(request: Exchange): Answer | Promise<Answer> {
    try {
      const answer = this.#route(request);
      return answer instanceof Promise ? answer.catch((error: unknown) => this.#failed(request, error)) : answer;
    } catch (error) {
      return this.#failed(request, error);
    }
  }

  #failed(request: Exchange, error: unknown): Answer {
    return this.#fault(exchangeFault(this.#core, error), "legacy", this.#idOf(request));
  }

  #fault(fault: Fault, era: Era, id: RequestId | null): Answer {
    return faultAnswer(fault, era, id, this.#core.settings.profile.faults);
  }

  // Read once more: what failed here is rare, and no request pays for it that went well.
  #idOf({ verb, body }: Exchange): RequestId | null {
    const incoming = verb === "POST" && body !== undefined && body.length <= SHORT ? decode(body, this.#core.settings.limits) : undefined;
    return incoming?.kind === "request" ? incoming.id : null;
  }

  #route(request: Exchange): Answer | Promise<Answer> {
    this.#core.admit();
    const version = request.header("mcp-protocol-version")?.trim();
    const modernVersion = version !== undefined && isModernRevision(version);
    const { profile, limits } = this.#core.settings;
    if (request.verb !== "POST") return this.#standalone(request, modernVersion);
    checkHeaders(request, profile);
    const incoming = decode(request.body ?? "", limits);
    if (incoming.kind === "malformed" && modernVersion) return this.#fault(unenveloped(incoming.fault), "modern", incoming.id);
    if (incoming.kind === "malformed" && profile.sessionOn !== "all") return this.#fault(incoming.fault, "legacy", incoming.id);
    const refused = profile.versionsFirst ? unknownRevision(profile, request, incoming) : undefined;
    if (refused !== undefined) return refused;
    const { body = "" } = request;
    if (isLarge(body) && isWaitedFor(incoming)) return this.#heavy(request, body, incoming, version);
    return this.#posted(request, incoming, version);
  }

  /** One that takes room for as long as it is worked on. Apart, since what a closure holds is put on the heap each time. */
  #heavy(request: Exchange, body: Uint8Array | string, incoming: Incoming | Batch, version: string | undefined): Answer | Promise<Answer> {
    return this.#core.held.during(body, request.caller, () => this.#posted(request, incoming, version));
  }

  #posted(request: Exchange, incoming: Incoming | Batch, version: string | undefined): Answer | Promise<Answer> {
    if (!isModern(this.#core.settings.profile, request, incoming, version)) return this.#legacy.post(request, incoming, version);
    return this.#modern(request, incoming);
  }

  #standalone(request: Exchange, modernVersion: boolean): Promise<Answer> | Answer {
    // Without a session there is nothing to listen to or to end: 2026-07-28 knows POST only.
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
      this.#core.settings.profile.echoesResponses && incoming.kind === "response" ? incoming.id : null,
    );
  }
}

/** Params that are no object have no `_meta` either. */
function unenveloped(fault: Fault): Fault {
  return fault.kind === "PARAMS" ? new Fault("ENVELOPE", fault.message, { reason: "params-shape" }) : fault;
}

function isModern(profile: Profile, request: Exchange, incoming: Incoming | Batch, version: string | undefined): boolean {
  if (version !== undefined && isModernRevision(version)) return true;
  if (incoming.kind === "batch" || incoming.kind === "response" || incoming.kind === "malformed") return false;
  const legacyVersion = version !== undefined && isLegacyRevision(version);
  if (incoming.method === "server/discover") return !profile.discoversInSessions || isModernParams(incoming.params);
  if (isModernParams(incoming.params))
    return !(profile.versionsFirst && version === undefined && claimedRevision(version, incoming.params) !== LATEST_MODERN);
  return version !== undefined && !legacyVersion && incoming.method !== "initialize" && request.header("mcp-session-id") === undefined;
}

const isJson = memoizeByString((type) => /^\s*application\/json\s*(?:;|$)/i.test(type));
const acceptsBoth = memoizeByString((accept) => acceptsMedia(accept, "application", "json") && acceptsEvents(accept));

const acceptsOne = memoizeByString((accept) => acceptsMedia(accept, "application", "json") || acceptsEvents(accept));

function checkHeaders(request: Exchange, { acceptsEither }: Profile): void {
  const type = request.header("content-type");
  if (type !== undefined && !isJson(type)) throw new Fault("MEDIA_TYPE", "The body is application/json.");
  const accept = request.header("accept");
  if (accept !== undefined && !(acceptsEither ? acceptsOne : acceptsBoth)(accept))
    throw new Fault("NOT_ACCEPTABLE", "The client must accept application/json and text/event-stream.");
}
