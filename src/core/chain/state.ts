import { StoreError, type ChainEvent, type Json } from "../contract/index.ts";
import { apply } from "./apply.ts";
import { readBody } from "./event.ts";

/** A state as a chain tells it, and the behaviour's version it was written by. */
export interface Told {
  readonly state: Json;
  readonly version: number;
}

/**
 * The state after the last of these events, from the last whole state among them.
 * Throws `STORE_CORRUPT` where there is none or a body after it is missing.
 */
export function stateFrom(events: readonly ChainEvent[]): Told {
  const patches: { patch: Json | undefined; version: number }[] = [];
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index];
    const body = event && readBody(event);
    if (body === undefined) break;
    if (body.state === undefined) {
      patches.push({ patch: body.patch, version: body.version });
      continue;
    }
    let told: Told = { state: body.state, version: body.version };
    for (const { patch, version } of patches.toReversed())
      told = { state: patch === undefined ? told.state : apply(told.state, patch), version };
    return told;
  }
  throw new StoreError(
    "STORE_CORRUPT",
    "These events hold no whole state to begin from: read from the last checkpoint, or restore the file from a copy.",
  );
}
