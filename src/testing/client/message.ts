import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";

/** A JSON-RPC request, as the builders make it. */
export interface TestRequest {
  readonly jsonrpc: "2.0";
  readonly id: number | string;
  readonly method: string;
  readonly params?: JsonObject;
}

/** The error of a JSON-RPC response. */
export interface ReplyError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** A JSON-RPC response: either a result or an error. */
export interface TestReply {
  readonly jsonrpc: "2.0";
  /** Null where the server could not tell what it answers. */
  readonly id: number | string | null;
  readonly result?: JsonObject;
  readonly error?: ReplyError;
}

/** What a server tells without being asked. */
export interface Notification {
  readonly method: string;
  readonly params: JsonObject;
}

/** What a server asks of its client. */
export interface Question extends Notification {
  readonly id: number | string;
}

export const isJsonObjects = (value: unknown): value is readonly JsonObject[] => Array.isArray(value) && value.every(isJsonObject);

/** The member, where it is an object; else an empty one. */
export const objectIn = (bag: JsonObject | undefined, name: string): JsonObject => {
  const value = bag?.[name];
  return isJsonObject(value) ? value : {};
};

/** Undefined: it is no JSON. */
export function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

export function isReply(message: unknown): message is TestReply {
  return isJsonObject(message) && "id" in message && (isJsonObject(message["result"]) || isReplyError(message["error"]));
}

const isReplyError = (value: unknown): boolean =>
  isJsonObject(value) && typeof value["code"] === "number" && typeof value["message"] === "string";

export function questionIn(message: JsonObject): Question | undefined {
  const { id, method } = message;
  if (typeof method !== "string" || (typeof id !== "number" && typeof id !== "string")) return undefined;
  return { id, method, params: objectIn(message, "params") };
}

export function notificationIn(message: JsonObject): Notification | undefined {
  const { id, method } = message;
  return typeof method === "string" && id === undefined ? { method, params: objectIn(message, "params") } : undefined;
}
