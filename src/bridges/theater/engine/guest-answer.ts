import { type JsonObject, isJsonObject } from "../../../core/contract/index.ts";
import { getOwn } from "../../../core/contract/internal.ts";
import { type StageCode, StageError } from "../stage.ts";

/** A guest that computed too long has failed like any other, and what it did is known: `Timeout` would say that it is not. */
const CODES: Readonly<Partial<Record<string, StageCode>>> = {
  ActorInitializationError: "ActorInitializationError",
  ActorNotRunning: "ActorNotRunning",
  OUTCOME_UNKNOWN: "CommunicationError",
};

/** What a guest's actor replied. A call that failed leaves an event, so its actor cannot refuse: it says so in its reply. */
export function guestAnswer(value: unknown): JsonObject {
  if (!isJsonObject(value)) return {};
  const { failed } = value;
  if (failed === undefined) return value;
  const { code, message } = isJsonObject(failed) ? failed : {};
  throw new StageError(
    (typeof code === "string" ? getOwn(CODES, code) : undefined) ?? "ActorError",
    typeof message === "string" ? message : "The guest failed.",
  );
}
