import type { Bag, Json } from "./json.ts";

/**
 * The one mark in a domain value that means MCP content blocks, written by
 * `content()`. Doors other than MCP see the value as it is.
 */
export const CONTENT = "troupe/content";

/** MCP content blocks chosen by the author. */
export interface Content {
  readonly [CONTENT]: readonly Bag[];
  readonly structured?: Json;
  /** Said to the client as it is; absent, nothing is. */
  readonly isError?: boolean;
  /** `_meta` of the result. */
  readonly meta?: Bag;
}

/** A resource's bytes, written by `blob()`. */
export const BLOB = "troupe/blob";
