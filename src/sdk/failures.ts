import { EngineError, type Reply, TroupeError } from "../contract/index.ts";
import { INVALID_PARAMS, RESOURCE_NOT_FOUND } from "./codes.ts";
import { Closed, RpcError, TooLong } from "./rpc-error.ts";

/** A server's error as a refusal: its sentence reaches the caller, its number as data where MCP has no place for it. */
export function refusalOf({ code, message, data }: RpcError): Reply {
  if (code === RESOURCE_NOT_FOUND) return { refused: { code: "UNKNOWN", message } };
  if (code === INVALID_PARAMS) return { refused: { code: "INVALID_PARAMS", message, ...(data === undefined ? undefined : { data }) } };
  return { refused: { code: "REFUSED", message, data: { code, ...(data === undefined ? undefined : { data }) } } };
}

/** What went wrong while a server was asked, as an error whose sentence a caller may read. */
export function faultOf(error: unknown, what: string): TroupeError {
  if (error instanceof TroupeError) return error;
  const cause = { applied: "unknown", cause: error } as const;
  if (error instanceof Closed) return new EngineError("CRASHED", `${what}: the server behind it has closed its connection.`, cause);
  if (error instanceof TooLong) return new EngineError("CRASHED", `${what} failed: ${error.message}`, cause);
  if (error instanceof RpcError) return new EngineError("CRASHED", `${what} failed: ${error.message}`, cause);
  return new EngineError("CRASHED", `${what} failed: the server behind it did what is no MCP.`, cause);
}
