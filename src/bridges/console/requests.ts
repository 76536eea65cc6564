// Owns: reading the parameters of the API's requests, which are hostile until they are checked. Does not own: what they mean.

import {
  type ActorId,
  type Behaviour,
  isJsonObject,
  type Json,
  type JsonObject,
  type Message,
  REDACTED,
  TroupeError,
} from "../../core/contract/index.ts";
import { isActorId, kindOf, tryParseJson } from "../../core/contract/internal.ts";
import type { ActorReader, ActorState } from "../operate/index.ts";
import type { ConsoleData, RunningServer } from "./data.ts";
import { type ConsoleRequest, type QueryParameter, RequestError } from "./routes.ts";

export const badRequest = (message: string): RequestError => new RequestError(400, "BAD_REQUEST", message);
export const notFound = (message: string): RequestError => new RequestError(404, "NOT_FOUND", message);
export const notAvailable = (message: string): RequestError => new RequestError(409, "NOT_AVAILABLE", message);

/** The actor in the path. Throws `BAD_REQUEST`. */
export function actorOf({ params }: ConsoleRequest): ActorId {
  const { kind = "", key = "" } = params;
  const id: ActorId = `${kind}/${encodeURIComponent(key)}`;
  if (isActorId(id)) return id;
  throw badRequest("An actor is named kind/key: a kind such as counter, and a key of at most 256 bytes.");
}

/** Its last durable state. Throws `NOT_FOUND`. */
export async function stateOf(reader: ActorReader, id: ActorId): Promise<ActorState> {
  const found = await reader.state(id);
  if (found === undefined) throw notFound(`There is no actor ${id}: GET /console/api/actors lists them.`);
  return found;
}

/** What is read. Undefined: it is damaged, and only a page of its own is refused for that. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof TroupeError && error.code === "STORE_CORRUPT") return undefined;
    throw error;
  }
}

// ── the query, which its route's schemas have been held to (check-input.ts) ─

/** A number. Undefined: it is absent. */
export function numberIn({ query }: ConsoleRequest, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : Number(text);
}

/** Of a viewer. */
export const MAX_SCOPES = 100;

/** The number of an event. */
export const SEQ = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** How long a page of a list may be. */
export const pageLimit = (most: number, otherwise: number): QueryParameter => ({
  description: "At most so many.",
  schema: { type: "integer", minimum: 1, maximum: most, default: otherwise },
});

/** One of these texts. Undefined: it is absent. */
export const choiceIn = <T extends string>({ query }: ConsoleRequest, name: string, among: readonly T[]): T | undefined =>
  among.find((one) => one === query.get(name));

/** A text. Undefined: it is absent, or empty. */
export function textIn({ query }: ConsoleRequest, name: string): string | undefined {
  const text = query.get(name);
  return text === null || text === "" ? undefined : text;
}

/** An actor's id. Undefined: it is absent. Throws `BAD_REQUEST`. */
export function actorIn(request: ConsoleRequest): ActorId | undefined {
  const actor = textIn(request, "actor");
  if (actor === undefined || isActorId(actor)) return actor;
  throw badRequest("actor must be an id such as counter/main.");
}

/** A JSON object. Undefined: it is absent. Throws `BAD_REQUEST`. */
export function objectIn(request: ConsoleRequest, name: string): JsonObject | undefined {
  const text = textIn(request, name);
  if (text === undefined) return undefined;
  const value = tryParseJson(text);
  if (isJsonObject(value)) return value;
  throw badRequest(`${name} must be a JSON object.`);
}

/** The server that runs. Throws `NOT_AVAILABLE`. */
export function serverOf({ running }: ConsoleData): RunningServer {
  if (running === undefined) throw notAvailable("Nothing runs here: this is a history that is only read.");
  return running();
}

/** The code of the actor's kind, where it runs. */
export const behaviourOf = ({ running }: ConsoleData, id: ActorId): Behaviour | undefined =>
  running?.().kinds.find(({ kind }) => kind === kindOf(id));

/** The arguments of a message that has not run yet, as its event would record them. Without its kind's code it is unknown what is secret. */
export function redactedArgs(data: ConsoleData, message: Message): Json {
  const { args } = message;
  if (args === null || (isJsonObject(args) && Object.keys(args).length === 0)) return args;
  const behaviour = behaviourOf(data, message.to);
  if (behaviour === undefined) return REDACTED;
  return behaviour.redact === undefined ? args : behaviour.redact(message);
}

/** A state or body beyond this is left out. */
export const MAX_BYTES = 4 * 1_048_576;
