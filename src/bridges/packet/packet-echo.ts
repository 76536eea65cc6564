import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { utf8Length } from "../../core/platform/index.ts";
import { memberOf } from "./packet-json.ts";
import { CONTEXT_BYTES, ID_BYTES, INTENT_BYTES } from "./packet-limits.ts";
import { isSound } from "./packet-text.ts";
import type { PacketContext, RequestPacket } from "./packet.ts";

/** What a reply repeats of its request. A `RequestPacket` is one. */
export type PacketEcho = Pick<RequestPacket, "id" | "intent" | "capability_id" | "actor_id" | "context">;

/** The members of `context` that have a meaning: text of 1 to 256 bytes where they are there. */
export const CONTEXT_TEXTS = ["user_id", "session_id", "trace_id", "timestamp"] as const;

const BOUNDS = { id: ID_BYTES, capability_id: ID_BYTES, actor_id: ID_BYTES, intent: INTENT_BYTES };

/**
 * What can be repeated of a value that is no packet: each member alone, where it is of its form and within its bounds. So
 * the sender of a broken packet still learns which of several it was.
 */
export function echoOf(value: Json | undefined, depth: number): PacketEcho {
  if (!isJsonObject(value)) return { context: {} };
  const echo: { id?: string; capability_id?: string; actor_id?: string; intent?: string } = {};
  for (const name of ["id", "intent", "capability_id", "actor_id"] as const) {
    const text = memberOf(value, name);
    if (isText(text, BOUNDS[name], name === "intent" ? 0 : 1) && text.isWellFormed()) echo[name] = text;
  }
  return { ...echo, context: contextOf(memberOf(value, "context"), depth - 1) };
}

/** Text of that many bytes of UTF-8. */
export function isText(value: Json | undefined, maxBytes: number, minBytes = 1): value is string {
  if (typeof value !== "string" || value.length < minBytes || value.length > maxBytes) return false;
  return value.length * 3 <= maxBytes || utf8Length(value) <= maxBytes;
}

/** Whether it may be repeated in every reply. */
export function fitsContext(value: Json): boolean {
  const text = JSON.stringify(value);
  return text.length * 3 <= CONTEXT_BYTES || utf8Length(text) <= CONTEXT_BYTES;
}

function contextOf(value: Json | undefined, depth: number): PacketContext {
  if (!isJsonObject(value)) return {};
  const sound = Object.entries(value).filter(
    ([name, member]) => (!isMeant(name) || isText(member, ID_BYTES)) && name.isWellFormed() && isSound(member, depth - 1),
  );
  // Not by assignment: a member `__proto__` would set what it is named after.
  const context = Object.fromEntries(sound);
  return fitsContext(context) && isContext(context) ? context : {};
}

const MEANT = new Set<string>(CONTEXT_TEXTS);
const isMeant = (name: string): boolean => MEANT.has(name);

/** Whether those of its texts that have a meaning are texts. */
export function isContext(value: JsonObject): value is PacketContext & JsonObject {
  return CONTEXT_TEXTS.every((name) => {
    const text = memberOf(value, name);
    return text === undefined || isText(text, ID_BYTES);
  });
}
