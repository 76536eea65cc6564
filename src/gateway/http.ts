import type { Answer, Exchange, Source } from "../contract/index.ts";
import { isHeavy, remembering } from "../contract/internal.ts";
import type { Core } from "./core.ts";
import { Fault } from "./errors.ts";
import { exchangeFault } from "./exchange-fault.ts";
import { faultAnswer } from "./fault-answer.ts";
import { type Batch, decode, type Incoming, isWaitedFor, type RequestId } from "./json-rpc.ts";
import type { LegacyHttp } from "./legacy/http.ts";
import { modernExchange, modernNotification } from "./modern/http.ts";
import { isModernParams } from "./modern/envelope.ts";
import { claimedRevision } from "./claimed-revision.ts";
import type { Profile } from "./profile.ts";
import { isLegacyRevision, isModernRevision, LATEST_MODERN } from "./revision.ts";
import { unknownRevision } from "./unknown-revision.ts";

/** One HTTP request to an MCP endpoint, whichever era its client speaks. Never throws. */
export function exchange(
  core: Core,
  legacy: LegacyHttp,
  sourceFor: (posture: "meta" | undefined) => Source,
  request: Exchange,
): Answer | Promise<Answer> {
  const failed = (error: unknown): Answer => {
    return faultAnswer(exchangeFault(core, error), "legacy", idOf(core, request), core.settings.profile.faults);
  };
  try {
    const answer = route(core, legacy, sourceFor, request);
    return answer instanceof Promise ? answer.catch(failed) : answer;
  } catch (error) {
    return failed(error);
  }
}

// A client that is refused much can make us read it twice, but nothing long.
const SHORT = 65_536;

// Read once more: what failed here is rare, and no request pays for it that went well.
function idOf({ settings }: Core, { verb, body }: Exchange): RequestId | null {
  const incoming = verb === "POST" && body !== undefined && body.length <= SHORT ? decode(body, settings.limits) : undefined;
  return incoming?.kind === "request" ? incoming.id : null;
}

function route(
  core: Core,
  legacy: LegacyHttp,
  sourceFor: (posture: "meta" | undefined) => Source,
  request: Exchange,
): Answer | Promise<Answer> {
  core.admit();
  const version = request.header("mcp-protocol-version")?.trim();
  const modernVersion = version !== undefined && isModernRevision(version);
  const { profile } = core.settings;
  if (request.verb !== "POST") return standalone(core, legacy, request, modernVersion);
  checkHeaders(request, profile);
  const incoming = decode(request.body ?? "", core.settings.limits);
  if (incoming.kind === "malformed" && (modernVersion || profile.sessionOn !== "all"))
    return modernVersion
      ? faultAnswer(unenveloped(incoming.fault), "modern", incoming.id, profile.faults)
      : faultAnswer(incoming.fault, "legacy", incoming.id, profile.faults);
  const refused = profile.versionsFirst ? unknownRevision(profile, request, incoming) : undefined;
  if (refused !== undefined) return refused;
  const { body = "" } = request;
  if (isHeavy(body) && isWaitedFor(incoming)) return heavy(core, legacy, sourceFor, request, body, incoming, version);
  return posted(core, legacy, sourceFor, request, incoming, version);
}

/** One that takes room for as long as it is worked on. Apart, since what a closure holds is put on the heap each time. */
function heavy(
  core: Core,
  legacy: LegacyHttp,
  sourceFor: (posture: "meta" | undefined) => Source,
  request: Exchange,
  body: Uint8Array | string,
  incoming: Incoming | Batch,
  version: string | undefined,
): Answer | Promise<Answer> {
  return core.held.during(body, request.caller, () => posted(core, legacy, sourceFor, request, incoming, version));
}

function posted(
  core: Core,
  legacy: LegacyHttp,
  sourceFor: (posture: "meta" | undefined) => Source,
  request: Exchange,
  incoming: Incoming | Batch,
  version: string | undefined,
): Answer | Promise<Answer> {
  if (!isModern(core.settings.profile, request, incoming, version)) return legacy.post(request, incoming, version);
  return modern(core, sourceFor, request, incoming);
}

/** Params that are no object have no `_meta` either. */
function unenveloped(fault: Fault): Fault {
  return fault.kind === "PARAMS" ? new Fault("ENVELOPE", fault.message, { reason: "params-shape" }) : fault;
}

function standalone(core: Core, legacy: LegacyHttp, request: Exchange, modernVersion: boolean): Promise<Answer> | Answer {
  // Without a session there is nothing to listen to or to end: 2026-07-28 knows POST only.
  if (modernVersion || request.header("mcp-session-id") === undefined)
    return faultAnswer(
      new Fault("VERB", "This endpoint answers POST; GET and DELETE are for a session, named by Mcp-Session-Id.", {
        headers: { allow: "POST" },
        ...(modernVersion ? undefined : { reason: "sessionless" }),
      }),
      modernVersion ? "modern" : "legacy",
      null,
      core.settings.profile.faults,
    );
  return request.verb === "GET" ? legacy.get(request) : legacy.delete(request);
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

function modern(
  core: Core,
  sourceFor: (posture: "meta" | undefined) => Source,
  request: Exchange,
  incoming: Incoming | Batch,
): Answer | Promise<Answer> {
  if (incoming.kind === "request") return modernExchange(core, sourceFor(request.posture), request, incoming);
  if (incoming.kind === "notification") return modernNotification(core, request, incoming);
  return faultAnswer(
    new Fault("INVALID_REQUEST", "A POST carries one request or notification; clients send no responses.", { reason: "client-response" }),
    "modern",
    core.settings.profile.echoesResponses && incoming.kind === "response" ? incoming.id : null,
    core.settings.profile.faults,
  );
}

const isJson = remembering((type) => /^\s*application\/json\s*(?:;|$)/i.test(type));
const acceptsBoth = remembering((accept) => takes(accept, "application", "json") && takes(accept, "text", "event-stream"));

const acceptsOne = remembering((accept) => takes(accept, "application", "json") || takes(accept, "text", "event-stream"));

function checkHeaders(request: Exchange, { acceptsEither }: Profile): void {
  const type = request.header("content-type");
  if (type !== undefined && !isJson(type)) throw new Fault("MEDIA_TYPE", "The body is application/json.");
  const accept = request.header("accept");
  if (accept !== undefined && !(acceptsEither ? acceptsOne : acceptsBoth)(accept))
    throw new Fault("NOT_ACCEPTABLE", "The client must accept application/json and text/event-stream.");
}

/** Whether an Accept header takes that media type. */
function takes(accept: string, type: string, subtype: string): boolean {
  return accept
    .toLowerCase()
    .split(",")
    .filter((range) => !/;\s*q\s*=\s*"?0(?:\.0*)?"?\s*(?:;|$)/.test(range))
    .map((range) => range.split(";")[0]?.trim())
    .some((range) => range === "*/*" || range === `${type}/*` || range === `${type}/${subtype}`);
}
