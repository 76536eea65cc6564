// Owns: events as text: header, body, hash, and the line of an export (docs/design/chain.md). Does not own: what a turn stores (entry.ts).
import { hash } from "node:crypto";
import {
  type JsonObject,
  type Body,
  type ChainEvent,
  type Header,
  isJsonObject,
  isList,
  type Json,
  StoreError,
} from "../contract/index.ts";
import { isAddress, omitUndefined } from "../contract/internal.ts";

/** SHA-256 of a text's UTF-8, as 64 lower-case hex digits. */
export const sha256 = (text: string): string => hash("sha256", text, "hex");

const SAFE = /^[\w./:%~+-]*$/u;
const quoted = (text: string): string => (SAFE.test(text) ? `"${text}"` : JSON.stringify(text));

/** A header's text: fixed keys in fixed order, no space. */
export const headerText = (header: Header): string => textWith(header, header.body);

function textWith(header: Heading, body: string): string {
  const parent = header.parent === null ? "null" : `"${header.parent}"`;
  const cause = header.cause === undefined ? "" : `,"cause":${quoted(header.cause)}`;
  return `{"actor":${quoted(header.actor)},"life":"${header.life}","seq":${header.seq},"parent":${parent},"at":${header.at},"type":${quoted(header.type)}${cause},"body":"${body}"}`;
}

/** A header without the hash of its body. */
type Heading = Omit<Header, "body" | "cause"> & { readonly cause?: string | undefined };

/** The parts of a body; undefined ones are left out. */
type BodyParts = Pick<Body, "version" | "sent"> & { readonly message: Json | object } & {
  readonly [K in "patch" | "state" | "reply" | "record"]?: Json | undefined;
};

/** A body's text: fixed keys in fixed order, no space. One call of `stringify` is faster than one for each part. */
const bodyText = ({ message, patch, state, version, sent, reply, record }: BodyParts): string =>
  JSON.stringify({ message, patch, state, version, sent, reply, record });

/** C7: the id is the SHA-256 of the header's text, which names its parent and the SHA-256 of the body's text. */
export const seal = (header: Heading, body: BodyParts): ChainEvent => sealText(header, bodyText(body));

/** The same for the text of a body. */
export function sealText(header: Heading, text: string): ChainEvent {
  const sealed = textWith(header, sha256(text));
  return { id: sha256(sealed), header: sealed, body: text };
}

const corrupt = (what: string, id: string, cause?: unknown): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    `The ${what} of event ${id} is not one: the file was changed. Verify the chain; restore it from a copy.`,
    { cause },
  );

function parsed(text: string, what: string, id: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw corrupt(what, id, error);
  }
  if (!isJsonObject(value)) throw corrupt(what, id);
  return value;
}

/** Throws `STORE_CORRUPT` if the text is no header. Does not check the hash: `verify` does. */
export function readHeader(event: Pick<ChainEvent, "id" | "header">): Header {
  const { actor, life, seq, parent, at, type, cause, body } = parsed(event.header, "header", event.id);
  if (
    !isAddress(actor) ||
    typeof life !== "string" ||
    typeof seq !== "number" ||
    !(parent === null || typeof parent === "string") ||
    typeof at !== "number" ||
    typeof type !== "string" ||
    !(cause === undefined || typeof cause === "string") ||
    typeof body !== "string"
  )
    throw corrupt("header", event.id);
  return { actor, life, seq, parent, at, type, ...(cause === undefined ? {} : { cause }), body };
}

/** Undefined if the body was erased; throws `STORE_CORRUPT` if its text is no body. */
export function readBody(event: ChainEvent): Body | undefined {
  if (event.body === undefined) return undefined;
  const { message, patch, state, version, sent, reply, record } = parsed(event.body, "body", event.id);
  if (message === undefined || typeof version !== "number" || !isList(sent)) throw corrupt("body", event.id);
  const ids = sent.filter((id) => typeof id === "string");
  if (ids.length !== sent.length) throw corrupt("body", event.id);
  return { message, ...omitUndefined({ patch, state }), version, sent: ids, ...omitUndefined({ reply, record }) };
}

// ── the line of an export ───────────────────────────────────────────────────

const START = '{"id":"';
const HEADER = '","header":';
const BODY = ',"body":';

/** One line of JSON: the id, then header and body exactly as they were hashed, so that `cut`, `sha256sum` and a shell can verify them. */
export function exportLine({ id, header, body }: ChainEvent): string {
  return `${START}${id}${HEADER}${header}${body === undefined ? "" : BODY + body}}`;
}

/** The event in such a line. Throws `STORE_CORRUPT` if there is none. Does not check the hashes: `verify` does. */
export function importLine(line: string): ChainEvent {
  const text = line.endsWith("\n") ? line.slice(0, -1) : line;
  const headerAt = START.length + 64 + HEADER.length;
  const id = text.slice(START.length, START.length + 64);
  const headerEnd = endOfHeader(text, headerAt);
  const header = text.slice(headerAt, headerEnd);
  const rest = text.slice(headerEnd, -1);
  const sound =
    text.startsWith(START) &&
    /^[0-9a-f]{64}$/u.test(id) &&
    text.startsWith(HEADER, START.length + 64) &&
    headerEnd > headerAt &&
    text.endsWith("}") &&
    !text.includes("\n") &&
    (rest === "" || (rest.startsWith(`${BODY}{`) && rest.endsWith("}")));
  if (!sound) throw new StoreError("STORE_CORRUPT", "This line is no exported event: export the chain again.");
  return { id, header, ...(rest === "" ? {} : { body: rest.slice(BODY.length) }) };
}

/** The end of the first `"}` whose quote closes a text: an action may be called `"}`. */
function endOfHeader(text: string, from: number): number {
  for (let at = text.indexOf('"}', from); at >= 0; at = text.indexOf('"}', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at + 2;
  }
  return 0;
}
