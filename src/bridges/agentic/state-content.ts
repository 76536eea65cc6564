import { BLOB, CONTENT, type Json, type Reply } from "../../core/contract/index.ts";
import { bytesOf, toBase64, bytesIn, filled, MAX_VALUE_LENGTH, tooLarge, isFromActor, isMarked, toReply } from "./json-values.ts";
import type { Look, StateCell } from "./states.ts";
import { wordsOf } from "./faults.ts";

/** How a state is read: its JSON as text, text as it is where a media type says what it is, bytes as a blob; in pages where that is long. */
export interface Content {
  readonly look: Look;
  readonly pages: readonly Reply[];
  readonly length: number;
}

const JSON_TYPE = "application/json";

const made = new WeakMap<Look, Promise<Content>>();

/** Kept with the value it is of, so that pages are cut once. */
export function contentOf(cell: StateCell, pageLength: number): Promise<Content> {
  const look = cell.look();
  let content = made.get(look);
  if (content === undefined) {
    content = cut(cell.value, look, pageLength);
    made.set(look, content);
  }
  return content;
}

/** The whole, or where it is long which pages there are. */
export function stateReply(name: string, { look, pages, length }: Content): Reply {
  const [only] = pages;
  if (only !== undefined && pages.length === 1) return only;
  return { ok: jsonOf({ large: true, length, pages: pages.map((_page, i) => `${name}-${look.revision}-${i + 1}`) }, look) };
}

/** A page's id, read back. */
export function pageOf(id: string): { readonly name: string; readonly revision: number; readonly at: number } | undefined {
  const match = /^(.+)-(\d{1,16})-(\d{1,6})$/s.exec(id);
  return match === null ? undefined : { name: match[1] ?? "", revision: Number(match[2]), at: Number(match[3]) - 1 };
}

async function cut(value: unknown, look: Look, pageLength: number): Promise<Content> {
  if (look.fault !== undefined) throw look.fault;
  const bytes = value instanceof Blob ? await bytesIn(value) : bytesOf(value);
  if (bytes !== undefined) {
    const type = value instanceof Blob && value.type !== "" ? value.type : undefined;
    const mimeType = look.mediaType ?? type ?? "application/octet-stream";
    const text = toBase64(bytes);
    // Whole groups of four: each page is base64 by itself.
    const pages = slices(text, Math.max(4, 4 * Math.floor(pageLength / 4)));
    return { look, length: bytes.length, pages: pages.map((blob) => ({ ok: { [BLOB]: blob, mimeType } })) };
  }
  const plain = await filled(look);
  const isText = typeof plain === "string" && look.mediaType !== undefined;
  const text = isText ? plain : JSON.stringify(plain);
  if (text.length > MAX_VALUE_LENGTH) throw tooLarge(text.length);
  const pages = slices(text, pageLength);
  if (isText || pages.length > 1) return { look, length: text.length, pages: pages.map((page) => ({ ok: page })) };
  return { look, length: text.length, pages: [{ ok: isFromActor(value) ? plain : jsonOf(plain, look) }] };
}

/** JSON that is read as JSON, whatever its value and whatever the state is listed as: a bare string would be taken for text already, a mark for content. */
function jsonOf(plain: Json, { mimeType }: Look): Json {
  const isListed = mimeType === JSON_TYPE;
  if (typeof plain !== "string" && isListed && !isMarked(plain)) return plain;
  return { [CONTENT]: [{ type: "text", text: JSON.stringify(plain), ...(isListed ? {} : { mimeType: JSON_TYPE }) }] };
}

function slices(text: string, length: number): readonly string[] {
  const parts: string[] = [];
  let at = 0;
  do {
    let end = Math.min(text.length, at + length);
    // Half of a character is none.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    parts.push(text.slice(at, end));
    at = end;
  } while (at < text.length);
  return parts;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/**
 * Many states at once, by name. Those that cannot be written are named in a block beside the others, not among them: a state
 * may have any name. An error where that is all there is to tell.
 */
export async function snapshotOf(looks: readonly (readonly [name: string, look: Look])[]): Promise<Json> {
  const values: [string, Json][] = [];
  const faults: string[] = [];
  for (const [name, look] of looks) {
    try {
      if (look.fault !== undefined) throw look.fault;
      values.push([name, await filled(look)]);
    } catch (error) {
      faults.push(`${name}: ${wordsOf(error, "It")}`);
    }
  }
  const structured = Object.fromEntries(values);
  if (faults.length === 0) return toReply(structured);
  const texts = [JSON.stringify(structured), `These states cannot be shown. ${faults.join(" ")}`];
  return { [CONTENT]: texts.map((text) => ({ type: "text", text })), structured, isError: values.length === 0 };
}
