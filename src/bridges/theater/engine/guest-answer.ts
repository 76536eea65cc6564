import { type JsonObject, isJsonObject } from "../../../core/contract/index.ts";
import { getOwn } from "../../../core/contract/internal.ts";
import { type StageCode, StageError } from "../stage.ts";

/** Exceeding the compute limit is a failure with a known outcome, so it is not mapped to `Timeout`, which leaves it open. */
const GUEST_CODES: Readonly<Partial<Record<string, StageCode>>> = {
  ActorInitializationError: "ActorInitializationError",
  ActorNotRunning: "ActorNotRunning",
  OUTCOME_UNKNOWN: "CommunicationError",
};

/** The reply of a guest's actor. A failed call leaves an event, so the actor cannot refuse: it reports the failure in its reply. */
export function guestReply(value: unknown): JsonObject {
  if (!isJsonObject(value)) return {};
  const { failed } = value;
  if (failed === undefined) return value;
  const { code, message } = isJsonObject(failed) ? failed : {};
  throw new StageError(
    (typeof code === "string" ? getOwn(GUEST_CODES, code) : undefined) ?? "ActorError",
    typeof message === "string" ? message : "The guest failed.",
  );
}
