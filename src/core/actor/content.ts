import { type Bag, BLOB, CONTENT, type Content, isBag, type Json } from "../contract/index.ts";
import { isContent, invalidInBlock } from "../contract/internal.ts";
import { badTurn } from "./bad-turn.ts";
import { plain } from "./plain.ts";

/** A reply made of MCP content blocks; a bare string is a text block. `structured` becomes `structuredContent`, checked against the tool's `output`. */
export function content(blocks: readonly (string | Bag)[], structured?: unknown): Content {
  const made = blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block));
  return structured === undefined ? { [CONTENT]: made } : { [CONTENT]: made, structured: plain(structured, "structured content") };
}

/** A resource's bytes; text is taken as base64 already. */
export interface Blob {
  readonly [BLOB]: string;
}

/** What a resource's `view` returns for bytes: they travel as base64. */
export function blob(bytes: Uint8Array | string): Blob {
  return { [BLOB]: typeof bytes === "string" ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
}

/** Clients refuse the whole reply over a block that they cannot read. */
export function readable(value: Json, name: string): Json {
  if (!isContent(value)) return value;
  for (const [at, block] of value[CONTENT].entries()) {
    const wrong = isBag(block) ? invalidInBlock(block) : undefined;
    if (wrong !== undefined) throw badTurn(`${name} has a block no client can read, /${at}: ${wrong}.`);
  }
  return value;
}
