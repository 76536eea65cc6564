import type { ServerResponse } from "node:http";

/** The id of a JSON-RPC request. Checks nothing else. */
export const idIn = (text: string): unknown => {
  const message: unknown = JSON.parse(text);
  return typeof message === "object" && message !== null && "id" in message ? message.id : null;
};

/** The default result. */
export const ONE = { content: [{ type: "text", text: "1" }] };

/** Responds with a constant result. */
export const answer = (response: ServerResponse, id: unknown, result: object = ONE): void => {
  const body = JSON.stringify({ jsonrpc: "2.0", id, result });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
};
