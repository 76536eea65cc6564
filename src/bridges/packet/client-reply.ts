import { isJsonObject } from "../../core/contract/index.ts";
import { ERROR_TYPES, PacketError } from "./packet-error.ts";
import type { ReplyPacket } from "./packet.ts";

/** What a `capability_error` says. A type this version does not know is `execution_failed`, and itself in `details.type`. */
export function errorIn({ payload }: ReplyPacket): PacketError {
  const { type, message, details } = isJsonObject(payload["error"]) ? payload["error"] : {};
  const known = ERROR_TYPES.find((one) => one === type);
  return new PacketError(known ?? "execution_failed", typeof message === "string" ? message : "The server did not say why.", {
    ...(known === undefined && type !== undefined ? { type } : undefined),
    ...(isJsonObject(details) ? details : undefined),
  });
}
