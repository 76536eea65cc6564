import type { Json } from "../contract/index.ts";

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

/** Nothing is answered any more. */
export class Closed extends Error {
  override readonly name = "Closed";
}
