import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { isContext } from "./packet-echo.ts";
import { PACKET_VERSION, REPLY_TYPES, type ReplyPacket } from "./packet.ts";

/** What a server sent, as the packet it is. Undefined: it is none. Fields that version 1.0 does not name are dropped. */
export function readReply(text: string): ReplyPacket | undefined {
  const value = tryParseJson(text);
  if (!isJsonObject(value) || value["version"] !== PACKET_VERSION) return undefined;
  const { id, intent, capability_id, actor_id, payload = {}, context = {}, metadata = {} } = value;
  const type = REPLY_TYPES.find((one) => one === value["type"]);
  if (type === undefined || !isJsonObject(payload) || !isJsonObject(metadata) || !isJsonObject(context) || !isContext(context))
    return undefined;
  if (!isTextOrAbsent(id) || !isTextOrAbsent(intent) || !isTextOrAbsent(capability_id) || !isTextOrAbsent(actor_id)) return undefined;
  return {
    version: PACKET_VERSION,
    type,
    ...(id === undefined ? undefined : { id }),
    ...(intent === undefined ? undefined : { intent }),
    ...(capability_id === undefined ? undefined : { capability_id }),
    ...(actor_id === undefined ? undefined : { actor_id }),
    payload,
    context,
    metadata,
  };
}

const isTextOrAbsent = (value: Json | undefined): value is string | undefined => value === undefined || typeof value === "string";
