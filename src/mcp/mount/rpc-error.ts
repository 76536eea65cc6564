import type { Json } from "../../core/contract/index.ts";

/** What a server answered in place of a result. */
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

/** A message beyond the bound. */
export class TooLong extends Error {
  override readonly name = "TooLong";
  constructor(maxLength: number) {
    super(`The server sent a message longer than ${maxLength} characters (maxLength): have it answer less at once, or allow more.`);
  }
}

/** Nothing is answered any more. */
export class Closed extends Error {
  override readonly name = "Closed";
}
