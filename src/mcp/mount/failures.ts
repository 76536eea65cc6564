// Owns: the errors of mounted servers, and what callers get for them.
import { type Json, type JsonObject, EngineError, isJsonObject, isList, type Reply, TroupeError } from "../../core/contract/index.ts";

/** JSON-RPC error codes, in both directions. */
export const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const RESOURCE_NOT_FOUND = -32002;
const URL_ELICITATION_REQUIRED = -32042;

/** An error response of a server. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data?: Json;
  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}

/** A message longer than the limit. */
export class TooLong extends Error {
  override readonly name = "TooLong";
  constructor(maxLength: number) {
    super(`The server sent a message longer than ${maxLength} characters (maxLength): have it answer less at once, or allow more.`);
  }
}

/** The connection is closed. */
export class Closed extends Error {
  override readonly name = "Closed";
}

/** A server's error as a refusal: the caller gets its message, and its code as data unless MCP has a refusal for it. */
export function refusalOf({ code, message, data }: RpcError): Reply {
  if (code === RESOURCE_NOT_FOUND) return { refused: { code: "UNKNOWN", message } };
  if (code === INVALID_PARAMS) return { refused: { code: "INVALID_PARAMS", message, ...(data === undefined ? undefined : { data }) } };
  if (code === URL_ELICITATION_REQUIRED && isJsonObject(data)) {
    const pages = isList(data["elicitations"]) ? data["elicitations"].filter(isPage) : [];
    if (pages.length > 0) {
      // The message contains the addresses too, for clients that show nothing else.
      const links = pages.map(({ url, message: why }) => `${why} ${url}`).join(" ");
      return { refused: { code: "URL_ELICITATION", message: `${message} ${links}`, data: { elicitations: pages } } };
    }
  }
  return { refused: { code: "REFUSED", message, data: { code, ...(data === undefined ? undefined : { data }) } } };
}

interface Page extends JsonObject {
  readonly message: string;
  readonly url: string;
}

function isPage(one: Json): one is Page & Json {
  return (
    isJsonObject(one) && typeof one["url"] === "string" && typeof one["message"] === "string" && typeof one["elicitationId"] === "string"
  );
}

/** A failed request to a server, as an error whose message callers may read. */
export function faultOf(error: unknown, what: string): TroupeError {
  if (error instanceof TroupeError) return error;
  const cause = { applied: "unknown", cause: error } as const;
  if (error instanceof Closed) return new EngineError("CRASHED", `${what}: the server behind it has closed its connection.`, cause);
  if (error instanceof TooLong) return new EngineError("CRASHED", `${what} failed: ${error.message}`, cause);
  if (error instanceof RpcError) return new EngineError("CRASHED", `${what} failed: ${error.message}`, cause);
  return new EngineError("CRASHED", `${what} failed: the server behind it did not follow MCP.`, cause);
}
