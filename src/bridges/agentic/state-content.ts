// Owns: how states are read: one as a resource, in pages if it is long, or several at once. Does not own: the states (states.ts).
import { BLOB, CONTENT, type Json, type Reply } from "../../core/contract/index.ts";
import {
  bytesOf,
  dataReply,
  isTrustedContent,
  looksLikeContent,
  MAX_VALUE_LENGTH,
  readBlob,
  toBase64,
  tooLarge,
  withBlobs,
} from "./json-values.ts";
import { callerMessage } from "./service-faults.ts";
import { JSON_TYPE, type StateCell, type StateSnapshot } from "./states.ts";

/** A state as a resource: JSON, text if it has a media type, or bytes as a blob. Several pages if it is long. */
export interface Content {
  readonly snapshot: StateSnapshot;
  readonly pages: readonly Reply[];
  readonly length: number;
}

const contents = new WeakMap<StateSnapshot, Promise<Content>>();

/** The content of a state. Cached with its snapshot, so that pages are cut once. */
export function contentOf(cell: StateCell, pageLength: number): Promise<Content> {
  const snapshot = cell.snapshot();
  let content = contents.get(snapshot);
  if (content === undefined) {
    content = readContent(cell.value, snapshot, pageLength);
    contents.set(snapshot, content);
  }
  return content;
}

/** The whole state, or the ids of its pages if there are several. */
export function stateReply(name: string, { snapshot, pages, length }: Content): Reply {
  const [only] = pages;
  if (only !== undefined && pages.length === 1) return only;
  return { ok: jsonContent({ large: true, length, pages: pages.map((_page, i) => `${name}-${snapshot.revision}-${i + 1}`) }, snapshot) };
}

/** The parts of a page's id. Undefined: it is not one. */
export function parsePageId(id: string): { readonly name: string; readonly revision: number; readonly at: number } | undefined {
  const match = /^(.+)-(\d{1,16})-(\d{1,6})$/s.exec(id);
  return match === null ? undefined : { name: match[1] ?? "", revision: Number(match[2]), at: Number(match[3]) - 1 };
}

async function readContent(value: unknown, snapshot: StateSnapshot, pageLength: number): Promise<Content> {
  if (snapshot.fault !== undefined) throw snapshot.fault;
  const bytes = value instanceof Blob ? await readBlob(value) : bytesOf(value);
  if (bytes !== undefined) {
    const type = value instanceof Blob && value.type !== "" ? value.type : undefined;
    const mimeType = snapshot.mediaType ?? type ?? "application/octet-stream";
    const text = toBase64(bytes);
    // A multiple of four characters, so that each page is valid base64 by itself.
    const pages = slices(text, Math.max(4, 4 * Math.floor(pageLength / 4)));
    return { snapshot, length: bytes.length, pages: pages.map((blob) => ({ ok: { [BLOB]: blob, mimeType } })) };
  }
  const json = await withBlobs(snapshot);
  const isText = typeof json === "string" && snapshot.mediaType !== undefined;
  const text = isText ? json : JSON.stringify(json);
  if (text.length > MAX_VALUE_LENGTH) throw tooLarge(text.length);
  const pages = slices(text, pageLength);
  if (isText || pages.length > 1) return { snapshot, length: text.length, pages: pages.map((page) => ({ ok: page })) };
  return { snapshot, length: text.length, pages: [{ ok: isTrustedContent(value) ? json : jsonContent(json, snapshot) }] };
}

/** A reply that is read as JSON whatever its value: a bare string would be taken for text, and an object might look like MCP content. */
function jsonContent(json: Json, { mimeType }: StateSnapshot): Json {
  const isListed = mimeType === JSON_TYPE;
  if (typeof json !== "string" && isListed && !looksLikeContent(json)) return json;
  return { [CONTENT]: [{ type: "text", text: JSON.stringify(json), ...(isListed ? {} : { mimeType: JSON_TYPE }) }] };
}

function slices(text: string, length: number): readonly string[] {
  const parts: string[] = [];
  let at = 0;
  do {
    let end = Math.min(text.length, at + length);
    // A surrogate pair is not split.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    parts.push(text.slice(at, end));
    at = end;
  } while (at < text.length);
  return parts;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/**
 * Several states at once, by name. States that cannot be read are named in a second block, not among the values, since a state may have
 * any name. An error only if none can be read.
 */
export async function statesReply(snapshots: readonly (readonly [name: string, snapshot: StateSnapshot])[]): Promise<Json> {
  const values: [string, Json][] = [];
  const faults: string[] = [];
  for (const [name, snapshot] of snapshots) {
    try {
      if (snapshot.fault !== undefined) throw snapshot.fault;
      values.push([name, await withBlobs(snapshot)]);
    } catch (error) {
      faults.push(`${name}: ${callerMessage(error, "It")}`);
    }
  }
  const structured = Object.fromEntries(values);
  if (faults.length === 0) return dataReply(structured);
  const texts = [JSON.stringify(structured), `These states cannot be shown. ${faults.join(" ")}`];
  return { [CONTENT]: texts.map((text) => ({ type: "text", text })), structured, isError: values.length === 0 };
}
