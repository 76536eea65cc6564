// Owns: what the console reads in the text of one JSON-RPC message or packet, which may be cut or malformed. Does not own: answering it
// (mcp/gateway, bridges/packet).

import { isJsonObject, isList, type Json, type JsonObject } from "../../core/contract/index.ts";
import { cutText, omitUndefined, tryParseJson } from "../../core/contract/internal.ts";
import type { TrafficRow } from "./shapes.ts";

const MAX_NAME = 256;
/** Longer texts are searched, not parsed: parsing takes about 5 ms for each MiB. */
const MAX_PARSED = 65_536;

export interface MessageText {
  readonly kind: "request" | "notification" | "response" | "batch" | "unreadable";
  /** The id as JSON. */
  readonly id?: string;
  readonly method?: string;
  /** The tool, prompt or URI. */
  readonly name?: string;
  /** Of the text, if it could be parsed. */
  readonly value?: Json;
  /** What a client says of itself in initialize, or in each message since 2026-07-28. */
  readonly client?: string;
  readonly revision?: string;
}

const short = (value: unknown): string | undefined => (typeof value === "string" ? cutText(value, MAX_NAME) : undefined);

const NOTHING: JsonObject = Object.freeze({});

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : NOTHING);

/** Name and version, as clients say. */
export function clientLabel(info: unknown): string | undefined {
  const { name, version } = objectOf(info);
  const label = [short(name), short(version)].filter((part) => part !== undefined && part !== "").join(" ");
  return label === "" ? undefined : label;
}

const META = "io.modelcontextprotocol/";

/** Undefined: it is cut, too long, or no JSON. */
const parsed = (text: string, isCut: boolean): Json | undefined => (isCut || text.length > MAX_PARSED ? undefined : tryParseJson(text));

export function readMessage(text: string, isCut: boolean): MessageText {
  const value = parsed(text, isCut);
  if (value === undefined) return searched(text);
  if (isList(value)) return { kind: "batch", value };
  if (!isJsonObject(value)) return { kind: "unreadable", value };
  return read(value);
}

function read(value: JsonObject): MessageText {
  const { id, method } = value;
  const isNamed = typeof id === "string" || typeof id === "number";
  if (typeof method !== "string")
    return isNamed || id === null ? { kind: "response", value, ...(isNamed && { id: JSON.stringify(id) }) } : { kind: "unreadable", value };
  const params = objectOf(value["params"]);
  const meta = objectOf(params["_meta"]);
  const begins = method === "initialize";
  const client = clientLabel(begins ? params["clientInfo"] : meta[`${META}clientInfo`]);
  const revision = short(begins ? params["protocolVersion"] : meta[`${META}protocolVersion`]);
  const name = nameIn(method, params);
  return {
    kind: isNamed ? "request" : "notification",
    ...(isNamed && { id: JSON.stringify(id) }),
    method: cutText(method, MAX_NAME),
    value,
    ...omitUndefined({ name, client, revision }),
  };
}

function nameIn(method: string, params: JsonObject): string | undefined {
  if (method === "completion/complete") {
    const { name, uri } = objectOf(params["ref"]);
    return short(name) ?? short(uri);
  }
  return short(params["name"]) ?? short(params["uri"]) ?? short(params["taskId"]);
}

const METHOD = /"method"\s*:\s*"([^"\\]{1,256})"/;
const ID = /"id"\s*:\s*("(?:[^"\\]|\\.){0,256}"|-?\d{1,20})/;
const NAME = /"(?:name|uri)"\s*:\s*"([^"\\]{1,256})"/;
const HEAD = 4_096;

/** Of a text that cannot be parsed: what its beginning seems to say. */
function searched(text: string): MessageText {
  const head = text.slice(0, HEAD);
  const method = METHOD.exec(head)?.[1];
  const id = ID.exec(head)?.[1];
  if (method === undefined) return { kind: id === undefined ? "unreadable" : "response", ...omitUndefined({ id }) };
  return { kind: id === undefined ? "notification" : "request", method, ...omitUndefined({ id, name: NAME.exec(head)?.[1] }) };
}

/** How a message ended. */
export interface Ending extends Pick<TrafficRow, "status" | "error" | "code"> {
  /** What a tool's failure says. */
  readonly message?: string;
}

const OK: Ending = Object.freeze({ status: "ok" });
const FAILED: Ending = Object.freeze({ status: "error" });
const TOOL_FAILED: Ending = Object.freeze({ status: "tool-error" });

// Of our own gateway's texts, so that most responses need not be parsed: an error follows the id, and a tool's failure its content.
const ERROR_HEAD = /^\{"jsonrpc":"2\.0","id":(?:null|-?[\d.e+]{1,32}|"(?:[^"\\]|\\.){0,1024}"),"error":/;
const BARE_ERROR = /^\{"error":/;
const TOOL_ERROR = /"isError":true[,}]/;

/** How a request ended, by the text of its response. */
export function readOutcome(text: string, isCut: boolean): Ending {
  const isError = ERROR_HEAD.test(text) || BARE_ERROR.test(text);
  if (!isError && !TOOL_ERROR.test(text)) return OK;
  const value = parsed(text, isCut);
  if (!isJsonObject(value)) return isError ? FAILED : TOOL_FAILED;
  return isError ? errorIn(value) : toolErrorIn(value);
}

function errorIn(value: JsonObject): Ending {
  const { code, message, data } = objectOf(value["error"]);
  return {
    status: "error",
    ...(typeof code === "number" && { error: { code, message: short(message) ?? "" } }),
    ...omitUndefined({ code: short(objectOf(data)["code"]) }),
  };
}

function toolErrorIn(value: JsonObject): Ending {
  const result = objectOf(value["result"]);
  if (result["isError"] !== true) return OK;
  const code = short(objectOf(objectOf(result["_meta"])["troupe/refused"])["code"]);
  const [first] = isList(result["content"]) ? result["content"] : [];
  return { status: "tool-error", ...omitUndefined({ code, message: short(objectOf(first)["text"]) }) };
}

const RESPONSE_HEAD = '{"jsonrpc":"2.0","id":';

/**
 * The id, as JSON, of a response as our gateway writes it. Undefined: another message. Every message of a connection passes here, so it is
 * not parsed.
 */
export function responseId(text: string): string | undefined {
  if (!text.startsWith(RESPONSE_HEAD)) return undefined;
  const from = RESPONSE_HEAD.length;
  const to = text.charCodeAt(from) === 34 ? endOfText(text, from) : text.indexOf(",", from);
  if (to === -1 || text.startsWith('"method"', to + 1)) return undefined;
  return text.slice(from, to);
}

function endOfText(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 92) at += 1;
    else if (code === 34) return at + 1;
  }
  return -1;
}

// ── packets ─────────────────────────────────────────────────────────────────

/** What a client is sent for a packet. */
export interface PacketReply {
  readonly type: string;
  readonly payload: JsonObject;
  readonly metadata: JsonObject;
}

export function readPacketText(text: string, isCut: boolean): MessageText {
  const value = parsed(text, isCut);
  const { id, type, capability_id } = objectOf(value);
  return {
    kind: "request",
    ...(typeof id === "string" && { id: JSON.stringify(id) }),
    method: short(type) ?? "packet",
    ...omitUndefined({ name: short(capability_id), value }),
  };
}

export function packetOutcome({ type, payload, metadata }: PacketReply): Ending {
  if (type !== "capability_error") return { status: "ok" };
  const { message, type: kind } = objectOf(payload["error"]);
  return {
    status: kind === "cancelled" ? "cancelled" : "error",
    ...(typeof message === "string" && { error: { message: cutText(message, MAX_NAME) } }),
    ...omitUndefined({ code: short(metadata["error_code"] ?? kind) }),
  };
}
