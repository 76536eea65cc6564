// Owns: how a chain's events, an actor's failure and its end are printed and read. Does not own: the hashes of events (chain/link.ts).
import type { ActorEnd, TheaterEvent } from "../stage.ts";
import { caseOf, Fields, isObject } from "./fields.ts";
import { type Printable, WireError, type WireValue } from "./wire-json.ts";

const SHA1_BYTES = 20;

/** A hash as it names an event in queries and file names. */
export const hexOf = (hash: Uint8Array): string => Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("hex");

/** The order of keys matters: this text is hashed. */
export const printEvent = (event: TheaterEvent): Printable => ({
  hash: event.hash,
  parent_hash: event.parentHash,
  event_type: event.eventType,
  data: event.data,
  timestamp: event.timestamp,
  description: event.description,
});

/** Throws `WireError` with the name of the invalid field. Newer servers omit time and description, which become 0 and null. */
export function readEvent(value: WireValue | undefined, subject: string): TheaterEvent {
  const fields = new Fields(subject, value);
  return {
    hash: fields.bytes("hash"),
    parentHash: fields.bytesOrNull("parent_hash"),
    eventType: fields.text("event_type"),
    data: fields.bytes("data"),
    timestamp: fields.has("timestamp") ? fields.count("timestamp") : 0,
    description: fields.textOrNull("description"),
  };
}

export const isSha1 = (hash: Uint8Array): boolean => hash.length === SHA1_BYTES;

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
