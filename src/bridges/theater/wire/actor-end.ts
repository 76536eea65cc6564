import type { ActorEnd, TheaterEvent } from "../theater-stage.ts";
import { printEvent, readEvent } from "./chain-event.ts";
import { caseOf, Fields, isObject } from "./fields.ts";
import type { Printable } from "./print-json.ts";
import { WireError } from "./wire-error.ts";
import type { WireValue } from "./wire-json.ts";

/** Theater's `ActorError`. */
export interface ActorFailure {
  /** The actor's last event, if the server sends it. */
  readonly event: TheaterEvent | undefined;
  readonly message: string;
}

/** `{"Internal": <event>}`, or the message if there is no event. */
export const printFailure = ({ event, message }: ActorFailure): Printable =>
  event === undefined ? { UnexpectedError: message } : { Internal: printEvent(event) };

export function readFailure(value: WireValue | undefined, of: string, message: string | null): ActorFailure {
  const [name, content] = caseOf(value, of);
  const event = name === "Internal" && isObject(content) ? readEvent(content, `${of}.Internal`) : undefined;
  const fallback = typeof content === "string" || typeof content === "number" ? `${name}: ${content}` : name;
  return { event, message: message ?? event?.description ?? fallback };
}

/** Sent to the client that started the actor as its parent. */
export function printEnd(id: string, end: ActorEnd): Printable {
  if (end.how === "success") return { Success: { actor_id: id, result: end.result ?? null } };
  if (end.how === "error") return { Error: { actor_id: id, error: printFailure(end), message: end.message } };
  return { ExternalStop: { actor_id: id } };
}

export function readEnd(value: WireValue | undefined): { readonly id: string; readonly end: ActorEnd } {
  const [name, content] = caseOf(value, "ActorResult");
  const of = `ActorResult.${name}`;
  const fields = new Fields(of, content);
  const id = fields.id("actor_id");
  switch (name) {
    case "Success":
      return { id, end: { how: "success", result: fields.bytesOrNull("result") ?? undefined } };
    case "Error":
      return { id, end: { how: "error", ...readFailure(fields.value("error"), `${of}.error`, fields.textOrNull("message")) } };
    case "ExternalStop":
      return { id, end: { how: "external-stop" } };
    default:
      throw new WireError("ActorResult must be Success, Error or ExternalStop.");
  }
}
