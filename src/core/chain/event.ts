import { hash } from "node:crypto";
import { type Bag, type Body, type ChainEvent, type Header, isBag, isList, type Json, StoreError } from "../contract/index.ts";
import { isAddress } from "../contract/internal.ts";

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

/** What a header says beside its body. */
type Heading = Omit<Header, "body" | "cause"> & { readonly cause?: string | undefined };

/** A body, or what will be one: what is undefined is left away. */
type Told = Pick<Body, "version" | "sent"> & { readonly message: Json | object } & {
  readonly [K in "patch" | "state" | "reply" | "record"]?: Json | undefined;
};

/** A body's text: fixed keys in fixed order, no space. In one go: to write each by itself takes longer. */
const bodyText = ({ message, patch, state, version, sent, reply, record }: Told): string =>
  JSON.stringify({ message, patch, state, version, sent, reply, record });

/** C7: the id is the SHA-256 of the header's text, which names its parent and the SHA-256 of the body's text. */
export const seal = (header: Heading, body: Told): ChainEvent => sealText(header, bodyText(body));

/** The same of a body's text. */
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

function parsed(text: string, what: string, id: string): Bag {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw corrupt(what, id, error);
  }
  if (!isBag(value)) throw corrupt(what, id);
  return value;
}

/** Throws `STORE_CORRUPT` where the text is no header. Does not hash: `verify` does. */
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

/** Undefined where the body was erased; throws `STORE_CORRUPT` where its text is none. */
export function readBody(event: ChainEvent): Body | undefined {
  if (event.body === undefined) return undefined;
  const { message, patch, state, version, sent, reply, record } = parsed(event.body, "body", event.id);
  if (message === undefined || typeof version !== "number" || !isList(sent)) throw corrupt("body", event.id);
  const ids = sent.filter((id) => typeof id === "string");
  if (ids.length !== sent.length) throw corrupt("body", event.id);
  return {
    message,
    ...(patch === undefined ? {} : { patch }),
    ...(state === undefined ? {} : { state }),
    version,
    sent: ids,
    ...(reply === undefined ? {} : { reply }),
    ...(record === undefined ? {} : { record }),
  };
}
