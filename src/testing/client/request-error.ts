import { inspect } from "node:util";
import type { Json } from "../../core/contract/index.ts";
import type { ReplyError } from "./message.ts";
import { faultLines, type ServerFault } from "./server-faults.ts";

/** The server answered a call of the test client with a JSON-RPC error. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly method: string;
  /** JSON-RPC's number. */
  readonly code: number;
  readonly data?: Json;

  /** `faults`: what broke in the server meanwhile, which only the message shows. */
  constructor(method: string, { code, message, data }: ReplyError, faults: readonly ServerFault[] = []) {
    const more = data === undefined ? "" : ` data=${inspect(data, { depth: 4, breakLength: Infinity })}`;
    super(`${method} error: code=${code} message=${message}${more}${faultLines(faults)}`);
    this.method = method;
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}
