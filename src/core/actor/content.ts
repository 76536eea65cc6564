import { type Bag, BLOB, CONTENT, type Content } from "../contract/index.ts";
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

export function isContent(value: unknown): value is Content {
  return typeof value === "object" && value !== null && CONTENT in value;
}
