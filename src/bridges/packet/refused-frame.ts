import type { JsonObject } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { PacketError, type PacketErrorType } from "./packet-error.ts";
import type { RequestPacket } from "./packet.ts";
import { type RefusedPacket, readPacket } from "./read-packet.ts";
import { errorTo } from "./reply.ts";

/** One packet, read for whoever decides what to do with it. */
export type Frame = RequestPacket | RefusedPacket;

/** What a transport answers in place of the capability: it has taken no part in this. */
export function refuseFrame(frame: string | Uint8Array | Frame, error: PacketError): string {
  const read = typeof frame === "string" || frame instanceof Uint8Array ? readPacket(frame) : frame;
  return JSON.stringify(errorTo("echo" in read ? read.echo : read, error, { execution_time_ms: 0 }));
}

/** What a transport answers to a text that is not a packet. */
export const refusalOf = (type: PacketErrorType, message: string, details?: JsonObject, id?: string): string =>
  JSON.stringify(errorTo({ ...omitUndefined({ id }), context: {} }, new PacketError(type, message, details), { execution_time_ms: 0 }));

const TYPES: Readonly<Record<string, PacketErrorType>> = { TOKEN: "unauthorized", SCOPE: "unauthorized", UNAVAILABLE: "unauthorized" };

/** The last line of a TCP listener to a client it does not serve (`TcpOptions.refusal`): a `capability_error`. */
export const packetRefusal = (kind: string, message: string, id: string | number | null): string =>
  refusalOf(TYPES[kind] ?? "protocol_error", message, {}, typeof id === "string" ? id : undefined);
