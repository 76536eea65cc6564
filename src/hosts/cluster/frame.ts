import { isUtf8 } from "node:buffer";
import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";

const MESSAGE_DEPTH = 64;
const TOPIC_LENGTH = 256;

function deeperThan(value: unknown, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (max === 0) return true;
  return Object.values(value).some((member) => deeperThan(member, max - 1));
}

/** A line of text as one JSON object. Undefined: it is none, or too deep. */
export function readFrame(line: Uint8Array): JsonObject | undefined {
  if (!isUtf8(line)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("utf8"));
    return isJsonObject(value) && !deeperThan(value, MESSAGE_DEPTH + 1) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A frame's number under that name. Undefined: there is none. */
export function countIn(frame: JsonObject, name: string): number | undefined {
  const value = frame[name];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Undefined: the frame carries no topic with a message. */
export function noteIn(frame: JsonObject): { readonly topic: string; readonly message: Json } | undefined {
  const { topic, message } = frame;
  if (typeof topic !== "string" || topic === "" || topic.length > TOPIC_LENGTH || message === undefined) return undefined;
  return { topic, message };
}

/** Members of a frame as text, without its braces. Undefined: this node may not send that, and none would take it. */
export function noteText(topic: string | undefined, message: Json, frameBytes: number): string | undefined {
  if (topic !== undefined && (topic === "" || topic.length > TOPIC_LENGTH)) return undefined;
  try {
    if (deeperThan(message, MESSAGE_DEPTH)) return undefined;
    const body: unknown = JSON.stringify(message);
    if (typeof body !== "string") return undefined;
    const text = topic === undefined ? `"message":${body}` : `"topic":${JSON.stringify(topic)},"message":${body}`;
    return Buffer.byteLength(text) <= frameBytes ? text : undefined;
  } catch {
    return undefined;
  }
}
