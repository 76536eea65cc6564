// Owns: which values with a mark of MCP content are content: those that an actor's author made. Data of a service is data.
import { CONTENT, type Json } from "../../core/contract/index.ts";
import { isBlob, isContent } from "../../core/contract/internal.ts";

const content = new WeakSet<object>();

/** What an actor replied or showed: if its author made content of it, `toReply` hands it on as content. */
export function fromActor(value: Json): Json {
  if (isContent(value)) content.add(value);
  return value;
}

export const isFromActor = (value: unknown): boolean => typeof value === "object" && value !== null && content.has(value);

/** A service's data as a reply. What users wrote may have the members of a mark, and must not pass for content that an author chose. */
export function toReply(plain: Json): Json {
  if (!isMarked(plain)) return plain;
  return { [CONTENT]: [{ type: "text", text: JSON.stringify(plain) }], structured: plain };
}

export const isMarked = (plain: Json): boolean => isContent(plain) || isBlob(plain);
