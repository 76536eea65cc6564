// Owns: JSON-RPC messages, and the headers of MCP over HTTP in both eras. Does not own: when they are sent (client.ts).
import type { Json, JsonObject } from "../../../src/core/contract/index.ts";
import { isObject, objectIn, textIn } from "../json.ts";

export type Era = "legacy" | "modern";

/** Newest first. */
export const REVISIONS: readonly string[] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
export const eraOf = (revision: string): Era => (revision >= "2026-07-28" ? "modern" : "legacy");

export const TASKS = "io.modelcontextprotocol/tasks";
export const APPS = "io.modelcontextprotocol/ui";
/** The media type of an app. */
export const APP_TYPE = "text/html;profile=mcp-app";
const META = "io.modelcontextprotocol/";

export interface Message {
  readonly jsonrpc: "2.0";
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Json };
}

/** Undefined: the text is no message. */
export function parseMessage(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { id, method, params, result, error } = value;
    const code = isObject(error) ? error["code"] : undefined;
    return {
      jsonrpc: "2.0",
      ...(typeof id === "string" || typeof id === "number" || id === null ? { id } : {}),
      ...(typeof method === "string" ? { method } : {}),
      ...(isObject(params) ? { params } : {}),
      ...(isObject(result) ? { result } : {}),
      ...(isObject(error)
        ? {
            error: {
              code: typeof code === "number" ? code : 0,
              message: textIn(error, "message") ?? "",
              ...(error["data"] === undefined ? {} : { data: error["data"] }),
            },
          }
        : {}),
    };
  } catch {
    return undefined;
  }
}

export interface Identity {
  readonly revision: string;
  readonly info: JsonObject;
  readonly capabilities: JsonObject;
  /** Modern: the least level of log messages that are wanted. Undefined: none are. */
  readonly logLevel: string | undefined;
}

/** What every modern request says about its client. */
export const envelope = ({ revision, info, capabilities, logLevel }: Identity): JsonObject => ({
  [`${META}protocolVersion`]: revision,
  [`${META}clientInfo`]: info,
  [`${META}clientCapabilities`]: capabilities,
  ...(logLevel === undefined ? {} : { [`${META}logLevel`]: logLevel }),
});

const NAMED: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** What the headers of a modern request repeat of its body. `definition`: of the tool that is called. */
export function modernHeaders(method: string, params: JsonObject, definition: JsonObject | undefined): Record<string, string> {
  const headers: Record<string, string> = { "mcp-method": method };
  const named = textIn(params, NAMED.get(method) ?? "");
  if (named !== undefined) headers["mcp-name"] = headerValue(named);
  if (definition !== undefined) repeatArguments(objectIn(definition, "inputSchema"), params["arguments"], headers);
  return headers;
}

function repeatArguments(schema: JsonObject, value: Json | undefined, headers: Record<string, string>): void {
  const name = schema["x-mcp-header"];
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (typeof name === "string" && isPlain) headers[`mcp-param-${name.toLowerCase()}`] = headerValue(String(value));
  if (!isObject(value)) return;
  for (const [key, member] of Object.entries(objectIn(schema, "properties")))
    if (isObject(member) && Object.hasOwn(value, key)) repeatArguments(member, value[key], headers);
}

// What a header cannot contain is sent as base64, and so is what looks like that.
function headerValue(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?")) return text;
  return `=?base64?${btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""))}?=`;
}
