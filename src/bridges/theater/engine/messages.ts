// Owns: what messages hold: base64 for guests, JSON text for other actors. Does not own: sending them (engine-stage.ts).
import { isJsonObject, type Json, type JsonObject } from "../../../core/contract/index.ts";
import { roundingIssue, tooManyValues, VALUE_LIMITS } from "../../../core/contract/internal.ts";
import { StageError } from "../stage.ts";

/** A message to an actor that is not a guest. */
export interface JsonMessage {
  readonly action: string;
  readonly args: Json;
}

const SHAPE = 'JSON text {"action": "tools/look", "args": {…}}';
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Messages are bytes in Theater's protocol. For actors that are not guests they hold JSON text of an action and its arguments. */
export function parseMessage(data: Uint8Array): JsonMessage {
  const value = parseJson(data, "send less at once", `This actor is no WebAssembly guest: send it ${SHAPE}.`);
  if (!isJsonObject(value) || typeof value["action"] !== "string" || value["action"] === "")
    throw new StageError("InvalidRequest", `This actor is no WebAssembly guest: send it ${SHAPE}; this has no action.`);
  const { action, args = {} } = value;
  return { action, args };
}

/** The initial state of an actor that is not a guest. */
export const parseInitialState = (data: Uint8Array): Json =>
  parseJson(data, "begin with less", "The initial state of an actor that is no guest is JSON text.");

/** Throws `InvalidRequest`, also where an integer would be rounded: the actor would act on another number. */
function parseJson(data: Uint8Array, less: string, otherwise: string): Json {
  const excess = tooManyValues(data, VALUE_LIMITS);
  if (excess !== undefined) throw new StageError("InvalidRequest", `${excess}: ${less}.`);
  let value: Json;
  let issue: string | undefined;
  try {
    const json = utf8.decode(data);
    value = JSON.parse(json);
    issue = roundingIssue(json);
  } catch (error) {
    throw new StageError("InvalidRequest", otherwise, { cause: error });
  }
  if (issue !== undefined) throw new StageError("InvalidRequest", issue);
  return value;
}

export const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value ?? null));

export const toBase64 = (data: Uint8Array): string => Buffer.from(data).toString("base64");

/** The bytes in a guest's answer; undefined if there are none. */
export const bytesIn = ({ data }: JsonObject): Uint8Array | undefined => (typeof data === "string" ? fromBase64(data) : undefined);

export const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));
