// Owns: errors of connections and refusals of the server, as stage errors. Does not own: when a command is repeated (command-client.ts).
import { type StageCode, StageError } from "../stage.ts";
import type { Command } from "../wire/commands.ts";
import { WireError } from "../wire/wire-json.ts";
import type { Refusal } from "./connection.ts";
import type { Settings } from "./options.ts";

/**
 * `unreached`: not connected. `ended`: the connection closed. `silent`: no reply in time. `garbled`: an unexpected reply. `left`: the
 * caller cancelled.
 */
export type ConnectionEnd = "unreached" | "ended" | "silent" | "garbled" | "left";

/** The connection is unusable: a delayed reply would be taken for that of the next command. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly why: ConnectionEnd;
  /** The command was written, so it may have been executed. */
  readonly sent: boolean;
  constructor(why: ConnectionEnd, message: string, sent: boolean) {
    super(message);
    this.why = why;
    this.sent = sent;
  }
}

/** How to find out whether a command without a reply was executed. */
const OUTCOME_CHECKS: Partial<Record<Command["type"], string>> = {
  StartActor: "list the actors to see whether it was started",
  StopActor: "list the actors to see whether it is still there",
  RestartActor: "list the actors to see whether it runs",
  SendActorMessage: "read the actor's events to see whether it came",
  RequestActorMessage: "read the actor's events to see whether it came, and what it did",
  OpenChannel: "read the actor's events to see whether it saw the channel, which is closed now",
  SendOnChannel: "read the actor's events to see whether it came; the channel is closed now",
  CloseChannel: "the channel is closed now, since its connection is",
};

/** What to do instead, for codes that the protocol sends without a message. */
const NEXT_STEPS: Partial<Record<StageCode, string>> = {
  ActorNotFound: "list the actors to see who is there",
  ActorNotRunning: "read its events to see why, and start another",
  ChannelNotFound: "open another",
  ChannelClosed: "open another",
  ChannelRejected: "the actor did not take it: what it takes, its author says",
  Timeout: "see whether it is busy, and try again",
};

/** An error that the server sent. */
export function serverError({ fault }: Refusal, { server }: Settings): StageError {
  const next = NEXT_STEPS[fault.code];
  return new StageError(fault.code, `${sentence(`${server} says: ${fault.message}`)}${next === undefined ? "" : ` What to do: ${next}.`}`);
}

const sentence = (text: string): string => {
  const capitalised = text.charAt(0).toUpperCase() + text.slice(1, 2_000);
  return /[.!?]$/u.test(capitalised) ? capitalised : `${capitalised}.`;
};

/** Converts any error to a `StageError`. A command that was written and has no reply may have been executed. */
export function toStageError(error: unknown, type: Command["type"], { server }: Settings): StageError {
  if (error instanceof StageError) return error;
  const cause = { cause: error };
  if (error instanceof WireError) return new StageError("InvalidRequest", `${type} cannot be sent to ${server}: ${error.message}`, cause);
  if (!(error instanceof ConnectionError)) return new StageError("InternalError", `${type} failed here: report this.`, cause);
  const check = OUTCOME_CHECKS[type];
  const outcome =
    check === undefined
      ? "Nothing was changed: try again."
      : error.sent
        ? `${type} had been sent, so whether it was carried out is unknown: ${check}. It was not sent again.`
        : `${type} had not been sent: try again.`;
  const message = `${sentence(`${server} gave no answer. ${error.message}`)} ${outcome}`;
  if (error.why === "silent") return new StageError("Timeout", message, cause);
  return new StageError(error.why === "garbled" ? "SerializationError" : "CommunicationError", message, cause);
}

export const isNotFound = (error: unknown): boolean => error instanceof StageError && error.code === "ActorNotFound";

/** The actor is not in the server's list. */
export const actorNotFound = (id: string, { server }: Settings): StageError =>
  new StageError("ActorNotFound", `There is no actor ${id.slice(0, 200)} at ${server}: list the actors to see who is there.`);
