import { type JsonObject, isJsonObject, type Json, isList } from "../../core/contract/index.ts";
import { echoOf, type PacketEcho } from "./packet-echo.ts";
import { PacketError, type PacketErrorType } from "./packet-error.ts";
import { PacketFields } from "./packet-fields.ts";
import { memberOf } from "./packet-json.ts";
import { DEFAULT_PACKET_LIMITS, type PacketLimits } from "./packet-limits.ts";
import { type PacketIssue, parsePacketText } from "./packet-text.ts";
import { PACKET_VERSION, REQUEST_TYPES, type RequestPacket, type RequestType } from "./packet.ts";
import { hasOwn } from "../../core/contract/internal.ts";

/** Why a text is no packet, and what could be read of it all the same: `errorTo(refused.echo, refused, …)` answers it. */
export class RefusedPacket extends PacketError {
  readonly echo: PacketEcho;
  constructor(type: PacketErrorType, message: string, details: JsonObject, echo: PacketEcho) {
    super(type, message, details);
    this.echo = echo;
  }
}

/**
 * One packet from what a client sent, never throwing. Fields that version 1.0 does not name are ignored. A refusal is of
 * type `protocol_error` (`details.issues`: each `{path, message}`), `unsupported_version` (`details.supported`) or
 * `unknown_type` (`details.known`). Whether the capability exists, and may be used, is not asked here.
 */
export function readPacket(text: string | Uint8Array, limits?: Partial<PacketLimits>): RequestPacket | RefusedPacket {
  const bounds = { ...DEFAULT_PACKET_LIMITS, ...limits };
  const { value, issue } = parsePacketText(text, bounds);
  const read = issue === undefined ? packetOf(value ?? null) : malformed([issue]);
  return hasOwn(read, "refused") ? new RefusedPacket(read.refused, read.message, read.details, echoOf(value, bounds.depth)) : read;
}

interface Refusal {
  readonly refused: PacketErrorType;
  readonly message: string;
  readonly details: JsonObject;
}

function packetOf(value: Json): RequestPacket | Refusal {
  if (isList(value)) return malformed([{ path: "", message: "A packet is an object: send several one after the other, each on a line." }]);
  if (!isJsonObject(value)) return malformed([{ path: "", message: "A packet is an object." }]);
  const version = memberOf(value, "version");
  // Another version may mean anything by its fields: they are not judged by the rules of this one.
  if (typeof version === "string" && version !== PACKET_VERSION)
    return {
      refused: "unsupported_version",
      message: `Packets of version ${shown(version)} are not read here: send version "${PACKET_VERSION}".`,
      details: { supported: [PACKET_VERSION] },
    };
  const type = memberOf(value, "type");
  if (typeof type === "string" && !isRequestType(type))
    return {
      refused: "unknown_type",
      message: `There is no request of type ${shown(type)}: send one of ${REQUEST_TYPES.join(", ")}.`,
      details: { known: REQUEST_TYPES },
    };
  const fields = new PacketFields(value);
  if (version === undefined) fields.complain("/version", `A packet says "version": "${PACKET_VERSION}".`);
  else if (typeof version !== "string") fields.complain("/version", `The version is text: "${PACKET_VERSION}".`);
  if (type === undefined || typeof type !== "string") fields.complain("/type", `The type is one of ${REQUEST_TYPES.join(", ")}.`);
  const packet = fields.packet(PACKET_VERSION, isRequestType(type) ? type : undefined);
  return packet ?? malformed(fields.issues);
}

function malformed(issues: readonly PacketIssue[]): Refusal {
  const told = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join(" ");
  return {
    refused: "protocol_error",
    message: told,
    details: { issues: issues.map(({ path, message }) => ({ path, message })) },
  };
}

const isRequestType = (type: Json | undefined): type is RequestType => REQUEST_TYPES.some((known) => known === type);

const shown = (text: string): string => JSON.stringify(text.length > 64 ? `${text.slice(0, 64).toWellFormed()}…` : text);
