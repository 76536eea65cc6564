import type { ServerResponse } from "node:http";

/** The id of a JSON-RPC request; nothing else is looked at. */
export const idIn = (text: string): unknown => {
  const message: unknown = JSON.parse(text);
  return typeof message === "object" && message !== null && "id" in message ? message.id : null;
};

/** What is answered where nothing else was given. */
export const ONE = { content: [{ type: "text", text: "1" }] };

/** A constant result. */
export const answer = (response: ServerResponse, id: unknown, result: object = ONE): void => {
  const body = JSON.stringify({ jsonrpc: "2.0", id, result });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
};
