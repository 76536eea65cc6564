import { type Bag, BLOB, CONTENT, type Content, type Json } from "../../core/contract/index.ts";

/** What every block may carry: `annotations` (`audience`, `priority`, `lastModified`) and `_meta`. */
export interface BlockExtras {
  readonly annotations?: Bag;
  readonly _meta?: Bag;
}

// An interface is no `Bag`, what is picked of one is.
type Extras = Pick<BlockExtras, keyof BlockExtras>;

type TextBlock = Extras & { readonly type: "text"; readonly text: string };
type ImageBlock = Extras & { readonly type: "image"; readonly data: string; readonly mimeType: string };
type AudioBlock = Extras & { readonly type: "audio"; readonly data: string; readonly mimeType: string };
type LinkBlock = Extras & Link & { readonly type: "resource_link" };
type ResourceBlock = Extras & { readonly type: "resource"; readonly resource: Written };

/** One content block, as MCP writes it. */
export type Block = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock;

type Link = {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** In bytes. */
  readonly size?: number;
  readonly icons?: readonly Bag[];
};

type Written = { readonly uri: string; readonly mimeType?: string; readonly _meta?: Bag } & (
  | { readonly text: string }
  | { readonly blob: string }
);

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

const extras = ({ annotations, _meta }: BlockExtras): Extras => ({
  ...(annotations === undefined ? {} : { annotations }),
  ...(_meta === undefined ? {} : { _meta }),
});

export function text(value: string, more: BlockExtras = {}): TextBlock {
  return { type: "text", text: value, ...extras(more) };
}

export function image(data: Bytes, mimeType: string, more: BlockExtras = {}): ImageBlock {
  return { type: "image", data: base64(data), mimeType, ...extras(more) };
}

export function audio(data: Bytes, mimeType: string, more: BlockExtras = {}): AudioBlock {
  return { type: "audio", data: base64(data), mimeType, ...extras(more) };
}

/** Where to read on: `{ uri, name, title?, description?, mimeType?, size?, icons? }`. */
export function resourceLink(link: Link & BlockExtras): LinkBlock {
  return { ...link, type: "resource_link" };
}

/** A resource whole, within a result. */
export function embeddedResource(resource: ResourceContent, more: BlockExtras = {}): ResourceBlock {
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

function written(resource: ResourceContent): Written {
  const { uri, mimeType, _meta } = resource;
  const about = { uri, ...(mimeType === undefined ? {} : { mimeType }), ...(_meta === undefined ? {} : { _meta }) };
  return "text" in resource ? { ...about, text: resource.text } : { ...about, blob: base64(resource.blob) };
}
