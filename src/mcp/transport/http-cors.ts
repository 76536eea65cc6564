import type { ServerResponse } from "node:http";
import type { Answer } from "../../core/contract/index.ts";
import type { HeaderList } from "./http-headers.ts";

const REQUEST_HEADERS =
  "accept, authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";
const EXPOSED = "mcp-protocol-version, mcp-session-id, retry-after, www-authenticate";
const MAX_AGE_S = "600";
// Tools may ask for arguments to be mirrored in headers of this form.
const MIRRORED = /^mcp-param-[a-z0-9_-]{1,64}$/;

/** Lets pages of an allowed origin read the answer. Without credentials: tokens are sent by the page itself, never by the browser. */
export function originHeaders(origin: string): Readonly<Record<string, string>> {
  return { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED };
}

export function allowOrigin(response: ServerResponse, origin: string): void {
  const headers = originHeaders(origin);
  for (const name in headers) response.setHeader(name, headers[name] ?? "");
}

/** What a browser asks before it lets a page call. */
export function preflight(headers: HeaderList, verbs: readonly string[]): Answer {
  const asked = (headers.get("access-control-request-headers") ?? "").toLowerCase().split(",").slice(0, 64);
  const mirrored = asked.map((name) => name.trim()).filter((name) => MIRRORED.test(name));
  return {
    status: 204,
    headers: {
      "access-control-allow-methods": verbs.join(", "),
      "access-control-allow-headers": [REQUEST_HEADERS, ...mirrored].join(", "),
      "access-control-max-age": MAX_AGE_S,
    },
  };
}
