import type { Json, Reply } from "../contract/index.ts";
import { REFUSAL } from "../contract/internal.ts";
import { plain } from "./plain.ts";

/** What `refuse` throws: the turn leaves no trace and its caller is told why (C3). */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: string;
  readonly data?: Json;
  readonly [REFUSAL] = true;
  constructor(message: string, code: string, data?: Json) {
    super(message);
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}

/** Ends the turn without a trace; the caller is told `message` (a refusal, never a fault). `code` defaults to `REFUSED`. */
export function refuse(message: string, options?: { readonly code?: string; readonly data?: unknown }): never {
  const data = options?.data === undefined ? undefined : plain(options.data, "the data of a refusal");
  throw new Refusal(message, options?.code ?? "REFUSED", data);
}

export function refused(code: string, message: string, data?: Json): Reply {
  return { refused: data === undefined ? { code, message } : { code, message, data } };
}

/** The one answer to an action that is not there: hidden and unknown alike (law 3). */
export function unknownAction(action: string): Reply {
  return refused("UNKNOWN", `There is no ${action} here.`);
}
