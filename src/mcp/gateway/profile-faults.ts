import type { Sayings } from "./errors.ts";

const COMMON = {
  "tool-unknown": { say: "tool not found: {}" },
  "prompt-unknown": { say: "prompt not found: {}" },
  RESOURCE_NOT_FOUND: { as: "PARAMS", say: "resource not found: {}", plain: true },
  "name-missing": { say: "Invalid params: missing {}" },
  "params-shape": { say: "Invalid params: {}" },
  PARSE: { status: 200, say: "Parse error: {}" },
  "jsonrpc-missing": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: missing required field: jsonrpc" },
  "jsonrpc-other": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: unsupported jsonrpc version: {}" },
  "method-empty": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: method must not be empty" },
  "id-null": { as: "PARSE", status: 200, say: "Parse error: id must not be null" },
  "member-shape": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: {}" },
  "batch-empty": { as: "PARSE", status: 200, say: "Parse error: empty batch request" },
  "batch-element": { as: "PARSE", status: 200, say: "Parse error: {}" },
} as const satisfies Sayings;

/** As the document has it: whatever is wrong with a message is a reply to it, and so 200. */
export const APPTHEORY_FAULTS: Sayings = {
  ...COMMON,
  INVALID_REQUEST: { as: "PARSE", status: 200, anonymous: true, say: "Parse error: {}" },
  "input-required": { as: "HANDLER" },
  ID_IN_USE: { status: 200 },
};

/** As the third version has it: what is wrong with the exchange as such is an error in plain JSON. */
export const APPTHEORY_V3_FAULTS: Sayings = {
  ...COMMON,
  "batch-sessionless": { as: "PARSE", status: 200, anonymous: true, say: "Parse error: invalid JSON object" },
  "response-shape": { bare: true, say: "invalid JSON-RPC response" },
  "message-shape": { bare: true, say: "invalid JSON-RPC message" },
  "batch-revision": { bare: true, say: "batch requests are only supported for MCP-Protocol-Version 2025-03-26" },
  "session-version": { bare: true, say: "unsupported MCP-Protocol-Version" },
  "session-other-version": { bare: true, say: "MCP-Protocol-Version mismatch" },
  "event-unknown": { bare: true, say: "event not found" },
  "task-argument": { say: "Method not found: tasks not enabled" },
  "input-required": { status: 200, say: "input_required results require MCP protocol version 2026-07-28" },
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
  "header-method": { say: "Header mismatch: Mcp-Method does not match request method" },
  "header-name": { say: "Header mismatch: {} does not match request parameters" },
  "header-version": { say: "Header mismatch: MCP-Protocol-Version does not match request metadata" },
  "routed-name": { as: "ENVELOPE", say: "Invalid params: params.{} must be a non-empty string" },
  "client-response": { say: "Invalid Request: clients must not send JSON-RPC responses" },
};
