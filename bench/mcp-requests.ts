// MCP requests in both eras, and the expected replies of the counter.
import manifest from "../package.json" with { type: "json" };
import type { Answers } from "./answers.ts";
import { Counted } from "./answers.ts";
import type { Started } from "./server-process.ts";
import { post, type Shot } from "./load.ts";

export const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
};

export const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
};
export const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };

export type Headers = Readonly<Record<string, string>>;

export const portOf = ({ ready: { http, port } }: Started): number => Number(typeof http === "string" ? new URL(http).port : port);

/** Opens a legacy session and returns its headers. */
export const openSession = async (port: number): Promise<Headers> => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const url = `http://127.0.0.1:${port}/mcp`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(INITIALIZE) });
  const text = await response.text();
  const session = response.headers.get("mcp-session-id");
  if (session === null) throw new Error(`No session was opened: ${text}`);
  const sessionHeaders = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  await fetch(url, { method: "POST", headers: { ...headers, ...sessionHeaders }, body: JSON.stringify(INITIALIZED) }).then((accepted) =>
    accepted.text(),
  );
  return sessionHeaders;
};

export const openSessions = (port: number, count: number): Promise<readonly Headers[]> =>
  Promise.all(Array.from({ length: count }, () => openSession(port)));

/** A request in a legacy session; with several, each connection has its own. */
export const legacy = (server: Started, sessions: readonly Headers[], answers: Answers, method: string, params: object = {}): Shot => {
  const port = portOf(server);
  return {
    port,
    pid: server.child.pid,
    answers,
    text: (id) => post(port, "/mcp", JSON.stringify({ jsonrpc: "2.0", id, method, params }), sessions[id % sessions.length]),
  };
};

/** A request of 2026-07-28. */
export const modern = (
  server: Started,
  answers: Answers,
  method: string,
  params: { readonly name?: string; readonly arguments?: object } = {},
): Shot => {
  const port = portOf(server);
  const headers = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(params.name === undefined ? {} : { "mcp-name": params.name }),
  };
  return {
    port,
    pid: server.child.pid,
    answers,
    text: (id) => post(port, "/mcp", JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: MODERN } }), headers),
  };
};

export const ADD = { name: "add", arguments: {} };

const counterResult = (count: number) => ({ content: [{ type: "text", text: String(count) }] });

/** Replies of a counter to `add` in a session. */
export const counterReplies = (): Answers => new Counted(counterResult);

const inModern = (result: object, version: string): object => ({
  resultType: "complete",
  ...result,
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "counter", version } },
});

/** The result of examples/counter in 2026-07-28. */
export const modernReply = (count: number): object => inModern({ ...counterResult(count), structuredContent: count }, manifest.version);

export const modernCounterReplies = (): Answers => new Counted(modernReply);

/** Replies of the official SDK's counter in 2026-07-28. */
export const sdkCounterReplies = (): Answers => new Counted((count) => inModern(counterResult(count), "1.0.0"));
