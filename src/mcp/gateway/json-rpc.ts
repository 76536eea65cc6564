// Owns: reading JSON-RPC messages: their shape, their bounds, and integers that cannot be represented. Does not own: what a message does.
import { type JsonObject, isJsonObject, isList, type Json } from "../../core/contract/index.ts";
import { getOwn, mayBeRounded, roundedInteger, tooManyValues } from "../../core/contract/internal.ts";
import { textOf } from "../../core/platform/index.ts";
import { Fault, type Reason, type ValidationError } from "./errors.ts";

export type RequestId = string | number;

export interface Request {
  readonly kind: "request";
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
}

export interface Notification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject;
}

/** The response to a request of the server. */
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

/** Whether the message is answered. Later messages do not wait for the reply. */
export const getsReply = ({ kind }: Incoming | Batch): boolean => kind === "request" || kind === "batch";

/** Whether a valid message is a response. */
export const isResponse = (message: Json): boolean =>
  isJsonObject(message) && (message["method"] ?? undefined) === undefined && message["id"] !== undefined;

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

/** The bounds of one message. */
interface MessageLimits {
  readonly messageBytes: number;
  readonly depth: number;
  readonly values: number;
  readonly members: number;
}

/** Reads one frame, or the body of one POST. Never throws: what cannot be read is returned as `malformed`. */
export function decode(frame: Uint8Array | string, limits: MessageLimits): Incoming | Batch {
  if (frame.length > limits.messageBytes) return malformed("TOO_LARGE", `A message may have ${limits.messageBytes} bytes.`);
  const excess = tooManyValues(frame, limits);
  if (excess !== undefined) return malformed("TOO_LARGE", `${excess}; send less at once.`);
  let text: string | undefined;
  let value: Json;
  try {
    text = typeof frame === "string" ? frame : textOf(frame);
    if (text === undefined) return malformed("PARSE", "The message is not UTF-8.");
    // Windows tools may write a byte order mark first, which readers of JSON may ignore (RFC 8259 section 8.1).
    if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
    value = JSON.parse(text);
  } catch {
    return malformed("PARSE", "The message is not JSON.");
  }
  // Each level takes two characters, so a short message need not be traversed.
  if (text.length > 2 * limits.depth && deeperThan(value, limits.depth))
    return malformed("INVALID_REQUEST", `A message may nest ${limits.depth} levels deep.`);
  if (isList(value)) {
    for (const one of value) noteInexact(isJsonObject(one) ? objectIn(one, "params") : undefined, text);
    return { kind: "batch", items: value };
  }
  const message = classify(value);
  if (message.kind === "request") noteInexact(message.params, text);
  return message;
}

/** Reads one JSON-RPC message as MCP restricts it: an id is text or a whole number, params are an object. */
export function classify(value: Json): Incoming {
  if (!isJsonObject(value)) return malformed("INVALID_REQUEST", "A message is a JSON object.");
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
  if (!isJsonObject(params)) {
    if (id === undefined) return { kind: "notification", method, params: EMPTY };
    return malformed("PARAMS", "The params are an object.", id, { reason: "params-shape" });
  }
  return id === undefined ? { kind: "notification", method, params } : { kind: "request", id, method, params };
}

function response(value: JsonObject, id: RequestId | undefined): Incoming {
  // Null counts as absent; only a result without an error may be null.
  const error = value["error"] ?? undefined;
  const result = error !== undefined ? (value["result"] ?? undefined) : value["result"];
  if (id === undefined || (result === undefined) === (error === undefined))
    return malformed("INVALID_REQUEST", "A message has a method, or an id and either a result or an error.", id ?? null, shapeless(value));
  return result === undefined
    ? { kind: "response", id, ...(error === undefined ? undefined : { error }) }
    : { kind: "response", id, result };
}

const shapeless = (value: JsonObject): { readonly reason: Reason } => ({
  reason: "result" in value || "error" in value ? "response-shape" : "message-shape",
});

function versionless(value: JsonObject): { readonly reason: Reason; readonly about?: string } {
  if ((value["method"] ?? undefined) === undefined) return shapeless(value);
  return value["jsonrpc"] === undefined
    ? { reason: "jsonrpc-missing" }
    : { reason: "jsonrpc-other", about: shortText(value["jsonrpc"], 64) ?? "" };
}

function readId(id: Json | undefined): RequestId | undefined {
  if (typeof id === "number") return Number.isSafeInteger(id) ? id : undefined;
  return typeof id === "string" && id.length <= 256 && id.isWellFormed() ? id : undefined;
}

export function notificationText(method: string, params?: JsonObject): string {
  return params === undefined ? `{"jsonrpc":"2.0","method":"${method}"}` : JSON.stringify({ jsonrpc: "2.0", method, params });
}

export const EMPTY: JsonObject = Object.freeze({});

/** Text of 1 to `max` characters. */
export function shortText(value: Json | undefined, max: number): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= max ? value : undefined;
}

/** That member, if it is an object. */
export function objectIn(bag: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = getOwn(bag, key);
  return isJsonObject(value) ? value : undefined;
}

/** Whether a value nests deeper than `max` levels; never recurses further than that. */
function deeperThan(value: Json, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (max === 0) return true;
  if (isList(value)) return value.some((member) => deeperThan(member, max - 1));
  // Every message is checked, so no list of members is allocated.
  for (const key in value) {
    const member = value[key];
    if (typeof member === "object" && member !== null && deeperThan(member, max - 1)) return true;
  }
  return false;
}

const MOST = 64;

const inexact = new WeakMap<JsonObject, ValidationError>();

/**
 * Looks for integers that no double can represent in the arguments of a request: `JSON.parse` rounds them silently, so that an id becomes
 * another one. `text`: the message, or the batch, as it was received.
 */
function noteInexact(params: JsonObject | undefined, text: string): void {
  const args = params?.["arguments"];
  if (!isJsonObject(args) || !holdsLarge(args)) return;
  const large = new Map<number, string>();
  collect(args, "", large);
  const rounded = roundedInteger(text, large);
  if (rounded !== undefined) {
    const { digits, value } = rounded;
    return note(
      args,
      large.get(value) ?? "",
      `is ${digits.slice(0, 40)}, which no double holds: give integers beyond ±9007199254740991 as text`,
    );
  }
  const path = large.get(Infinity) ?? large.get(-Infinity);
  // A schema would refuse it, but an argument need not have one, and JSON cannot express it.
  if (path !== undefined) note(args, path, "is beyond the largest double: give it as text");
}

function note(args: JsonObject, path: string, words: string): void {
  inexact.set(args, { message: `Invalid arguments: ${path} ${words}.`, data: { issues: [{ path, message: words }] } });
}

/** What was found in these arguments when the message was read. */
export const inexactIntegersIn = (args: JsonObject): ValidationError | undefined => inexact.get(args);

const isLarge = (value: Json): value is number => typeof value === "number" && mayBeRounded(value);

// Every call is checked, so no list of members is allocated.
function holdsLarge(value: JsonObject | readonly Json[]): boolean {
  if (isList(value)) return value.some((one) => (typeof one === "object" && one !== null ? holdsLarge(one) : isLarge(one)));
  for (const name in value) {
    const one = value[name];
    if (one === undefined || one === null) continue;
    if (typeof one === "object" ? holdsLarge(one) : isLarge(one)) return true;
  }
  return false;
}

function collect(value: Json, path: string, large: Map<number, string>): void {
  if (large.size >= MOST) return;
  if (isLarge(value)) large.set(value, path);
  else if (typeof value === "object" && value !== null)
    for (const [name, one] of Object.entries(value)) collect(one, path === "" ? name : `${path}.${name}`, large);
}
