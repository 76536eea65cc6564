import { post } from "./load.ts";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
};

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
});
const INITIALIZED = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });

const legacy = (session: string): Readonly<Record<string, string>> => ({
  "mcp-session-id": session,
  "mcp-protocol-version": "2025-11-25",
});

/** The requests of idle clients. */
export const bench = {
  initialize: (port: number): string => post(port, "/mcp", INITIALIZE),
  initialized: (port: number, session: string): string => post(port, "/mcp", INITIALIZED, legacy(session)),
  /** Over TCP. Requests the list, since the server notifies of changes only after that. */
  lines: [INITIALIZE, INITIALIZED, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }), ""].join("\n"),
  call: (port: number, session: string, name: string, meta: object = {}): string =>
    post(
      port,
      "/mcp",
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, _meta: meta } }),
      legacy(session),
    ),
  get: (port: number, session: string): string =>
    [
      "GET /mcp HTTP/1.1",
      `Host: 127.0.0.1:${port}`,
      "Accept: text/event-stream",
      ...Object.entries(legacy(session)).map(([name, value]) => `${name}: ${value}`),
      "",
      "",
    ].join("\r\n"),
  listen: (port: number): string =>
    post(
      port,
      "/mcp",
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "subscriptions/listen",
        params: { notifications: { toolsListChanged: true }, _meta: MODERN },
      }),
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" },
    ),
};
