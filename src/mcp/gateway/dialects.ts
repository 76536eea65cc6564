// Owns: what servers of one protocol differ in: MCP as it is specified, and as two versions of AppTheory speak it. Does not own: what the
// revisions differ in (revision.ts).
import type { Json } from "../../core/contract/index.ts";
import { Fault, type FaultOverrides, wireError } from "./errors.ts";
import { classify, type Incoming } from "./json-rpc.ts";
import { has, isLegacyRevision, LEGACY_REVISIONS, type LegacyRevision, MODERN_REVISIONS, type Revision } from "./revision.ts";

/** What to do with a POST whose session is unknown: answer 404, begin a session under a new id, or begin one under the client's id. */
export type UnknownSession = "reject" | "reissue" | "adopt";

/** `strict`: MCP as specified. `apptheory`: as in AppTheory's document of its first server. `apptheory-v3`: as in the transcripts of its third version. */
export type ProfileName = "strict" | "apptheory" | "apptheory-v3";

export interface Dialect {
  readonly unknownSession: UnknownSession;
  /** The revisions with a handshake that are served, oldest first; the last one is proposed to a client that requests another. */
  readonly revisions: readonly [LegacyRevision, ...LegacyRevision[]];
  /** The revisions named to a client that asks which are served. */
  readonly supported: readonly Revision[];
  /** The capabilities advertised: every list, since it may change; `tools` and the others that are not empty; or those that are not empty. */
  readonly capabilities: "all" | "tools" | "some";
  /** Which answers carry `Mcp-Session-Id`: that of initialize; also event streams; or all. */
  readonly sessionOn: "initialize" | "streams" | "all";
  /** initialize may omit its protocolVersion, and may name a session, which is ignored. */
  readonly anyInitialize: boolean;
  /** `Accept` may name only one of the two media types. */
  readonly acceptsEither: boolean;
  /** Batches are allowed in the revision that has them, or in all. */
  readonly batches: "revision" | "all";
  /** One malformed element makes the whole batch fail, and its requests run one after the other. */
  readonly wholeBatches: boolean;
  /** A tool call whose client accepts event streams is always answered by one. */
  readonly streamsCalls: boolean;
  /** Progress is also sent as `event: progress`, requested or not, and the events of messages have a name. */
  readonly progressEvents: boolean;
  /** The first progress of a tool makes its reply an event stream, requested or not, if the client accepts one. */
  readonly streamsSteps: boolean;
  /** An unknown `Last-Event-ID` is refused instead of beginning a new stream; one that nothing follows gets an empty stream instead of 405. */
  readonly refusesEvents: boolean;
  /** A standalone stream begins with an event to resume from, if the revision has it. */
  readonly primesStandalone: boolean;
  /** A handler that throws or refuses gives an error with its message, also for a tool. */
  readonly handlerErrors: boolean;
  /** The HTTP status of ending a session. */
  readonly endStatus: number;
  /** An unknown revision is refused before anything else, and a revision of sessions in `_meta` is not an envelope. */
  readonly versionsFirst: boolean;
  /** Requests of a session must name its own revision, or none. */
  readonly sameVersion: boolean;
  /** Methods that do not exist. */
  readonly withholds: readonly string[];
  /** In 2026-07-28, a missing name is a fault of the headers and not of the method. */
  readonly namesFirst: boolean;
  /** A header that is sent twice with the same value counts once. */
  readonly joinsHeaders: boolean;
  /** A `requestState` that is not valid here is ignored. */
  readonly ignoresStates: boolean;
  /** No result may be cached unless `cacheHints` allow it. */
  readonly cachesNothing: boolean;
  /** Sessions have `server/discover`. */
  readonly discoversInSessions: boolean;
  /** A call that requests a task is answered like an unknown method. */
  readonly refusesTasks: boolean;
  /** A response that was not requested is refused under its own id. */
  readonly echoesResponses: boolean;
  readonly faults: FaultOverrides;
}

const COMMON = {
  "tool-unknown": { say: "tool not found: {}" },
  "prompt-unknown": { say: "prompt not found: {}" },
  RESOURCE_NOT_FOUND: { as: "PARAMS", say: "resource not found: {}", plain: true },
  "name-missing": { say: "Invalid params: missing {}" },
  "params-shape": { say: "Invalid params: {}" },
  PARSE: { status: 200, say: "Parse error: {}" },
  "jsonrpc-missing": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: missing required field: jsonrpc" },
  "jsonrpc-other": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: unsupported jsonrpc version: {}" },
  "method-empty": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: method must not be empty" },
  "id-null": { as: "PARSE", status: 200, say: "Parse error: id must not be null" },
  "member-shape": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: {}" },
  "batch-empty": { as: "PARSE", status: 200, say: "Parse error: empty batch request" },
  "batch-element": { as: "PARSE", status: 200, say: "Parse error: {}" },
} as const satisfies FaultOverrides;

/** As in the document: an error in a message is a reply to it, and so has status 200. */
const APPTHEORY_FAULTS: FaultOverrides = {
  ...COMMON,
  INVALID_REQUEST: { as: "PARSE", status: 200, anonymous: true, say: "Parse error: {}" },
  "input-required": { as: "HANDLER" },
  ID_IN_USE: { status: 200 },
};

/** As in the third version: an error of the exchange itself is plain JSON. */
const APPTHEORY_V3_FAULTS: FaultOverrides = {
  ...COMMON,
  "batch-sessionless": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: invalid JSON object" },
  "response-shape": { bare: true, say: "invalid JSON-RPC response" },
  "message-shape": { bare: true, say: "invalid JSON-RPC message" },
  "batch-revision": { bare: true, say: "batch requests are only supported for MCP-Protocol-Version 2025-03-26" },
  "session-version": { bare: true, say: "unsupported MCP-Protocol-Version" },
  "session-other-version": { bare: true, say: "MCP-Protocol-Version mismatch" },
  "event-unknown": { bare: true, say: "event not found" },
  "task-argument": { say: "Method not found: tasks not enabled" },
  "input-required": { status: 200, say: "input_required results require MCP protocol version 2026-07-28" },
  SESSION_UNKNOWN: { bare: true, say: "session not found" },
  SESSION_REQUIRED: { bare: true, say: "missing Mcp-Session-Id" },
  sessionless: { as: "SESSION_REQUIRED", bare: true, say: "missing Mcp-Session-Id" },
  VERB: { bare: true, say: "method not allowed" },
  NOT_ACCEPTABLE: { bare: true, status: 400, say: "POST /mcp requires Accept: application/json and text/event-stream" },
  "listen-accept": { bare: true, status: 400, say: "GET /mcp requires Accept: text/event-stream" },
  MEDIA_TYPE: { bare: true, status: 400, say: "POST /mcp requires Content-Type: application/json" },
  ENVELOPE: { say: "Invalid params: missing or invalid {}" },
  CAPABILITY: { say: "Missing required client capability" },
  "header-missing": { say: "Header mismatch: missing required {} header" },
  "header-conflict": { say: "Header mismatch: conflicting {} header values" },
  "header-malformed": { say: "Header mismatch: malformed {} Base64 encoding" },
  "header-method": { say: "Header mismatch: Mcp-Method does not match request method" },
  "header-name": { say: "Header mismatch: {} does not match request parameters" },
  "header-version": { say: "Header mismatch: MCP-Protocol-Version does not match request metadata" },
  "routed-name": { as: "ENVELOPE", say: "Invalid params: params.{} must be a non-empty string" },
  "client-response": { say: "Invalid Request: clients must not send JSON-RPC responses" },
};

const STRICT: Dialect = {
  unknownSession: "reject",
  revisions: LEGACY_REVISIONS,
  supported: MODERN_REVISIONS,
  capabilities: "all",
  sessionOn: "initialize",
  anyInitialize: false,
  acceptsEither: false,
  batches: "revision",
  wholeBatches: false,
  streamsCalls: false,
  progressEvents: false,
  streamsSteps: false,
  refusesEvents: false,
  primesStandalone: true,
  handlerErrors: false,
  endStatus: 204,
  versionsFirst: false,
  sameVersion: false,
  withholds: [],
  namesFirst: false,
  joinsHeaders: false,
  ignoresStates: false,
  cachesNothing: false,
  discoversInSessions: false,
  refusesTasks: false,
  echoesResponses: false,
  faults: {},
};

/** Each dialect by its differences from `strict`. */
export const DIALECTS: Readonly<Record<ProfileName, Dialect>> = {
  strict: STRICT,
  apptheory: {
    ...STRICT,
    unknownSession: "reissue",
    revisions: ["2025-06-18"],
    capabilities: "tools",
    sessionOn: "all",
    anyInitialize: true,
    acceptsEither: true,
    batches: "all",
    wholeBatches: true,
    streamsCalls: true,
    progressEvents: true,
    handlerErrors: true,
    faults: APPTHEORY_FAULTS,
  },
  "apptheory-v3": {
    ...STRICT,
    revisions: ["2025-03-26", "2025-06-18", "2025-11-25"],
    supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
    capabilities: "some",
    sessionOn: "streams",
    anyInitialize: true,
    wholeBatches: true,
    streamsSteps: true,
    refusesEvents: true,
    primesStandalone: false,
    handlerErrors: true,
    endStatus: 202,
    versionsFirst: true,
    sameVersion: true,
    withholds: ["completion/complete", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"],
    namesFirst: true,
    joinsHeaders: true,
    ignoresStates: true,
    cachesNothing: true,
    discoversInSessions: true,
    refusesTasks: true,
    echoesResponses: true,
    faults: APPTHEORY_V3_FAULTS,
  },
};

/** The messages of a batch. Throws if it is refused as a whole. */
export function readBatch(items: readonly Json[], revision: Revision, dialect: Dialect, most: number): readonly Incoming[] {
  const inAll = dialect.batches === "all" && isLegacyRevision(revision);
  if (!inAll && !has(revision, "batches"))
    throw new Fault("INVALID_REQUEST", "Batches are part of 2025-03-26 only; send messages one by one.", { reason: "batch-revision" });
  if (items.length === 0 || items.length > most) {
    const reason = items.length === 0 ? { reason: "batch-empty" as const } : undefined;
    throw new Fault("INVALID_REQUEST", `A batch has 1 to ${most} messages.`, reason);
  }
  const incoming = items.map(classify);
  if (dialect.wholeBatches) refuseWhole(incoming, dialect.faults);
  return incoming;
}

/** Throws if one of its messages is malformed. */
function refuseWhole(batch: readonly Incoming[], overrides: FaultOverrides): void {
  for (const [at, one] of batch.entries())
    if (one.kind === "malformed")
      throw new Fault("INVALID_REQUEST", one.fault.message, {
        reason: "batch-element",
        about: `batch element ${at}: ${wireError(one.fault, "legacy", overrides).message.replace(/^Parse error: /, "")}`,
      });
}

/** What is answered to each message of a batch, in their order. */
export async function answersTo<T>(
  batch: readonly Incoming[],
  { wholeBatches }: Dialect,
  answer: (one: Incoming) => T | Promise<T>,
): Promise<readonly T[]> {
  if (!wholeBatches) return Promise.all(batch.map(answer));
  const answers: T[] = [];
  for (const one of batch) answers.push(await answer(one));
  return answers;
}
