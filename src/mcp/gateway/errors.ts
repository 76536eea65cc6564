// Owns: why a request has no result: the kinds of faults, their numbers in each era, and errors as answers. Does not own: their messages.
import { type Answer, type JsonObject, type Json, type Log, TroupeError } from "../../core/contract/index.ts";
import type { RequestId } from "./json-rpc.ts";
import type { Era } from "./revision.ts";

/** Why a request gets an error and no result. */
export type FaultKind = keyof typeof TABLE;

/** What exactly is wrong, where a dialect has words of its own for it. */
export type Reason =
  | "tool-unknown"
  | "prompt-unknown"
  | "name-missing"
  | "routed-name"
  | "header-missing"
  | "header-conflict"
  | "header-malformed"
  | "header-name"
  | "header-method"
  | "header-version"
  | "listen-accept"
  | "sessionless"
  | "client-response"
  | "batch-sessionless"
  | "batch-empty"
  | "batch-element"
  | "batch-revision"
  | "jsonrpc-missing"
  | "jsonrpc-other"
  | "method-empty"
  | "id-null"
  | "member-shape"
  | "response-shape"
  | "message-shape"
  | "params-shape"
  | "session-version"
  | "session-other-version"
  | "event-unknown"
  | "task-argument"
  | "input-required";

interface Extra {
  readonly data?: Json;
  readonly headers?: Readonly<Record<string, string>>;
  readonly reason?: Reason;
  /** What a dialect's message names: a tool, a URI, a header. */
  readonly about?: string;
}

/** Ends a request with an error. Its message reaches the client: it says what to do instead, and discloses nothing internal. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly kind: FaultKind;
  readonly data?: Json;
  readonly headers?: Readonly<Record<string, string>>;
  readonly reason?: Reason;
  readonly about?: string;
  constructor(kind: FaultKind, message: string, extra?: Extra) {
    super(message);
    this.kind = kind;
    if (extra?.data !== undefined) this.data = extra.data;
    if (extra?.headers !== undefined) this.headers = extra.headers;
    if (extra?.reason !== undefined) this.reason = extra.reason;
    if (extra?.about !== undefined) this.about = extra.about;
  }
}

/** What is wrong with a tool's arguments: a sentence, and an issue with its path (`a.0.b`) for each value that does not match the schema. */
export interface ValidationError {
  readonly message: string;
  readonly data?: { readonly issues: Json };
}

type Wire = readonly [code: number, status: number];

/**
 * Fault × era → JSON-RPC code and HTTP status. The error of a method is the payload of a successful exchange (200); what is wrong with
 * the request itself is the status of the exchange. Our own codes are outside -32768…-32000, as 2026-07-28 requires of applications, and
 * end in the HTTP status they stand for.
 */
const TABLE = {
  PARSE: { legacy: [-32700, 400], modern: [-32700, 400] },
  INVALID_REQUEST: { legacy: [-32600, 400], modern: [-32600, 400] },
  TOO_LARGE: { legacy: [-32600, 413], modern: [-32600, 413] },
  NOT_ACCEPTABLE: { legacy: [-32600, 406], modern: [-32600, 406] },
  MEDIA_TYPE: { legacy: [-32600, 415], modern: [-32600, 415] },
  VERB: { legacy: [-32600, 405], modern: [-32600, 405] },
  SESSION_REQUIRED: { legacy: [-32600, 400], modern: [-32600, 400] },
  SESSION_UNKNOWN: { legacy: [-32600, 404], modern: [-32600, 404] },
  NOT_INITIALIZED: { legacy: [-32600, 400], modern: [-32600, 400] },
  ID_IN_USE: { legacy: [-32600, 400], modern: [-32600, 400] },
  METHOD: { legacy: [-32601, 200], modern: [-32601, 404] },
  PARAMS: { legacy: [-32602, 200], modern: [-32602, 200] },
  ENVELOPE: { legacy: [-32602, 400], modern: [-32602, 400] },
  UNKNOWN_OFFER: { legacy: [-32602, 200], modern: [-32602, 200] },
  RESOURCE_NOT_FOUND: { legacy: [-32002, 200], modern: [-32602, 200] },
  STATE: { legacy: [-32602, 200], modern: [-32602, 200] },
  URL_ELICITATION: { legacy: [-32042, 200], modern: [-31422, 200] },
  HEADERS: { legacy: [-32600, 400], modern: [-32020, 400] },
  CAPABILITY: { legacy: [-32600, 200], modern: [-32021, 400] },
  VERSION: { legacy: [-32600, 400], modern: [-32022, 400] },
  REFUSED: { legacy: [-31422, 200], modern: [-31422, 200] },
  FAILED: { legacy: [-31500, 200], modern: [-31500, 200] },
  SCOPE: { legacy: [-31403, 403], modern: [-31403, 403] },
  RATE: { legacy: [-31429, 429], modern: [-31429, 429] },
  BUSY: { legacy: [-31429, 429], modern: [-31429, 429] },
  DRAINING: { legacy: [-31503, 503], modern: [-31503, 503] },
  UNAVAILABLE: { legacy: [-31503, 503], modern: [-31503, 503] },
  TOKEN: { legacy: [-31401, 401], modern: [-31401, 401] },
  LATE: { legacy: [-31408, 408], modern: [-31408, 408] },
  FOREIGN: { legacy: [-32600, 403], modern: [-32600, 403] },
  PATH: { legacy: [-32600, 404], modern: [-32600, 404] },
  EXPECTATION: { legacy: [-32600, 417], modern: [-32600, 417] },
  HEAD: { legacy: [-32600, 431], modern: [-32600, 431] },
  HANDLER: { legacy: [-32000, 200], modern: [-32000, 200] },
  CANCELLED: { legacy: [-31499, 200], modern: [-31499, 200] },
  INTERNAL: { legacy: [-32603, 200], modern: [-32603, 200] },
} as const satisfies Record<string, Record<Era, Wire>>;

/** How a dialect's version of one fault differs from the table. */
interface FaultText {
  /** It has the number and status of this one. */
  readonly as?: FaultKind;
  readonly status?: number;
  /** The message; `{}` stands for `about`, or for the original message. */
  readonly say?: string;
  /** Without its data. */
  readonly plain?: boolean;
  /** Over HTTP the body is `{"error": …}` and no JSON-RPC. */
  readonly bare?: boolean;
  /** Its id is null, even if that of the message could be read. */
  readonly anonymous?: boolean;
}

/** The differences of a dialect, by fault or reason. */
export type FaultOverrides = Readonly<Partial<Record<FaultKind | Reason, FaultText>>>;

/** An error as it is sent. */
export interface WireError {
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly bare: boolean;
  readonly anonymous: boolean;
  readonly data?: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

export function wireError(fault: Fault, era: Era, overrides: FaultOverrides): WireError {
  const { reason, kind, message, about } = fault;
  const saying = (reason === undefined ? undefined : overrides[reason]) ?? overrides[kind];
  const [code, status] = TABLE[saying?.as ?? kind][era];
  return {
    code,
    status: saying?.status ?? status,
    message: saying?.say?.replace("{}", () => about ?? message) ?? message,
    bare: saying?.bare === true,
    anonymous: saying?.anonymous === true,
    ...(fault.data === undefined || saying?.plain === true ? undefined : { data: fault.data }),
    ...(fault.headers === undefined ? undefined : { headers: fault.headers }),
  };
}

/** The fault that was sent as this error with the numbers of 2026-07-28. */
export function faultFromWire({ code, message, data }: JsonObject): Fault {
  const kind = FAULT_KINDS.find((one) => TABLE[one].modern[0] === code) ?? "INTERNAL";
  return new Fault(kind, typeof message === "string" ? message : "It failed.", data === undefined ? undefined : { data });
}

const FAULT_KINDS = Object.keys(TABLE).filter((key): key is FaultKind => key in TABLE);

/** Converts anything thrown to a fault. Only messages that were written for callers are passed on. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof TroupeError)) return new Fault("INTERNAL", "Something failed inside the server; its log says what.");
  if (error.code === "DRAINING") return new Fault("DRAINING", error.message, { headers: { "retry-after": "1" } });
  if (error.code === "UNAVAILABLE")
    return new Fault("UNAVAILABLE", error.message, { data: failureData(error), headers: { "retry-after": "2" } });
  if (error.code === "CANCELLED") return new Fault("CANCELLED", "The request was cancelled.");
  if (error.code.startsWith("STORE_"))
    return new Fault("INTERNAL", "What the server keeps could not be read or written; nothing was applied.", { data: failureData(error) });
  if (DEFINITION_ERRORS.has(error.code))
    return new Fault("INTERNAL", "The server is misconfigured; its log says how.", { data: failureData(error) });
  return new Fault("FAILED", error.message, { data: failureData(error) });
}

/** Their messages are for the author or operator, and name kinds and sources that clients do not know. */
const DEFINITION_ERRORS: ReadonlySet<string> = new Set(["NAME_COLLISION", "BAD_NAME", "BAD_DEFINITION"]);

/** A mistake in an author's code. The message is for the log and quotes no arguments; the caller only reads that something failed. */
export class InternalError extends Error {}

/**
 * An error for the log: its kind and where it happened. Its message is included only if it was written for callers; any other may quote
 * arguments or state.
 */
export function inLog(error: unknown): JsonObject {
  if (error instanceof TroupeError) return { error: error.code, why: error.message };
  if (error instanceof InternalError) return { error: "BAD_TURN", why: error.message };
  if (!(error instanceof Error)) return { error: typeof error };
  const place = /\n\s+at (.+)/.exec(error.stack ?? "")?.[1];
  return { error: error.name, ...(place === undefined ? undefined : { place }) };
}

/** The named code, and whether the caller's message took effect, if the engine knows. */
export function failureData(error: TroupeError): JsonObject {
  const applied = "applied" in error ? error.applied : undefined;
  return { code: error.code, ...(typeof applied === "boolean" || applied === "unknown" ? { applied } : undefined) };
}

export function errorText(id: RequestId | null, fault: Fault, era: Era, overrides: FaultOverrides): string {
  const { code, message, data, anonymous } = wireError(fault, era, overrides);
  return JSON.stringify({
    jsonrpc: "2.0",
    id: anonymous ? null : id,
    error: { code, message, ...(data === undefined ? undefined : { data }) },
  });
}

/** An error as the answer to an exchange. */
export function faultAnswer(fault: Fault, era: Era, id: RequestId | null, overrides: FaultOverrides): Answer {
  const { status, headers, bare, message } = wireError(fault, era, overrides);
  const body = bare ? JSON.stringify({ error: message }) : errorText(id, fault, era, overrides);
  return { status, ...(headers === undefined ? undefined : { headers }), body };
}

/** Where faults are logged. */
interface Logging {
  readonly settings: { readonly log: Log };
}

/**
 * The fault of an exchange that failed before its method ran. If a store failed, it was that of the sessions: nothing is wrong with the
 * request and nothing was done, so the client should try again.
 */
export function exchangeFault({ settings }: Logging, error: unknown): Fault {
  const away = error instanceof TroupeError && error.code.startsWith("STORE_");
  const fault = away
    ? new Fault("UNAVAILABLE", "The server's sessions are out of reach; try again in a moment.", {
        headers: { "retry-after": "1" },
        data: failureData(error),
      })
    : faultOf(error);
  if (away || fault.kind === "INTERNAL") settings.log("error", { event: "exchange-failed", ...inLog(error) });
  return fault;
}

/** The fault of a request. Details that its client must not see are logged, wherever on the way it failed. */
export function requestFault({ settings }: Logging, method: string, error: unknown): Fault {
  const fault = faultOf(error);
  // A fault that was thrown as one has been logged already.
  if (fault.kind === "INTERNAL" && fault !== error) settings.log("error", { event: "request-failed", method, ...inLog(error) });
  return fault;
}

/** The answer of an HTTP transport that refuses a request before there is a message: a status, and a JSON-RPC error without an id. */
export function refusal(kind: FaultKind, message: string, headers?: Readonly<Record<string, string>>): Answer {
  // HEADERS is new in the modern era; all other numbers are the same in both.
  return faultAnswer(
    new Fault(kind, message, headers === undefined ? undefined : { headers }),
    kind === "HEADERS" ? "modern" : "legacy",
    null,
    {},
  );
}

/** The same on a stream: one line of text. */
export const refusalText = (kind: FaultKind, message: string, id: RequestId | null = null): string =>
  errorText(id, new Fault(kind, message), "legacy", {});
