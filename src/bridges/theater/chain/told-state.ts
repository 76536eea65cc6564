import { apply } from "../../../core/chain/index.ts";
import type { Body, Json } from "../../../core/contract/index.ts";

/** An actor's state after an event. Undefined if it is unknown because an earlier body was erased. */
export function stateAfter(before: Json | undefined, body: Body | undefined): Json | undefined {
  if (body === undefined) return undefined;
  if (body.state !== undefined) return body.state;
  return body.patch === undefined || before === undefined ? before : apply(before, body.patch);
}
