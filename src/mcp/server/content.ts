// Owns: functions that make content blocks, results, resource contents and prompt messages.
import { type JsonObject, BLOB, CONTENT, type Content, type Json } from "../../core/contract/index.ts";

/** Members of every block: `annotations` (`audience`, `priority`, `lastModified`) and `_meta`. */
export interface BlockExtras {
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

// An interface is not assignable to `JsonObject`, but a `Pick` of it is.
type Extras = Pick<BlockExtras, keyof BlockExtras>;

type TextBlock = Extras & { readonly type: "text"; readonly text: string };
type ImageBlock = Extras & { readonly type: "image"; readonly data: string; readonly mimeType: string };
type AudioBlock = Extras & { readonly type: "audio"; readonly data: string; readonly mimeType: string };
type LinkBlock = Extras & Link & { readonly type: "resource_link" };
type ResourceBlock = Extras & { readonly type: "resource"; readonly resource: Written };

/** One content block as in MCP. */
export type Block = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock;

type Link = {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** In bytes. */
  readonly size?: number;
  readonly icons?: readonly JsonObject[];
};

type Written = { readonly uri: string; readonly mimeType?: string; readonly _meta?: JsonObject } & (
  | { readonly text: string }
  | { readonly blob: string }
);

/** Bytes, or base64 text. */
export type Bytes = Uint8Array | string;

/** A resource's content: text, or bytes. */
export type ResourceContent = {
  readonly uri: string;
  readonly mimeType?: string;
  readonly _meta?: JsonObject;
} & ({ readonly text: string } | { readonly blob: Bytes });

const CHUNK = 0x8000;

function base64(bytes: Bytes): string {
  if (typeof bytes === "string") return bytes;
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
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

/** A link to a resource: `{ uri, name, title?, description?, mimeType?, size?, icons? }`. */
export function resourceLink(link: Link & BlockExtras): LinkBlock {
  return { ...link, type: "resource_link" };
}

/** A complete resource within a result. */
export function embeddedResource(resource: ResourceContent, more: BlockExtras = {}): ResourceBlock {
  return { type: "resource", resource: written(resource), ...extras(more) };
}

/** A result of these blocks; a bare string is a text block. `structured` becomes `structuredContent`. */
export function content(blocks: readonly (string | Block)[], structured?: Json): Content {
  const made = blocks.map((block) => (typeof block === "string" ? text(block) : block));
  return structured === undefined ? { [CONTENT]: made } : { [CONTENT]: made, structured };
}

/** A tool's failure for the client's model (`isError`). */
export function failure(...blocks: readonly (string | Block)[]): Content {
  return { ...content(blocks), isError: true };
}

/** The bytes of a resource with a single content: the URI and the type are those of its definition. */
export function blob(bytes: Bytes): { readonly [BLOB]: string } {
  return { [BLOB]: base64(bytes) };
}

/** Several contents of a resource, each with its own URI. */
export function contents(parts: readonly ResourceContent[]): Content {
  return { [CONTENT]: parts.map((part) => ({ type: "resource", resource: written(part) })) };
}

/** A prompt's message. */
export function message(role: "user" | "assistant", body: string | Block): JsonObject {
  return { role, content: typeof body === "string" ? text(body) : body };
}

/** A prompt of several messages. */
export function messages(all: readonly JsonObject[], description?: string): JsonObject {
  return { messages: all, ...(description === undefined ? {} : { description }) };
}

function written(resource: ResourceContent): Written {
  const { uri, mimeType, _meta } = resource;
  const about = { uri, ...(mimeType === undefined ? {} : { mimeType }), ...(_meta === undefined ? {} : { _meta }) };
  return "text" in resource ? { ...about, text: resource.text } : { ...about, blob: base64(resource.blob) };
}
