import { inspect } from "node:util";
import type { Json } from "../../core/contract/index.ts";
import type { ReplyError } from "./message.ts";

/** The server answered a call of the test client with a JSON-RPC error. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly method: string;
  /** JSON-RPC's number. */
  readonly code: number;
  readonly data?: Json;

  constructor(method: string, { code, message, data }: ReplyError) {
    const more = data === undefined ? "" : ` data=${inspect(data, { depth: 4, breakLength: Infinity })}`;
    super(`${method} error: code=${code} message=${message}${more}`);
    this.method = method;
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}
