// Owns: a recorded request as a command for a shell, or as a call in the playground.
import type { TrafficDetail } from "../../../../src/bridges/console/shapes.ts";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { isObject, objectIn, textIn } from "../../json.ts";

/** Those that a client chooses; the others follow from the request. */
const CHOSEN = /^(?:content-type|accept|authorization|x-api-key|mcp-[\w-]+)$/;

/** What is hidden is a variable of the shell. */
export function asCurl({ request, requestHeaders }: Pick<TrafficDetail, "request" | "requestHeaders">, url: string): string {
  const given = { "content-type": "application/json", accept: "application/json, text/event-stream", ...requestHeaders };
  const headers = Object.entries(given).flatMap(([name, value]) => {
    if (!CHOSEN.test(name)) return [];
    const hidden = value.includes("[hidden]") || name === "mcp-session-id";
    const text = hidden ? `"${name}: $${name.toUpperCase().replaceAll("-", "_")}"` : quoted(`${name}: ${value}`);
    return [`  -H ${text}`];
  });
  return [`curl ${quoted(url)}`, ...headers, `  -d ${quoted(request)}`].join(" \\\n");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Undefined: the playground has no form for such a request. */
export function asPlaygroundPath(request: string): string | undefined {
  const { method, params } = parsed(request);
  const search = new URLSearchParams();
  if (method === "tools/call") search.set("tool", textIn(params, "name") ?? "");
  else if (method === "prompts/get") search.set("prompt", textIn(params, "name") ?? "");
  else if (method === "resources/read") search.set("resource", textIn(params, "uri") ?? "");
  else return undefined;
  if (params["arguments"] !== undefined) search.set("args", JSON.stringify(params["arguments"]));
  return `/playground?${search}`;
}

function parsed(text: string): { readonly method: string; readonly params: JsonObject } {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { method: textIn(value, "method") ?? "", params: objectIn(value, "params") };
  } catch {
    // A message that was cut is no JSON.
  }
  return { method: "", params: {} };
}
