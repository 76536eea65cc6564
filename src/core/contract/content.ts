import { type Bag, isBag, isList, type Json } from "./json.ts";

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

/** What stands beside a mark. */
const OF_CONTENT: ReadonlySet<string> = new Set([CONTENT, "structured", "isError", "meta", "messages", "description"]);
const OF_BLOB: ReadonlySet<string> = new Set([BLOB, "mimeType"]);

const holdsOnly = (value: Bag, names: ReadonlySet<string>): boolean => Object.keys(value).every((key) => names.has(key));

/** Made of blocks. With other members it is data, a record say, in which somebody chose the mark as a name. */
export function isContent(value: unknown): value is Bag & { readonly [CONTENT]: readonly Json[] } {
  return isBag(value) && isList(value[CONTENT]) && holdsOnly(value, OF_CONTENT);
}

/** Likewise. */
export function isBlob(value: unknown): value is Bag & { readonly [BLOB]: string } {
  return isBag(value) && typeof value[BLOB] === "string" && holdsOnly(value, OF_BLOB);
}

const BLOCKS = new Set<unknown>(["text", "image", "audio", "resource", "resource_link"]);
const RESULT = new Set(["content", "isError", "structuredContent", "_meta"]);

/**
 * A result as other servers' handlers write it, `{ content: [{ type, … }], isError? }`. As a domain value it would be told as
 * data, and a failure as a success; whoever has it as data has other members beside it.
 */
export function isBareResult(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "content")) return false;
  const blocks: unknown = Reflect.get(value, "content");
  if (!Array.isArray(blocks) || !Object.keys(value).every((key) => RESULT.has(key))) return false;
  if (blocks.length === 0) return "isError" in value;
  return blocks.every((block: unknown) => typeof block === "object" && block !== null && "type" in block && BLOCKS.has(block.type));
}

/** What the author of one is told. */
export const BARE_RESULT =
  "is a result as MCP writes it, and here a value: return content([…], structured?), or for isError failure(…) or refuse(…)";
