// Owns: what a client gets for a reply that no request of its own led to: for the console. Does not own: the shapes (result-shapes.ts).
import { isJsonObject, type JsonObject, type ListName, type Reply } from "../../core/contract/index.ts";
import { hasOwn, isContent, tryParseJson } from "../../core/contract/internal.ts";
import { promptMembers, resourceMembers, toolError, toolMembers } from "./result-shapes.ts";
import { LATEST_MODERN } from "./revision.ts";

/** The result in the newest revision of MCP. Undefined: it is an error there, or a question. */
export function clientResult(list: ListName, reply: Reply, definition: JsonObject): JsonObject | undefined {
  const members = membersOf(list, reply, definition);
  const result = members === undefined ? undefined : tryParseJson(`{${members}}`);
  if (!isJsonObject(result)) return undefined;
  const meta = hasOwn(reply, "ok") && isContent(reply.ok) ? reply.ok["meta"] : undefined;
  return meta === undefined ? result : { ...result, _meta: meta };
}

function membersOf(list: ListName, reply: Reply, definition: JsonObject): string | undefined {
  if (!hasOwn(reply, "ok")) return list === "tools" && hasOwn(reply, "refused") ? toolError(reply.refused.message) : undefined;
  if (list === "tools") return toolMembers(reply.ok, definition, LATEST_MODERN);
  if (list === "prompts") return promptMembers(reply.ok, definition, LATEST_MODERN);
  const { uri = definition["uriTemplate"] } = definition;
  return resourceMembers(reply.ok, typeof uri === "string" ? uri : "", definition, LATEST_MODERN);
}
