import { textOf } from "../../core/platform/index.ts";
import { type Bag, isBag, type Json, isList } from "../../core/contract/index.ts";
import { tooManyValues } from "../../core/contract/internal.ts";
import { Fault, type Reason, type Sayings, wireError } from "./errors.ts";
import { noteInexact } from "./inexact-integers.ts";
import { deeperThan, EMPTY, shortText } from "./json.ts";
import type { Limits } from "./options.ts";
import type { Era } from "./revision.ts";

export type RequestId = string | number;

export interface Request {
  readonly kind: "request";
  readonly id: RequestId;
  readonly method: string;
  readonly params: Bag;
}

export interface Notification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: Bag;
}

/** To a request the server made. */
export interface Response {
  readonly kind: "response";
  readonly id: RequestId;
  readonly result?: Json;
  readonly error?: Json;
}

/** Not JSON-RPC. `id` is the sender's where it could be read, else null. */
interface Malformed {
  readonly kind: "malformed";
  readonly id: RequestId | null;
  readonly fault: Fault;
}

export interface Batch {
  readonly kind: "batch";
  readonly items: readonly Json[];
}

export type Incoming = Request | Notification | Response | Malformed;

/** It is answered, and may take its time: what else comes waits for nothing. */
export const isWaitedFor = ({ kind }: Incoming | Batch): boolean => kind === "request" || kind === "batch";

/** Of a message that is sound. */
export const isResponse = (message: Json): boolean =>
  isBag(message) && (message["method"] ?? undefined) === undefined && message["id"] !== undefined;

const BYTE_ORDER_MARK = 0xfeff;

const malformed = (
  kind: "PARSE" | "INVALID_REQUEST" | "PARAMS" | "TOO_LARGE",
  message: string,
  id: RequestId | null = null,
  more?: { readonly reason: Reason; readonly about?: string },
): Malformed => ({
  kind: "malformed",
  id,
  fault: new Fault(kind, message, more),
});

/** One frame, or the body of one POST. Never throws: what cannot be read comes back as `malformed`. */
export function decode(frame: Uint8Array | string, limits: Limits): Incoming | Batch {
  if (frame.length > limits.messageBytes) return malformed("TOO_LARGE", `A message may have ${limits.messageBytes} bytes.`);
  const excess = tooManyValues(frame, limits);
  if (excess !== undefined) return malformed("TOO_LARGE", `${excess}; send less at once.`);
  let text: string | undefined;
  let value: Json;
  try {
    text = typeof frame === "string" ? frame : textOf(frame);
    if (text === undefined) return malformed("PARSE", "The message is not UTF-8.");
    // Tools of Windows begin what they write with a byte order mark, which readers of JSON may ignore (RFC 8259 section 8.1).
    if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
    value = JSON.parse(text);
  } catch {
    return malformed("PARSE", "The message is not JSON.");
  }
  // Each level takes two characters: what is short need not be walked.
  if (text.length > 2 * limits.depth && deeperThan(value, limits.depth))
    return malformed("INVALID_REQUEST", `A message may nest ${limits.depth} levels deep.`);
  noteInexact(value, text);
  return isList(value) ? { kind: "batch", items: value } : classify(value);
}

/** One JSON-RPC message of a revision of MCP: an id is text or a whole number, params are an object. */
export function classify(value: Json): Incoming {
  if (!isBag(value)) return malformed("INVALID_REQUEST", "A message is a JSON object.");
  const id = readId(value["id"]);
  const method = value["method"] ?? undefined;
  if (value["jsonrpc"] !== "2.0") return malformed("INVALID_REQUEST", 'A message says "jsonrpc": "2.0".', id ?? null, versionless(value));
  if (method === undefined) return response(value, id);
  if (typeof method !== "string" || method === "" || method.length > 256)
    return malformed("INVALID_REQUEST", "A method is text of 1 to 256 characters.", id ?? null, {
      reason: method === "" ? "method-empty" : "member-shape",
    });
  if ("id" in value && id === undefined)
    return malformed(
      "INVALID_REQUEST",
      "An id is well-formed text of at most 256 characters or a whole number up to 2^53 - 1, not null.",
      null,
      {
        reason: value["id"] === null ? "id-null" : "member-shape",
      },
    );
  const params = value["params"] ?? EMPTY;
  if (!isBag(params)) {
    if (id === undefined) return { kind: "notification", method, params: EMPTY };
    return malformed("PARAMS", "The params are an object.", id, { reason: "params-shape" });
  }
  return id === undefined ? { kind: "notification", method, params } : { kind: "request", id, method, params };
}

function response(value: Bag, id: RequestId | undefined): Incoming {
  // Null counts as absent, but a result alone may be null.
  const error = value["error"] ?? undefined;
  const result = error !== undefined ? (value["result"] ?? undefined) : value["result"];
  if (id === undefined || (result === undefined) === (error === undefined))
    return malformed("INVALID_REQUEST", "A message has a method, or an id and either a result or an error.", id ?? null, shapeless(value));
  return result === undefined
    ? { kind: "response", id, ...(error === undefined ? undefined : { error }) }
    : { kind: "response", id, result };
}

const shapeless = (value: Bag): { readonly reason: Reason } => ({
  reason: "result" in value || "error" in value ? "response-shape" : "message-shape",
});

function versionless(value: Bag): { readonly reason: Reason; readonly about?: string } {
  if ((value["method"] ?? undefined) === undefined) return shapeless(value);
  return value["jsonrpc"] === undefined
    ? { reason: "jsonrpc-missing" }
    : { reason: "jsonrpc-other", about: shortText(value["jsonrpc"], 64) ?? "" };
}

function readId(id: Json | undefined): RequestId | undefined {
  if (typeof id === "number") return Number.isSafeInteger(id) ? id : undefined;
  return typeof id === "string" && id.length <= 256 && id.isWellFormed() ? id : undefined;
}

export function errorText(id: RequestId | null, fault: Fault, era: Era, sayings: Sayings): string {
  const { code, message, data, anonymous } = wireError(fault, era, sayings);
  return JSON.stringify({
    jsonrpc: "2.0",
    id: anonymous ? null : id,
    error: { code, message, ...(data === undefined ? undefined : { data }) },
  });
}

export function notificationText(method: string, params?: Bag): string {
  return params === undefined ? `{"jsonrpc":"2.0","method":"${method}"}` : JSON.stringify({ jsonrpc: "2.0", method, params });
}
