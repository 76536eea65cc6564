// Owns: reading packets of clients and of servers, and what a reply repeats of a request.
//   Does not own: JSON syntax and limits (packet-json.ts), the schema for clients (packet-schema.ts).
import { type Json, type JsonObject, isJsonObject, isList } from "../../core/contract/index.ts";
import { getOwn, hasOwn, tryParseJson } from "../../core/contract/internal.ts";
import { type PacketIssue, fitsBytes, isSerialisable, parsePacketText } from "./packet-json.ts";
import {
  type ActorOptions,
  CONTEXT_BYTES,
  DEFAULT_PACKET_LIMITS,
  ID_BYTES,
  INTENT_BYTES,
  PACKET_VERSION,
  PERSISTENCES,
  type PacketContext,
  PacketError,
  type PacketErrorType,
  type PacketLimits,
  type Persistence,
  REPLY_TYPES,
  REQUEST_TYPES,
  type ReplyPacket,
  type RequestPacket,
  type RequestType,
  STATE_TIMEOUT_MS,
} from "./packet.ts";

/** Why a text is not a packet, and what of it a reply can repeat: `errorTo(refused.echo, refused, …)`. */
export class RefusedPacket extends PacketError {
  readonly echo: PacketEcho;
  constructor(type: PacketErrorType, message: string, details: JsonObject, echo: PacketEcho) {
    super(type, message, details);
    this.echo = echo;
  }
}

/**
 * Reads a client's packet. Never throws. Ignores fields that version 1.0 does not name. Refuses with `protocol_error`
 * (`details.issues`: each `{path, message}`), `unsupported_version` (`details.supported`) or `unknown_type` (`details.known`).
 * Does not check that the capability exists or may be used.
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
  const version = getOwn(value, "version");
  // The fields of another version may mean anything, so they are not checked.
  if (typeof version === "string" && version !== PACKET_VERSION)
    return {
      refused: "unsupported_version",
      message: `Packets of version ${preview(version)} are not read here: send version "${PACKET_VERSION}".`,
      details: { supported: [PACKET_VERSION] },
    };
  const type = getOwn(value, "type");
  if (typeof type === "string" && !isRequestType(type))
    return {
      refused: "unknown_type",
      message: `There is no request of type ${preview(type)}: send one of ${REQUEST_TYPES.join(", ")}.`,
      details: { known: REQUEST_TYPES },
    };
  const fields = new RequestReader(value);
  if (version === undefined) fields.addIssue("/version", `A packet says "version": "${PACKET_VERSION}".`);
  else if (typeof version !== "string") fields.addIssue("/version", `The version is text: "${PACKET_VERSION}".`);
  if (type === undefined || typeof type !== "string") fields.addIssue("/type", `The type is one of ${REQUEST_TYPES.join(", ")}.`);
  const packet = fields.packet(isRequestType(type) ? type : undefined);
  return packet ?? malformed(fields.issues);
}

function malformed(issues: readonly PacketIssue[]): Refusal {
  const sentences = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join(" ");
  return {
    refused: "protocol_error",
    message: sentences,
    details: { issues: issues.map(({ path, message }) => ({ path, message })) },
  };
}

const isRequestType = (type: Json | undefined): type is RequestType => REQUEST_TYPES.some((known) => known === type);

const preview = (text: string): string => JSON.stringify(text.length > 64 ? `${text.slice(0, 64).toWellFormed()}…` : text);

/** Reads the fields of one request and collects all issues. */
class RequestReader {
  readonly issues: PacketIssue[] = [];
  readonly #source: JsonObject;

  constructor(from: JsonObject) {
    this.#source = from;
  }

  addIssue(path: string, message: string): undefined {
    this.issues.push({ path, message });
  }

  /** Undefined: see `issues`. Without a type, only the fields that all types share are checked. */
  packet(type: RequestType | undefined): RequestPacket | undefined {
    const id = this.#text("id");
    const intent = this.#text("intent", INTENT_BYTES, 0);
    const capability_id = this.#text("capability_id");
    const actor_id = this.#text("actor_id");
    const payload = this.#object("payload");
    const context = this.#context();
    const actor_options = this.#actorOptions();
    const metadata = this.#object("metadata");
    if (type !== undefined) this.#checkTypeFields(type, payload ?? {});
    if (type === undefined || this.issues.length > 0) return undefined;
    return {
      version: PACKET_VERSION,
      type,
      ...(id === undefined ? undefined : { id }),
      ...(intent === undefined ? undefined : { intent }),
      ...(capability_id === undefined ? undefined : { capability_id }),
      ...(actor_id === undefined ? undefined : { actor_id }),
      payload: payload ?? {},
      context,
      ...(actor_options === undefined ? undefined : { actor_options }),
      ...(metadata === undefined ? undefined : { metadata }),
    };
  }

  #checkTypeFields(type: RequestType, payload: JsonObject): void {
    if ((type === "capability_request" || type === "actor_message") && getOwn(this.#source, "capability_id") === undefined)
      this.addIssue("/capability_id", `A packet of type ${type} names the capability it is for.`);
    if (type === "mcp_request" && !isJsonObject(getOwn(payload, "mcp_message")))
      this.addIssue("/payload/mcp_message", "An mcp_request carries one JSON-RPC message, as an object.");
    if (type === "cancel" && !isText(getOwn(payload, "id"), ID_BYTES))
      this.addIssue("/payload/id", `A cancel names the id of the request to end: text of 1 to ${ID_BYTES} bytes.`);
  }

  #text(name: string, maxBytes = ID_BYTES, minBytes = 1): string | undefined {
    const value = getOwn(this.#source, name);
    if (value === undefined || isText(value, maxBytes, minBytes)) return value;
    return this.addIssue(`/${name}`, `Must be text of ${minBytes} to ${maxBytes} bytes, or absent.`);
  }

  #object(name: string): JsonObject | undefined {
    const value = getOwn(this.#source, name);
    if (value === undefined || isJsonObject(value)) return value;
    return this.addIssue(`/${name}`, "Must be an object, or absent.");
  }

  #context(): PacketContext {
    const context = this.#object("context");
    if (context === undefined) return {};
    if (!fitsContext(context)) this.addIssue("/context", `Must have at most ${CONTEXT_BYTES} bytes: send what is long in the payload.`);
    if (isContext(context)) return context;
    for (const name of CONTEXT_TEXTS) {
      const text = getOwn(context, name);
      if (text !== undefined && !isText(text, ID_BYTES))
        this.addIssue(`/context/${name}`, `Must be text of 1 to ${ID_BYTES} bytes, or absent.`);
    }
    return {};
  }

  #actorOptions(): ActorOptions | undefined {
    const options = this.#object("actor_options");
    if (options === undefined) return undefined;
    const create = getOwn(options, "create_if_missing");
    const timeout = getOwn(options, "state_timeout");
    const persistence = getOwn(options, "persistence");
    if (create !== undefined && typeof create !== "boolean")
      this.addIssue("/actor_options/create_if_missing", "Must be true, false or absent.");
    if (timeout !== undefined && !isTimeout(timeout))
      this.addIssue("/actor_options/state_timeout", `Must be milliseconds, more than 0 and at most ${STATE_TIMEOUT_MS}, or absent.`);
    if (persistence !== undefined && !isPersistence(persistence))
      this.addIssue("/actor_options/persistence", `Must be one of ${PERSISTENCES.join(", ")}, or absent.`);
    return {
      ...(typeof create === "boolean" ? { create_if_missing: create } : undefined),
      ...(isTimeout(timeout) ? { state_timeout: timeout } : undefined),
      ...(isPersistence(persistence) ? { persistence } : undefined),
    };
  }
}

const isTimeout = (value: Json | undefined): value is number => typeof value === "number" && value > 0 && value <= STATE_TIMEOUT_MS;

const isPersistence = (value: Json | undefined): value is Persistence => PERSISTENCES.some((known) => known === value);

/** The fields of a request that a reply repeats. A `RequestPacket` is one. */
export type PacketEcho = Pick<RequestPacket, "id" | "intent" | "capability_id" | "actor_id" | "context">;

/** The known members of `context`: text of 1 to 256 bytes if present. */
export const CONTEXT_TEXTS = ["user_id", "session_id", "trace_id", "timestamp"] as const;

const BOUNDS = { id: ID_BYTES, capability_id: ID_BYTES, actor_id: ID_BYTES, intent: INTENT_BYTES };

/** What can be repeated of an invalid packet: each member that is valid by itself. With it the sender learns which of its packets was broken. */
function echoOf(value: Json | undefined, depth: number): PacketEcho {
  if (!isJsonObject(value)) return { context: {} };
  const echo: { id?: string; capability_id?: string; actor_id?: string; intent?: string } = {};
  for (const name of ["id", "intent", "capability_id", "actor_id"] as const) {
    const text = getOwn(value, name);
    if (isText(text, BOUNDS[name], name === "intent" ? 0 : 1) && text.isWellFormed()) echo[name] = text;
  }
  return { ...echo, context: contextEcho(getOwn(value, "context"), depth - 1) };
}

/** Text of `minBytes` to `maxBytes` bytes of UTF-8. */
function isText(value: Json | undefined, maxBytes: number, minBytes = 1): value is string {
  return typeof value === "string" && value.length >= minBytes && value.length <= maxBytes && fitsBytes(value, maxBytes);
}

/** Whether the context is small enough to be repeated in every reply. */
const fitsContext = (value: Json): boolean => fitsBytes(JSON.stringify(value), CONTEXT_BYTES);

function contextEcho(value: Json | undefined, depth: number): PacketContext {
  if (!isJsonObject(value)) return {};
  const repeatable = Object.entries(value).filter(
    ([name, member]) =>
      (!isKnownContextField(name) || isText(member, ID_BYTES)) && name.isWellFormed() && isSerialisable(member, depth - 1),
  );
  // `fromEntries` also handles a member `__proto__`, which an assignment would not.
  const context = Object.fromEntries(repeatable);
  return fitsContext(context) && isContext(context) ? context : {};
}

const isKnownContextField = (name: string): boolean => CONTEXT_TEXTS.some((known) => known === name);

/** Whether the known members are valid texts. */
function isContext(value: JsonObject): value is PacketContext & JsonObject {
  return CONTEXT_TEXTS.every((name) => {
    const text = getOwn(value, name);
    return text === undefined || isText(text, ID_BYTES);
  });
}

/** Reads a server's packet. Undefined: it is not one. Drops fields that version 1.0 does not name. */
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
