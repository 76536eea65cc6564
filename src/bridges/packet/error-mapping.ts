// Owns: how errors of engines, stores, nested calls and servers become packet errors. Does not own: packet errors (packet.ts).
import { EngineError, type Json, type JsonObject, type Reply, StoreError, isJsonObject } from "../../core/contract/index.ts";
import { hasBegun, hasOwn } from "../../core/contract/internal.ts";
import { ERROR_TYPES, PacketError, type PacketErrorType } from "./packet.ts";
import { actorNotFound } from "./visible-actors.ts";

interface ErrorContext {
  readonly actor_id: string;
  /** How long the sender waits, in milliseconds. */
  readonly timeout_ms: number;
}

const TYPES: Readonly<Record<string, PacketErrorType>> = {
  NO_ACTOR: "actor_not_found",
  ACTOR_STOPPED: "actor_not_found",
  UNKNOWN_KIND: "capability_not_found",
  CRASHED: "actor_crash",
  ACTOR_FAILED: "actor_crash",
  DEADLINE: "actor_timeout",
  WORK_TIMEOUT: "actor_timeout",
  MAILBOX_FULL: "rate_limited",
  CANCELLED: "cancelled",
  BAD_ID: "validation_failed",
  STATE_TOO_LARGE: "persistence_failed",
  STATE_NEWER: "persistence_failed",
  ENGINE_MISSING: "persistence_failed",
  UNAVAILABLE: "persistence_failed",
};

/** Of a refusal's codes that are not the name of a type. */
const REFUSAL_TYPES: ReadonlyMap<string, PacketErrorType> = new Map([
  ["UNKNOWN", "no_handler"],
  ["SCOPE", "unauthorized"],
  ["INVALID", "validation_failed"],
]);

/** The engine codes that a packet error's type already expresses: `code` is then derived from the type. */
const NORMALISED_CODES: ReadonlySet<string> = new Set(["NO_ACTOR", "ACTOR_STOPPED", "UNKNOWN_KIND", "DEADLINE"]);

/** An engine's error, by the specification's names. An unknown error is the server's fault. */
export function packetErrorOf(error: unknown, context: ErrorContext): PacketError {
  if (error instanceof PacketError) return error;
  const refusal = refusalIn(error);
  if (refusal !== undefined) return refusal;
  if (!(error instanceof EngineError)) {
    if (error instanceof StoreError) return new PacketError("persistence_failed", error.message, { code: error.code }, { cause: error });
    return new PacketError("execution_failed", "It failed inside: the log says where.", {}, { cause: error });
  }
  const { actor_id, timeout_ms } = context;
  const { applied } = error;
  const type = TYPES[error.code] ?? (error.code.startsWith("STORE_") ? "persistence_failed" : "execution_failed");
  const code = NORMALISED_CODES.has(error.code) ? type.toUpperCase() : error.code;
  const failure = (message: string, more: JsonObject = {}): PacketError =>
    new PacketError(type, message, { actor_id, ...more, code, applied }, { cause: error });
  if (error.code === "DEADLINE") return failure(`${NO_REPLY} ${timeoutText(context, error)}`, { timeout_ms });
  if (error.code === "ACTOR_STOPPED" && hasBegun(error) === true) {
    const why = `The actor ${JSON.stringify(actor_id)} was stopped while it worked on the message: its state is as before, what it did outside stays done, so look at it before you send it again.`;
    return new PacketError("actor_crash", why, { actor_id, code: error.code, applied }, { cause: error });
  }
  if (type === "actor_not_found") return actorNotFound(actor_id, { code, applied }, { cause: error });
  if (type === "actor_timeout") return failure(`${NO_REPLY} ${error.message}`, { timeout_ms: workMsIn(error) ?? timeout_ms });
  return failure(error.message, type === "rate_limited" ? { reset: 1 } : {});
}

/** The specification's sentence. What happened, and what to do, follows it. */
const NO_REPLY = "Actor did not respond within timeout period.";

/** How long the work might take, which may be less than its sender waits. */
function workMsIn({ data }: EngineError): number | undefined {
  const ms = isJsonObject(data) ? data["ms"] : undefined;
  return typeof ms === "number" ? ms : undefined;
}

function timeoutText({ actor_id, timeout_ms }: ErrorContext, error: EngineError): string {
  const actor = `The actor ${JSON.stringify(actor_id)}`;
  const advice = "look at it before you send it again";
  if (error.applied !== false) return `${actor} took the message, and did not answer within ${timeout_ms} ms: ${advice}.`;
  const begun = hasBegun(error);
  if (begun === true)
    return `${actor} had begun, and was stopped after ${timeout_ms} ms: its state is as before, what it did outside stays done, so ${advice}.`;
  return begun === false
    ? `${actor} did not get to the message within ${timeout_ms} ms, and nothing of it was done: send it again later.`
    : `${actor} did not answer within ${timeout_ms} ms, and its state is as before: ${advice}.`;
}

/** An actor must first ask its client something. MCP can ask and call again with the answers; for a packet it is an error. */
export class AnswersNeeded extends PacketError {
  readonly needs: JsonObject;
  constructor(needs: JsonObject) {
    super("execution_failed", "It has to ask the client something first, which no packet can answer: call it over MCP.", {
      needs: Object.keys(needs),
    });
    this.needs = needs;
  }
}

/** The result of a reply. Throws `PacketError` if it is a refusal. */
export function resultOf(reply: Reply): Json {
  if (hasOwn(reply, "ok")) return reply.ok;
  if (hasOwn(reply, "needs")) throw new AnswersNeeded(reply.needs);
  throw refusedBy(reply.refused);
}

/** The error of a `refuse` that was thrown outside a turn: in a read, or in a capability without an actor. */
export function refusalIn(error: unknown): PacketError | undefined {
  if (!(error instanceof Error) || error.name !== "Refusal" || !("code" in error) || typeof error.code !== "string") return undefined;
  const data: unknown = "data" in error ? error.data : undefined;
  return refusedBy({ code: error.code, message: error.message, ...(isJsonObject(data) && { data }) });
}

function refusedBy({ code, message, data }: Extract<Reply, { readonly refused: object }>["refused"]): PacketError {
  const details: JsonObject = isJsonObject(data) ? data : data === undefined ? {} : { data };
  const type = ERROR_TYPES.find((known) => known === code) ?? REFUSAL_TYPES.get(code);
  return type === undefined ? new PacketError("execution_failed", message, { code, ...details }) : new PacketError(type, message, details);
}

/** The error in the form that a reply has. Served modules are not type-checked, so theirs may have another type, or details of any kind. */
export function validError(error: PacketError): PacketError {
  const { type, message, details } = error;
  if (ERROR_TYPES.includes(type) && isJsonObject(details)) return error;
  const valid = refusedBy({ code: type, message, data: details });
  return new PacketError(valid.type, valid.message, valid.details, { cause: error });
}

/** Errors of nested calls, and the capability they came from. */
const nestedCapability = new WeakMap<PacketError, string>();

/** Runs a nested call, and remembers which capability an error came from. */
export async function fromNested<T>(capabilityId: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof PacketError) nestedCapability.set(error, capabilityId);
    throw error;
  }
}

/** The error for the caller of `id`: an error of a nested call is not the caller's fault. */
export function asCallerError(id: string, error: PacketError): PacketError {
  const nestedId = nestedCapability.get(error);
  if (nestedId === undefined || error.type === "cancelled") return error;
  const details = { capability_id: nestedId, type: error.type, details: error.details };
  return new PacketError("execution_failed", `${id} failed, since ${nestedId} did: ${error.message}`, details, { cause: error });
}

/** Longest text of a failure that is passed on. */
const MAX_CHARS = 2_000;

/** The error's message with those of its causes, since `fetch` explains its failures only there. */
export function reasonOf(error: unknown): string {
  const messages: string[] = [];
  for (let one = error, depth = 0; one instanceof Error && depth < 4; one = one.cause, depth += 1)
    if (one.message !== "" && !messages.includes(one.message)) messages.push(one.message);
  const words = truncated(messages.length > 0 ? messages.join(": ") : String(error));
  return withStatus(words, error);
}

/** Adds the HTTP status, since some errors have no other text. */
function withStatus(words: string, error: unknown): string {
  if (!(error instanceof Error) || !("status" in error) || typeof error.status !== "number") return words;
  const status = `HTTP ${error.status}`;
  return words.includes(status) ? words : `${words.trimEnd()} (${status})`;
}

export function truncated(text: string): string {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}…`;
}
