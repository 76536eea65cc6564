import { TroupeError, type Bag, type Json } from "../../core/contract/index.ts";
import type { Era } from "./revision.ts";

/** Why a request gets an error and no result. */
export type FaultKind = keyof typeof TABLE;

/** What exactly is wrong, where a profile says it in words of its own. */
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
  /** What the words of a profile are about: a name, a URI, a header. */
  readonly about?: string;
}

/** Ends a request with an error. The message reaches the client: it says what to do instead, and never what was inside. */
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

type Wire = readonly [code: number, status: number];

/**
 * Fault × era → JSON-RPC code and HTTP status. An error a method gives is the
 * payload of a successful exchange (200); what is wrong with the request as such
 * is the exchange's own status. Codes of our own stay outside -32768…-32000, as
 * 2026-07-28 demands of applications, and end in the HTTP status they stand for.
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

/** How a profile has one fault otherwise than the table. */
interface Saying {
  /** With that one's number and status. */
  readonly as?: FaultKind;
  readonly status?: number;
  /** The words; `{}` stands for what it is about, else for the message. */
  readonly say?: string;
  /** Its data is left out. */
  readonly plain?: boolean;
  /** Over HTTP the body is `{"error": …}` and no JSON-RPC. */
  readonly bare?: boolean;
  /** Its id is null, even where the message's could be read. */
  readonly anonymous?: boolean;
}

/** Fault, or reason, → what a profile has otherwise. */
export type Sayings = Readonly<Partial<Record<FaultKind | Reason, Saying>>>;

/** An error as it goes out. */
export interface WireError {
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly bare: boolean;
  readonly anonymous: boolean;
  readonly data?: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

export function wireError(fault: Fault, era: Era, sayings: Sayings): WireError {
  const { reason, kind, message, about } = fault;
  const saying = (reason === undefined ? undefined : sayings[reason]) ?? sayings[kind];
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

/** The fault behind an error that went out in 2026-07-28's numbers. */
export function faultFromWire({ code, message, data }: Bag): Fault {
  const kind = FAULT_KINDS.find((one) => TABLE[one].modern[0] === code) ?? "INTERNAL";
  return new Fault(kind, typeof message === "string" ? message : "It failed.", data === undefined ? undefined : { data });
}

const FAULT_KINDS = Object.keys(TABLE).filter((key): key is FaultKind => key in TABLE);

/** Whatever was thrown as a fault. A message is passed on only where it was written for a caller. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof TroupeError)) return new Fault("INTERNAL", "Something failed inside the server; its log says what.");
  if (error.code === "DRAINING") return new Fault("DRAINING", error.message, { headers: { "retry-after": "1" } });
  if (error.code === "UNAVAILABLE")
    return new Fault("UNAVAILABLE", error.message, { data: failureData(error), headers: { "retry-after": "2" } });
  if (error.code === "CANCELLED") return new Fault("CANCELLED", "The request was cancelled.");
  if (error.code.startsWith("STORE_"))
    return new Fault("INTERNAL", "What the server keeps could not be read or written; nothing was applied.", { data: failureData(error) });
  if (OF_DEFINITIONS.has(error.code))
    return new Fault("INTERNAL", "The server is misconfigured; its log says how.", { data: failureData(error) });
  return new Fault("FAILED", error.message, { data: failureData(error) });
}

/** What is written for whoever wrote or serves the definitions: it names kinds and sources that no client knows of. */
const OF_DEFINITIONS: ReadonlySet<string> = new Set(["NAME_COLLISION", "BAD_NAME", "BAD_DEFINITION"]);

/** What an author's code did that cannot work, in a sentence for the log; it quotes no arguments. Its caller reads that something failed. */
export class Mistake extends Error {}

/**
 * An error as a log has it: its kind and where it happened. Not its message, which
 * may quote arguments or state, unless it was written for callers.
 */
export function inLog(error: unknown): Bag {
  if (error instanceof TroupeError) return { error: error.code, why: error.message };
  if (error instanceof Mistake) return { error: "BAD_TURN", why: error.message };
  if (!(error instanceof Error)) return { error: typeof error };
  const place = /\n\s+at (.+)/.exec(error.stack ?? "")?.[1];
  return { error: error.name, ...(place === undefined ? undefined : { place }) };
}

/** Named code and whether the caller's message took effect, where the engine said so. */
export function failureData(error: TroupeError): Bag {
  const applied = "applied" in error ? error.applied : undefined;
  return { code: error.code, ...(typeof applied === "boolean" || applied === "unknown" ? { applied } : undefined) };
}
