import { apply } from "../../../core/chain/index.ts";
import type { Body, Json } from "../../../core/contract/index.ts";

/** An actor's state after an event, from the one before it; undefined where it cannot be known: a body before was erased. */
export function stateAfter(before: Json | undefined, body: Body | undefined): Json | undefined {
  if (body === undefined) return undefined;
  if (body.state !== undefined) return body.state;
  return body.patch === undefined || before === undefined ? before : apply(before, body.patch);
}
