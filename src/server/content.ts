import { type Bag, BLOB, CONTENT, type Content, type Json } from "../contract/index.ts";

/** One content block, as MCP writes it. */
export type Block = Bag & { readonly type: string };

/** What every block may carry: `annotations` (`audience`, `priority`, `lastModified`) and `_meta`. */
export interface BlockExtras {
  readonly annotations?: Bag;
  readonly _meta?: Bag;
}

/** Bytes, or base64 text already. */
export type Bytes = Uint8Array | string;

/** A resource's content: text, or bytes. */
export type ResourceContent = {
  readonly uri: string;
  readonly mimeType?: string;
  readonly _meta?: Bag;
} & ({ readonly text: string } | { readonly blob: Bytes });

const PIECE = 0x8000;

function base64(bytes: Bytes): string {
  if (typeof bytes === "string") return bytes;
  let binary = "";
  for (let at = 0; at < bytes.length; at += PIECE) binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}

const extras = ({ annotations, _meta }: BlockExtras): Bag => ({
  ...(annotations === undefined ? {} : { annotations }),
  ...(_meta === undefined ? {} : { _meta }),
});

export function text(value: string, more: BlockExtras = {}): Block {
  return { type: "text", text: value, ...extras(more) };
}

export function image(data: Bytes, mimeType: string, more: BlockExtras = {}): Block {
  return { type: "image", data: base64(data), mimeType, ...extras(more) };
}

export function audio(data: Bytes, mimeType: string, more: BlockExtras = {}): Block {
  return { type: "audio", data: base64(data), mimeType, ...extras(more) };
}

/** Where to read on: `{ uri, name, title?, description?, mimeType?, size?, icons? }`. */
export function resourceLink(link: Bag & { readonly uri: string; readonly name: string }): Block {
  return { ...link, type: "resource_link" };
}

/** A resource whole, within a result. */
export function embeddedResource(resource: ResourceContent, more: BlockExtras = {}): Block {
  return { type: "resource", resource: written(resource), ...extras(more) };
}

/** A result of these blocks; a bare string is a text block. `structured` becomes `structuredContent`. */
export function content(blocks: readonly (string | Block)[], structured?: Json): Content {
  const made = blocks.map((block) => (typeof block === "string" ? text(block) : block));
  return structured === undefined ? { [CONTENT]: made } : { [CONTENT]: made, structured };
}

/** A tool's failure that its caller's model shall read. Its blocks are content: nothing else tells a failure from a result. */
export function failure(...blocks: readonly (string | Block)[]): Content {
  return { ...content(blocks), isError: true };
}

/** A resource's bytes, for one that has a single content: the URI and the type are those of its definition. */
export function blob(bytes: Bytes): { readonly [BLOB]: string } {
  return { [BLOB]: base64(bytes) };
}

/** A resource's contents, each with its own URI. */
export function contents(parts: readonly ResourceContent[]): Content {
  return { [CONTENT]: parts.map((part) => ({ type: "resource", resource: written(part) })) };
}

/** A prompt's message. */
export function message(role: "user" | "assistant", said: string | Block): Bag {
  return { role, content: typeof said === "string" ? text(said) : said };
}

/** A prompt of several messages. */
export function messages(all: readonly Bag[], description?: string): Bag {
  return { messages: all, ...(description === undefined ? {} : { description }) };
}

function written(resource: ResourceContent): Bag {
  const { uri, mimeType, _meta } = resource;
  const about = { uri, ...(mimeType === undefined ? {} : { mimeType }), ...(_meta === undefined ? {} : { _meta }) };
  return "text" in resource ? { ...about, text: resource.text } : { ...about, blob: base64(resource.blob) };
}
