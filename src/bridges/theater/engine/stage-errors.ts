// Owns: how errors and replies of the engine and of guests become stage errors and values. Does not own: the codes (stage.ts).
import { EngineError, isJsonObject, type JsonObject, type Reply, TroupeError } from "../../../core/contract/index.ts";
import { getOwn, hasBegun, hasOwn } from "../../../core/contract/internal.ts";
import { ManifestError, WasmError } from "../../wasm/index.ts";
import { type StageCode, StageError } from "../stage.ts";

const STAGE_CODES: Readonly<Partial<Record<string, StageCode>>> = {
  NO_ACTOR: "ActorNotFound",
  UNKNOWN_KIND: "InvalidRequest",
  BAD_ID: "ActorNotFound",
  UNKNOWN: "InvalidRequest",
  INVALID: "InvalidRequest",
  INVALID_PARAMS: "InvalidRequest",
  ACTOR_STOPPED: "ActorNotRunning",
  ACTOR_FAILED: "ActorError",
  PAUSED: "ActorError",
  DEADLINE: "Timeout",
  WORK_TIMEOUT: "Timeout",
  CANCELLED: "Timeout",
  OUTCOME_UNKNOWN: "CommunicationError",
  DRAINING: "RuntimeError",
  MAILBOX_FULL: "RuntimeError",
  // Codes that guests' actors use themselves.
  ActorAlreadyExists: "ActorAlreadyExists",
  ActorNotRunning: "ActorNotRunning",
  ChannelNotFound: "ChannelNotFound",
};

const stageCode = (code: string): StageCode => getOwn(STAGE_CODES, code) ?? (code.startsWith("STORE_") ? "StoreError" : "ActorError");

/** Replaces messages of the engine that name things which callers of a stage do not have. */
const MESSAGES: Readonly<Partial<Record<string, string>>> = {
  NO_ACTOR: "There is no such actor: list_actors tells who is there.",
  ACTOR_STOPPED: "The actor has stopped: start_actor begins another.",
};
const STOPPED_AT_WORK = "The actor was stopped while it worked on this: it was not applied, and what it did outside stays done.";

const messageOf = (error: TroupeError): string => {
  const { code, message }: { readonly code: string; readonly message: string } = error;
  const hasWorked = error instanceof EngineError && code === "ACTOR_STOPPED" && hasBegun(error) === true;
  return hasWorked ? STOPPED_AT_WORK : (getOwn(MESSAGES, code) ?? message);
};

const isReported = (cause: unknown): boolean =>
  cause instanceof TroupeError || cause instanceof ManifestError || cause instanceof WasmError;

/** Converts an error of an engine, a store or a sandbox. `onFault` receives those that Theater has no code for. */
function toStageError(error: unknown, onFault: ((error: unknown) => void) | undefined): StageError {
  if (error instanceof StageError) return error;
  if (error instanceof ManifestError || error instanceof WasmError)
    return new StageError("InvalidRequest", error.message, { cause: error });
  // A store failed below a guest's work, or its program cannot be loaded here: report that error.
  if (error instanceof EngineError && error.code === "CRASHED" && isReported(error.cause)) return toStageError(error.cause, onFault);
  if (error instanceof TroupeError) return new StageError(stageCode(error.code), messageOf(error), { cause: error });
  onFault?.(error);
  return new StageError("InternalError", "This failed for a reason of the server's own: its log says which.", { cause: error });
}

/** The value of a reply. Throws a `StageError` for a refusal or a question. */
export function replyValue(reply: Reply): unknown {
  if (hasOwn(reply, "ok")) return reply.ok;
  if (hasOwn(reply, "refused")) throw new StageError(stageCode(reply.refused.code), reply.refused.message);
  throw new StageError(
    "InvalidRequest",
    "The actor asks its caller a question first, which this protocol cannot carry: use its tools over MCP.",
  );
}

/** Runs `run` and converts what it throws to a `StageError`. */
export async function withStageErrors<T>(run: () => Promise<T>, onFault?: (error: unknown) => void): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toStageError(error, onFault);
  }
}

/** Exceeding the compute limit is a failure with a known outcome, so it is not mapped to `Timeout`, which leaves it open. */
const GUEST_CODES: Readonly<Partial<Record<string, StageCode>>> = {
  ActorInitializationError: "ActorInitializationError",
  ActorNotRunning: "ActorNotRunning",
  OUTCOME_UNKNOWN: "CommunicationError",
};

/** The value of a guest's reply. Throws a `StageError` as `replyValue` does, and for a failed call. That leaves an event, so the actor cannot refuse: it reports the failure in its reply. */
export function guestReply(reply: Reply): JsonObject {
  const value = replyValue(reply);
  if (!isJsonObject(value)) return {};
  const { failed } = value;
  if (failed === undefined) return value;
  const { code, message } = isJsonObject(failed) ? failed : {};
  throw new StageError(
    (typeof code === "string" ? getOwn(GUEST_CODES, code) : undefined) ?? "ActorError",
    typeof message === "string" ? message : "The guest failed.",
  );
}
