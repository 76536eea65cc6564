// Clients of both eras that send raw requests and return raw responses.
import type { Send } from "../transport/http-servers.ts";

const PROTOCOL = "2025-11-25";
const INFO = { name: "t", version: "1" };
const HEADERS = { accept: "application/json, text/event-stream", "content-type": "application/json" };

export interface HandCaller {
  readonly session: string;
  /** A tool call with that id; `token` requests progress. */
  call(id: number, name: string, how?: { readonly token?: string; readonly signal?: AbortSignal }): Promise<Response>;
  /** Opens a stream: the standalone one, or a replay from `last`. */
  get(lastEventId?: string): Promise<Response>;
}

const message = (id: number, method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id, method, params });

const given = (signal: AbortSignal | undefined): RequestInit => (signal === undefined ? {} : { signal });

/** A client of 2025-11-25. */
export async function legacyCaller(send: Send, path = "/mcp"): Promise<HandCaller> {
  const params = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: INFO };
  const begun = await send(path, { method: "POST", headers: HEADERS, body: message(0, "initialize", params) });
  await begun.body?.cancel();
  return resumedCaller(send, begun.headers.get("mcp-session-id") ?? "", path);
}

/** The same for an existing session, of this server or another. */
export function resumedCaller(send: Send, session: string, path = "/mcp"): HandCaller {
  const own = { "mcp-session-id": session, "mcp-protocol-version": PROTOCOL };
  return {
    session,
    call: (id, name, { token, signal } = {}) =>
      send(path, {
        method: "POST",
        headers: { ...HEADERS, ...own },
        body: message(id, "tools/call", { name, arguments: {}, ...(token === undefined ? {} : { _meta: { progressToken: token } }) }),
        ...given(signal),
      }),
    get: (last) =>
      send(path, { headers: { accept: "text/event-stream", ...own, ...(last === undefined ? {} : { "last-event-id": last }) } }),
  };
}

/** A client of 2026-07-28. */
export const modernCaller = (send: Send, path = "/mcp"): Pick<HandCaller, "call"> => ({
  call: (id, name, { token, signal } = {}) =>
    send(path, {
      method: "POST",
      headers: { ...HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
      body: message(id, "tools/call", {
        name,
        arguments: {},
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": INFO,
          "io.modelcontextprotocol/clientCapabilities": {},
          ...(token === undefined ? {} : { progressToken: token }),
        },
      }),
      ...given(signal),
    }),
});
