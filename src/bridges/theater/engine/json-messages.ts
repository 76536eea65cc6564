// Owns: messages to actors that are not guests, as JSON text. Does not own: messages to guests, which are bytes (engine-stage.ts).
import { isJsonObject, type Json } from "../../../core/contract/index.ts";
import { tooManyValues, VALUE_LIMITS } from "../../../core/contract/internal.ts";
import { StageError } from "../stage.ts";

/** A message to an actor that is not a guest. */
export interface JsonMessage {
  readonly action: string;
  readonly args: Json;
}

const SHAPE = 'JSON text {"action": "tools/look", "args": {…}}';
const text = new TextDecoder("utf-8", { fatal: true });

/** Messages are bytes in Theater's protocol. For actors that are not guests they hold JSON text of an action and its arguments. */
export function parseMessage(data: Uint8Array): JsonMessage {
  const excess = tooManyValues(data, VALUE_LIMITS);
  if (excess !== undefined) throw new StageError("InvalidRequest", `${excess}: send less at once.`);
  let value: unknown;
  try {
    value = JSON.parse(text.decode(data));
  } catch (error) {
    throw new StageError("InvalidRequest", `This actor is no WebAssembly guest: send it ${SHAPE}.`, { cause: error });
  }
  if (!isJsonObject(value) || typeof value["action"] !== "string" || value["action"] === "")
    throw new StageError("InvalidRequest", `This actor is no WebAssembly guest: send it ${SHAPE}; this has no action.`);
  const { action, args = {} } = value;
  return { action, args };
}

export const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value ?? null));
