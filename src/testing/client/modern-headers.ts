import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { objectIn } from "./message.ts";

const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** What the headers of a modern request repeat of its body. `definition`: of the tool that is called, where it is known. */
export function modernHeaders(method: string, params: JsonObject, definition: JsonObject | undefined): Record<string, string> {
  const headers: Record<string, string> = { "mcp-method": method };
  const named = Object.hasOwn(NAMED, method) ? params[NAMED[method] ?? ""] : undefined;
  if (typeof named === "string") headers["mcp-name"] = encoded(named);
  if (definition !== undefined) repeat(objectIn(definition, "inputSchema"), params["arguments"], headers);
  return headers;
}

function repeat(schema: JsonObject, value: Json | undefined, headers: Record<string, string>): void {
  const name = schema["x-mcp-header"];
  const plain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (typeof name === "string" && plain) headers[`mcp-param-${name.toLowerCase()}`] = encoded(String(value));
  if (!isJsonObject(value)) return;
  const properties = objectIn(schema, "properties");
  for (const [key, member] of Object.entries(properties))
    if (isJsonObject(member) && Object.hasOwn(value, key)) repeat(member, value[key], headers);
}

// What a header cannot say as it is goes as base64, and so does what looks like that already.
function encoded(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?")) return text;
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
