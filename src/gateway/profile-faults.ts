import type { Sayings } from "./errors.ts";

const OFFERS = {
  "tool-unknown": { say: "tool not found: {}" },
  "prompt-unknown": { say: "prompt not found: {}" },
  RESOURCE_NOT_FOUND: { as: "PARAMS", say: "resource not found: {}", plain: true },
  "name-missing": { say: "Invalid params: missing {}" },
} as const satisfies Sayings;

/** As the document has it: whatever is wrong with a message is a reply to it, and so 200. */
export const APPTHEORY_FAULTS: Sayings = {
  ...OFFERS,
  PARSE: { status: 200, say: "Parse error: {}" },
  INVALID_REQUEST: { as: "PARSE", status: 200, say: "Parse error: {}" },
  "batch-empty": { as: "PARSE", status: 200, say: "Parse error: empty batch request" },
  "batch-element": { as: "PARSE", status: 200, say: "Parse error: {}" },
  ID_IN_USE: { status: 200 },
};

/** As the third version has it: what is wrong with the exchange as such is an error in plain JSON. */
export const APPTHEORY_V3_FAULTS: Sayings = {
  ...OFFERS,
  SESSION_UNKNOWN: { bare: true, say: "session not found" },
  SESSION_REQUIRED: { bare: true, say: "missing Mcp-Session-Id" },
  sessionless: { as: "SESSION_REQUIRED", bare: true, say: "missing Mcp-Session-Id" },
  VERB: { bare: true, say: "method not allowed" },
  NOT_ACCEPTABLE: { bare: true, status: 400, say: "POST /mcp requires Accept: application/json and text/event-stream" },
  "listen-accept": { bare: true, status: 400, say: "GET /mcp requires Accept: text/event-stream" },
  MEDIA_TYPE: { bare: true, status: 400, say: "POST /mcp requires Content-Type: application/json" },
  ENVELOPE: { say: "Invalid params: missing or invalid {}" },
  CAPABILITY: { say: "Missing required client capability" },
  "header-missing": { say: "Header mismatch: missing required {} header" },
  "header-conflict": { say: "Header mismatch: conflicting {} header values" },
  "header-malformed": { say: "Header mismatch: malformed {} Base64 encoding" },
  "header-name": { say: "Header mismatch: {} does not match request parameters" },
  "header-version": { say: "Header mismatch: MCP-Protocol-Version does not match request metadata" },
  "routed-name": { as: "ENVELOPE", say: "Invalid params: params.{} must be a non-empty string" },
  "client-response": { say: "Invalid Request: clients must not send JSON-RPC responses" },
};
