// Owns: the error classes and their codes, safe descriptions of what an author's code threw or returned, and the author's own line in a
// stack. Does not own: JSON-RPC's numbers (mcp/gateway).
import { isJsonObject, isList, isTexts, type Json } from "./json.ts";

/** Codes of errors that engines throw. docs/guide/errors.md says what to do about each. */
export type EngineCode =
  | "NO_ACTOR"
  | "UNKNOWN_KIND"
  | "BAD_ID"
  | "ACTOR_STOPPED"
  | "ACTOR_FAILED"
  | "CRASHED"
  | "NOT_APPLIED"
  | "MAILBOX_FULL"
  | "DEADLINE"
  | "CANCELLED"
  | "WORK_TIMEOUT"
  | "TURN_OVER"
  | "BAD_TURN"
  | "OUT_OF_ORDER"
  | "STATE_NOT_JSON"
  | "STATE_TOO_LARGE"
  | "STATE_NEWER"
  | "CYCLE"
  | "KEY_REUSED"
  | "DRAINING"
  | "UNAVAILABLE"
  | "ENGINE_MISSING"
  | "OUTCOME_UNKNOWN"
  | "UNKNOWN_INDEX"
  | "BAD_QUERY"
  | "IMPURE";

/** Codes of errors that stores throw. */
export type StoreCode =
  | "STORE_CONFLICT"
  | "STORE_FULL"
  | "STORE_READ_ONLY"
  | "STORE_IO"
  | "STORE_CORRUPT"
  | "STORE_LOCKED"
  | "STORE_NEWER"
  | "STORE_CLOSED";

/** Codes of errors in what actors offer: their names and definitions. */
export type SurfaceCode = "NAME_COLLISION" | "BAD_NAME" | "BAD_DEFINITION";

/** A transport that cannot start: unsafe without a token, a bad option, or an unavailable address. */
export type ListenCode = "UNSAFE_LISTENER" | "BAD_OPTION" | "BAD_ADDRESS";

/** Why a query in SQL was not answered: see `SqlError`. */
export type SqlCode = "SQL_WRONG" | "SQL_DENIED" | "SQL_TIMEOUT" | "SQL_MEMORY" | "SQL_BUSY" | "SQL_CANCELLED";

/** Codes of all `TroupeError`s. */
export type ErrorCode = EngineCode | StoreCode | SurfaceCode | ListenCode | SqlCode;

/**
 * An error with a stable `code`. The message says what to do.
 *
 * @example
 * ```ts
 * import { actorId, TroupeError } from "troupe";
 *
 * try {
 *   actorId("room", "");
 * } catch (error) {
 *   if (error instanceof TroupeError && error.code === "BAD_ID") console.error(error.message);
 * }
 * ```
 */
export class TroupeError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name: string = "TroupeError";
  readonly code: C;
  readonly data?: Json;
  constructor(code: C, message: string, options?: { readonly cause?: unknown; readonly data?: Json }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options?.data !== undefined) this.data = options.data;
  }
}

/** From the engine. `applied` says whether the caller's message took effect. */
export class EngineError extends TroupeError<EngineCode | StoreCode> {
  override readonly name = "EngineError";
  readonly applied: boolean | "unknown";
  constructor(
    code: EngineCode | StoreCode,
    message: string,
    options?: { readonly applied?: boolean | "unknown"; readonly cause?: unknown; readonly data?: Json },
  ) {
    super(code, message, options);
    this.applied = options?.applied ?? false;
  }
}

/** Whether the actor had begun to work on the message that failed. Undefined: it is not known. */
export function hasBegun({ data }: EngineError): boolean | undefined {
  const begun = isJsonObject(data) ? data["begun"] : undefined;
  return typeof begun === "boolean" ? begun : undefined;
}

/** The error without the id of a linked actor, whose key may be another user's name. */
export function withoutId(error: EngineError, id: string, kind: string): EngineError {
  if (!error.message.includes(id)) return error;
  const { code, applied, data } = error;
  const message = error.message.replaceAll(id, `the ${kind}`).replace(/^t/, "T");
  return new EngineError(code, message, { applied, cause: error, ...(data === undefined ? {} : { data }) });
}

/** From a store. Nothing of the entry was stored. */
export class StoreError extends TroupeError<StoreCode> {
  override readonly name = "StoreError";
}

/** The client's message if the author's code that decides on an offer's availability or choices fails. */
export function unavailableMessage(ref: string): string {
  return `This ${ref.slice(0, ref.indexOf("/") - 1)} is out of order.`;
}

const MAX_LISTED_CHOICES = 50;

/** What an argument must be that has only these values now. */
export function choicesMessage(allowed: readonly string[]): string {
  if (allowed.length === 0) return "there is nothing to choose from now";
  const listed = allowed
    .slice(0, MAX_LISTED_CHOICES)
    .map((item) => JSON.stringify(item))
    .join(", ");
  const more = allowed.length > MAX_LISTED_CHOICES ? ` and ${allowed.length - MAX_LISTED_CHOICES} more` : "";
  return `must be one of ${listed}${more}`;
}

/** A number of things in a sentence: `1 body`, `2 bodies`. Default plural: with an s. */
export const counted = (count: number, one: string, several = `${one}s`): string => `${count} ${count === 1 ? one : several}`;

/** The name of a thrown error, without its message, which may contain private data. */
export function nameOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.name.slice(0, 100);
  return typeof thrown === "string" ? "a string" : shapeOf(thrown);
}

/** The message of what was thrown, which may be anything: of an object that cannot be converted to text, what it is. */
export function messageOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } catch {
    return nameOf(thrown);
  }
}

/** The type of a value from an author's code, without its content. */
export function shapeOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  if (typeof given === "string") return "text";
  if (isList(given))
    return isTexts(given) ? "a list of texts" : `a list that holds ${shapeOf(given.find((one) => typeof one !== "string"))}`;
  if (typeof given === "object") return "then" in given ? "a promise" : "an object";
  return `a ${typeof given}`;
}

/** The name of an object's class; own members cannot disguise it. */
export function classOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  const made: unknown = typeof prototype === "object" && prototype !== null ? Reflect.get(prototype, "constructor") : undefined;
  return typeof made === "function" && made.name !== "" ? made.name : "object without a plain prototype";
}

const FRAME = /^ +at (?:.* \()?((?:file:\/\/|\/|[A-Za-z]:\\)[^\n()]+:\d+:\d+)\)?$/gm;
/** Troupe's own files, whether it runs from its sources or is installed. A function, since a bundle for browsers has no such URL. */
const ownFiles = (): string => decodeURI(new URL("../..", import.meta.url).href.replace(/^file:\/\/(?:\/(?=[A-Za-z]:))?/, ""));

function isForeign(place: string): boolean {
  const path = place.replace(/^file:\/\/(?:\/(?=[A-Za-z]:))?/, "").replaceAll("\\", "/");
  return path.includes("/node_modules/") || path.startsWith(ownFiles());
}

/** The first line of the stack in the author's own files, as in `/path/shop.ts:3:7`; else the first of all. */
export function authorPlace({ stack = "", message }: Error): string | undefined {
  // The stack begins with the message, which may look like a stack itself.
  const frames = stack.slice(stack.indexOf(message) + message.length);
  const places = Array.from(frames.matchAll(FRAME), ([, place = ""]) => place);
  return places.find((place) => !isForeign(place)) ?? places[0];
}
