// Owns: what the console reads in the text of one packet, which may be cut or malformed. Does not own: answering it (bridges/packet).

import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { cutText, tryParseJson } from "../../core/contract/internal.ts";
import type { MessageText } from "./json-rpc-text.ts";
import type { Ending } from "./traffic-row.ts";

const MAX_NAME = 256;
/** Longer texts are not parsed: it takes about 5 ms for each MiB. */
const MAX_PARSED = 65_536;

/** What a client is sent for a packet. */
export interface PacketReply {
  readonly type: string;
  readonly payload: JsonObject;
  readonly metadata: JsonObject;
}

export function readPacketText(text: string, isCut: boolean): MessageText {
  const value = isCut || text.length > MAX_PARSED ? undefined : tryParseJson(text);
  const { id, type, capability_id: capability } = isJsonObject(value) ? value : {};
  return {
    kind: "request",
    ...(typeof id === "string" && { id: JSON.stringify(id) }),
    method: typeof type === "string" ? cutText(type, MAX_NAME) : "packet",
    ...(typeof capability === "string" && { name: cutText(capability, MAX_NAME) }),
    ...(value !== undefined && { value }),
  };
}

export function packetOutcome({ type, payload, metadata }: PacketReply): Ending {
  if (type !== "capability_error") return { status: "ok" };
  const { error } = payload;
  const { message, type: kind } = isJsonObject(error) ? error : {};
  const code = metadata["error_code"] ?? kind;
  return {
    status: kind === "cancelled" ? "cancelled" : "error",
    ...(typeof message === "string" && { error: { message: cutText(message, MAX_NAME) } }),
    ...(typeof code === "string" && { code: cutText(code, MAX_NAME) }),
  };
}
