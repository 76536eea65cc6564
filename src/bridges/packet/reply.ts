// Owns: the packets that a server sends: responses, errors, progress, heartbeats. Does not own: reading them (read-packet.ts).
import { type Json, type JsonObject, TroupeError, isJsonObject } from "../../core/contract/index.ts";
import { getOwn, omitUndefined } from "../../core/contract/internal.ts";
import { PACKET_VERSION, PacketError, type PacketErrorType, type ReplyPacket, type ReplyType, type RequestPacket } from "./packet.ts";
import { type PacketEcho, type RefusedPacket, readPacket } from "./read-packet.ts";

/** What a reply contains besides the request's own fields. */
export interface ReplyDetails {
  /** From the packet's arrival to its reply. */
  readonly execution_time_ms: number;
  /** The actor that was used if the packet named none. */
  readonly actor_id?: string;
  /** Messages that the actor has applied, this one included. Absent: no actor replied. */
  readonly message_count?: number;
  /** Generated if the packet had none. */
  readonly trace_id?: string;
}

/**
 * A `capability_response`. A result that is not an object becomes `{ result }`. Metadata: `execution_time_ms`, plus `message_count` of an
 * actor, or else `cache_hit`, which is always false.
 */
export function responseTo(to: PacketEcho, ran: ReplyDetails & { readonly result: Json }): ReplyPacket {
  const metadata =
    ran.message_count === undefined
      ? { execution_time_ms: ran.execution_time_ms, cache_hit: false }
      : { execution_time_ms: ran.execution_time_ms, message_count: ran.message_count };
  return reply("capability_response", to, ran, isJsonObject(ran.result) ? ran.result : { result: ran.result }, metadata);
}

/**
 * A `capability_error`. Metadata: `execution_time_ms`; `error_code`, which is `details.code`, or the code of the `TroupeError` that caused
 * it, or the type in capitals; `retry_after` in whole seconds if `details` have `retry_after` or `reset`.
 */
export function errorTo(to: PacketEcho, error: PacketError, facts: ReplyDetails): ReplyPacket {
  const retry_after = retryAfter(error.details);
  const metadata = {
    execution_time_ms: facts.execution_time_ms,
    ...(facts.message_count === undefined ? undefined : { message_count: facts.message_count }),
    error_code: codeOf(error),
    ...(retry_after === undefined ? undefined : { retry_after }),
  };
  const { type, message, details } = error;
  return reply("capability_error", to, facts, { error: { type, message, details } }, metadata);
}

/** The progress of a request, as its capability reports it. */
interface PacketProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** A `capability_progress`. A response or an error follows later. */
export function progressFor(to: PacketEcho, { progress, total, message }: PacketProgress, facts: ReplyDetails): ReplyPacket {
  // Served modules are not type-checked: what is not of its type is left out.
  const payload = {
    progress,
    ...(total !== undefined && Number.isFinite(total) ? { total } : undefined),
    ...(typeof message === "string" ? { message } : undefined),
  };
  return reply("capability_progress", to, facts, payload, { execution_time_ms: facts.execution_time_ms });
}

export function heartbeatTo(to: PacketEcho, facts: ReplyDetails): ReplyPacket {
  return reply("heartbeat", to, facts, {}, { execution_time_ms: facts.execution_time_ms });
}

function reply(type: ReplyType, to: PacketEcho, facts: ReplyDetails, payload: JsonObject, metadata: JsonObject): ReplyPacket {
  const actor_id = facts.actor_id ?? to.actor_id;
  return {
    version: PACKET_VERSION,
    type,
    ...(to.id === undefined ? undefined : { id: to.id }),
    ...(to.intent === undefined ? undefined : { intent: to.intent }),
    ...(to.capability_id === undefined ? undefined : { capability_id: to.capability_id }),
    ...(actor_id === undefined ? undefined : { actor_id }),
    payload,
    context: facts.trace_id === undefined ? to.context : { ...to.context, trace_id: facts.trace_id },
    metadata,
  };
}

function codeOf({ details, cause, type }: PacketError): string {
  const code = getOwn(details, "code");
  if (typeof code === "string" && code !== "") return code;
  return cause instanceof TroupeError ? cause.code : type.toUpperCase();
}

function retryAfter(details: JsonObject): number | undefined {
  const seconds = getOwn(details, "retry_after") ?? getOwn(details, "reset");
  return typeof seconds === "number" && Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined;
}

/** A frame that has been read: a packet, or why it is not one. */
export type Frame = RequestPacket | RefusedPacket;

/** An error packet from the transport itself, without running the capability. */
export function refuseFrame(frame: string | Uint8Array | Frame, error: PacketError): string {
  const read = typeof frame === "string" || frame instanceof Uint8Array ? readPacket(frame) : frame;
  return JSON.stringify(errorTo("echo" in read ? read.echo : read, error, { execution_time_ms: 0 }));
}

/** The same for a text that is not a packet. */
export const refusalText = (type: PacketErrorType, message: string, details?: JsonObject, id?: string): string =>
  JSON.stringify(errorTo({ ...omitUndefined({ id }), context: {} }, new PacketError(type, message, details), { execution_time_ms: 0 }));

const TYPES: Readonly<Record<string, PacketErrorType>> = { TOKEN: "unauthorized", SCOPE: "unauthorized", UNAVAILABLE: "unauthorized" };

/** What a TCP listener sends to a client it refuses (`TcpOptions.refusal`): a `capability_error`. */
export const packetRefusal = (kind: string, message: string, id: string | number | null): string =>
  refusalText(TYPES[kind] ?? "protocol_error", message, {}, typeof id === "string" ? id : undefined);
