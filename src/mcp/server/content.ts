// Owns: functions that make content blocks, results, resource contents and prompt messages.
import { type JsonObject, BLOB, CONTENT, type Content, type Json, TroupeError } from "../../core/contract/index.ts";
import { isBase64 } from "../../core/contract/internal.ts";

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

/**
 * A text block. `more` holds annotations and `_meta`.
 *
 * @example
 * ```ts
 * import { content, text } from "troupe/server";
 *
 * content([text("Only for the person.", { annotations: { audience: ["user"] } }), "For everybody."]);
 * ```
 */
export function text(value: string, more: BlockExtras = {}): TextBlock {
  return { type: "text", text: value, ...extras(more) };
}

/**
 * A picture: bytes, or text that is base64 already.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { content, image } from "troupe/server";
 *
 * content(["The plan:", image(await readFile("plan.png"), "image/png")]);
 * ```
 */
export function image(data: Bytes, mimeType: string, more: BlockExtras = {}): ImageBlock {
  return { type: "image", data: base64(data), mimeType, ...extras(more) };
}

/**
 * A sound: bytes, or text that is base64 already.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { audio, content } from "troupe/server";
 *
 * content([audio(await readFile("bell.wav"), "audio/wav")]);
 * ```
 */
export function audio(data: Bytes, mimeType: string, more: BlockExtras = {}): AudioBlock {
  return { type: "audio", data: base64(data), mimeType, ...extras(more) };
}

/**
 * A link to a resource: `{ uri, name, title?, description?, mimeType?, size?, icons? }`.
 *
 * @example
 * ```ts
 * import { content, resourceLink } from "troupe/server";
 *
 * content(["The report is ready.", resourceLink({ uri: "report://2026-07", name: "report", mimeType: "text/markdown" })]);
 * ```
 */
export function resourceLink(link: Link & BlockExtras): LinkBlock {
  return { ...link, type: "resource_link" };
}

/**
 * A complete resource within a result.
 *
 * @example
 * ```ts
 * import { content, embeddedResource } from "troupe/server";
 *
 * content([embeddedResource({ uri: "report://2026-07", mimeType: "text/markdown", text: "# July" })]);
 * ```
 */
export function embeddedResource(resource: ResourceContent, more: BlockExtras = {}): ResourceBlock {
  return { type: "resource", resource: written(resource), ...extras(more) };
}

/**
 * A result of these blocks; a bare string is a text block. `structured` becomes `structuredContent`.
 *
 * @example
 * ```ts
 * import { content, createServer } from "troupe/server";
 * import * as z from "zod";
 *
 * const server = createServer("weather", "1.0.0");
 * const output = z.object({ celsius: z.number() });
 * server.tools.register({ name: "forecast", description: "Tomorrow's weather.", output }, () =>
 *   content(["Sunny, 21 °C."], { celsius: 21 }),
 * );
 * ```
 */
export function content(blocks: readonly (string | Block)[], structured?: Json): Content {
  const made = blocks.map((block) => (typeof block === "string" ? text(block) : block));
  return structured === undefined ? { [CONTENT]: made } : { [CONTENT]: made, structured };
}

/**
 * A tool's failure for the client's model (`isError`).
 *
 * @example
 * ```ts
 * import { createServer, failure } from "troupe/server";
 *
 * const server = createServer("weather", "1.0.0");
 * server.tools.register({ name: "forecast", description: "Tomorrow's weather." }, () =>
 *   failure("The weather service is down. Try again in a minute."),
 * );
 * ```
 */
export function failure(...blocks: readonly (string | Block)[]): Content {
  return { ...content(blocks), isError: true };
}

/**
 * The bytes of a resource with a single content: the URI and the type are those of its definition. Throws `BAD_TURN` for text that is not base64.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { blob, createServer } from "troupe/server";
 *
 * const server = createServer("files", "1.0.0");
 * server.resources.register({ name: "logo", uri: "file:///logo.png", mimeType: "image/png" }, async () => blob(await readFile("logo.png")));
 * ```
 */
export function blob(bytes: Bytes): { readonly [BLOB]: string } {
  if (typeof bytes === "string" && !isBase64(bytes))
    throw new TroupeError("BAD_TURN", "blob() was given text that is not base64, which clients refuse: give it the bytes.");
  return { [BLOB]: base64(bytes) };
}

/**
 * Several contents of a resource, each with its own URI.
 *
 * @example
 * ```ts
 * import { contents, createServer } from "troupe/server";
 *
 * const server = createServer("files", "1.0.0");
 * server.resources.register({ name: "chapters", uri: "book://chapters" }, () =>
 *   contents([
 *     { uri: "book://chapters/1", text: "One" },
 *     { uri: "book://chapters/2", text: "Two" },
 *   ]),
 * );
 * ```
 */
export function contents(parts: readonly ResourceContent[]): Content {
  return { [CONTENT]: parts.map((part) => ({ type: "resource", resource: written(part) })) };
}

/**
 * A prompt's message.
 *
 * @example
 * ```ts
 * import { message, messages } from "troupe/server";
 *
 * messages([message("user", "What is a turn?"), message("assistant", "All that one message changes.")]);
 * ```
 */
export function message(role: "user" | "assistant", body: string | Block): JsonObject {
  return { role, content: typeof body === "string" ? text(body) : body };
}

/**
 * A prompt of several messages.
 *
 * @example
 * ```ts
 * import { createServer, message, messages } from "troupe/server";
 *
 * const server = createServer("prompts", "1.0.0");
 * server.prompts.register({ name: "review", description: "Review a text.", arguments: [{ name: "text", required: true }] }, ({ args }) =>
 *   messages([message("user", `Review this text: ${args["text"]}`)], "A review"),
 * );
 * ```
 */
export function messages(all: readonly JsonObject[], description?: string): JsonObject {
  return { messages: all, ...(description === undefined ? {} : { description }) };
}

function written(resource: ResourceContent): Written {
  const { uri, mimeType, _meta } = resource;
  const about = { uri, ...(mimeType === undefined ? {} : { mimeType }), ...(_meta === undefined ? {} : { _meta }) };
  return "text" in resource ? { ...about, text: resource.text } : { ...about, blob: base64(resource.blob) };
}
