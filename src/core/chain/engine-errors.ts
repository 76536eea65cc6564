// Owns: the errors that engines give their callers, and which of them may pass. Does not own: the errors of an author's code.
import {
  EngineError,
  StoreError,
  type ActorId,
  type EngineCode,
  isJsonObject,
  type Json,
  type StoreCode,
  type TroupeError,
} from "../contract/index.ts";
import { inWords } from "../contract/internal.ts";

interface Options {
  readonly applied?: boolean | "unknown";
  readonly cause?: unknown;
  readonly data?: Json;
}
const fault = (code: EngineCode | StoreCode, message: string, options?: Options): EngineError => new EngineError(code, message, options);

export const badId = (id: unknown): EngineError =>
  fault(
    "BAD_ID",
    `${typeof id === "string" ? JSON.stringify(id.slice(0, 100)) : `A value of type ${typeof id}`} names no actor: write kind/key, the key 1–256 bytes and percent-encoded as \`encodeURIComponent\` does.`,
  );
export const unknownKind = (kind: string): EngineError =>
  fault("UNKNOWN_KIND", `There is no kind of actor "${kind.slice(0, 64)}" here: start the engine with its behaviour.`);
export const noActor = (id: ActorId): EngineError => fault("NO_ACTOR", `There is no actor ${id}: create it first.`);
export const noAction = (id: ActorId): EngineError => fault("BAD_TURN", `A message to ${id} has no action: send the name of one, as text.`);
export const stopped = (id: ActorId): EngineError => fault("ACTOR_STOPPED", `${id} has stopped: create it again for another life.`);
/** Its work had begun, so the call must not be sent again without its caller's consent. */
export const stoppedAtWork = (id: ActorId): EngineError =>
  fault("ACTOR_STOPPED", `${id} was stopped while it worked on the call: it was not applied, what it did outside stays.`, {
    data: { begun: true },
  });
export const parentStopped = (id: ActorId, parent: ActorId): EngineError =>
  fault(
    "ACTOR_STOPPED",
    `${parent} has stopped, so its child ${id} is not created: create it from an actor that lives on, or give its kind \`autoStart: true\`.`,
  );
export const failed = (id: ActorId, why: string, cause?: unknown): EngineError =>
  fault("ACTOR_FAILED", `${id} has failed (${why}): mend the cause, then restart it.`, { cause });
export const crashed = (id: ActorId, event: number, cause: unknown): EngineError =>
  fault("CRASHED", `${id} crashed at event ${event}: your call was not applied.`, { cause, data: { event } });
export const mailboxFull = (id: ActorId): EngineError =>
  fault("MAILBOX_FULL", `${id} has as many calls waiting as it takes: call again later.`);
/** `begun`: whether its work had begun, if that is known. */
export const deadline = (id: ActorId, applied = false, begun?: boolean): EngineError =>
  fault("DEADLINE", `${id} ${deadlineText(applied, begun)}`, { applied, ...(begun === undefined ? {} : { data: { begun } }) });
const deadlineText = (applied: boolean, begun: boolean | undefined): string => {
  if (applied) return "took the call, its answer did not come in time.";
  if (begun === true) return "worked on the call when its time was over: it was not applied, what it did outside stays.";
  return begun === false ? "did not get to the call in time: it was not applied." : "did not end the call in time: it was not applied.";
};
export const cancelled = (id: ActorId, applied = false): EngineError =>
  fault("CANCELLED", applied ? `The caller left; ${id} has applied the call.` : `The caller left before ${id} applied the call.`, {
    applied,
  });
/** Ends a message that was forwarded for a caller that has left. It is not tried again. */
export const callerLeft = (id: ActorId): EngineError =>
  fault("CANCELLED", `The caller left before ${id} applied the call.`, { applied: false, data: CALLER_LEFT });
/** Tells it from a refusal of an author, or of a guest, with the same code. */
export const CALLER_LEFT = { "troupe/callerLeft": true };
export const isCallerLeft = ({ code, data }: { readonly code: string; readonly data?: Json }): boolean =>
  code === "CANCELLED" && isJsonObject(data) && data["troupe/callerLeft"] === true;
export const workTimeout = (id: ActorId, workMs: number): EngineError =>
  fault(
    "WORK_TIMEOUT",
    `${id} worked longer than ${inWords(workMs)} and was stopped: the call was not applied, but what it did outside stays. Check that first, then call again, with less to do at once if you can.`,
    { data: { begun: true, ms: workMs } },
  );
export const turnOver = (id: ActorId): EngineError =>
  fault("TURN_OVER", `This turn of ${id} is over: stop when the signal aborts, what comes later is dropped.`);
export const cycle = (id: ActorId, to: ActorId): EngineError =>
  fault("CYCLE", `${to} waits for ${id}, so ${id} cannot wait for ${to}: use forward() or send() instead.`);
export const keyReused = (id: ActorId): EngineError =>
  fault("KEY_REUSED", `This call's key was used for another call of ${id}: give this one a key of its own.`);
export const draining = (applied = false): EngineError =>
  fault("DRAINING", "The engine is closing: call again once it is back.", { applied });
export const engineMissing = (kind: string, what: "store" | "engine"): EngineError =>
  fault(
    "ENGINE_MISSING",
    what === "store"
      ? `Actors of kind "${kind}" live on disk: give the engine a store, or make them "memory".`
      : `Actors of kind "${kind}" are distributed: give "troupe serve" an --engine, or start a RestateEngine for them.`,
  );
export const secretMissing = (kind: string): EngineError =>
  fault(
    "ENGINE_MISSING",
    `Actors of kind "${kind}" have secret arguments: give the engine a secret of 32 bytes or more, the same on every node.`,
  );
export const stateTooLarge = (id: ActorId, most: number): EngineError =>
  fault("STATE_TOO_LARGE", `The state of ${id} would take more than its ${most} bytes: keep less, or split it over several actors.`);
export const stateNewer = (id: ActorId, version: number, known: number): EngineError =>
  fault("STATE_NEWER", `${id} was written by version ${version} of its behaviour, this is ${known}: run the newer code.`);
export const notApplied = (id: ActorId, cause: unknown): EngineError =>
  fault("NOT_APPLIED", `A commit before this call of ${id} failed, so it was not applied: call again.`, { cause });
export const outcomeUnknown = (id: ActorId, cause: unknown): EngineError =>
  fault("OUTCOME_UNKNOWN", `The store did not report whether the call of ${id} was stored: read the actor before calling again.`, {
    applied: "unknown",
    cause,
  });

/** What a store threw, as an error for callers: nothing was applied. */
export const fromStore = (error: unknown): EngineError => {
  if (error instanceof EngineError) return error;
  if (error instanceof StoreError) return fault(error.code, error.message, { cause: error });
  return fault("STORE_IO", "The store failed: nothing was applied. Its log says why.", { cause: error });
};

/** By contract a store's own error means that nothing was stored; any other error leaves that open. */
export const isCertainlyNotStored = (error: unknown): boolean => error instanceof StoreError;

/** A mistake of the author's, found after the turn: the sentence goes to the caller and to the log. */
export const isAuthors = (error: TroupeError): boolean => error.code === "STATE_NOT_JSON";

/** A failure of author code. The turn that failed has reported it, so the sender of the message does not report it again. */
export const isReportedByTurn = (error: TroupeError): boolean => error.code === "CRASHED" || isAuthors(error);

/** Worth a retry: the error does not depend on the message. */
const TRANSIENT: ReadonlySet<string> = new Set([
  "STORE_CONFLICT",
  "STORE_FULL",
  "STORE_READ_ONLY",
  "STORE_IO",
  "STORE_LOCKED",
  "STORE_CLOSED",
  "NOT_APPLIED",
  "OUTCOME_UNKNOWN",
  "MAILBOX_FULL",
  "CANCELLED",
  "DRAINING",
  "UNAVAILABLE",
]);
export const isPassing = (error: TroupeError): boolean => TRANSIENT.has(error.code);
