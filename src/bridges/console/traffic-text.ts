// Owns: what is stored of messages and headers: cut to a bound, and without secrets. Does not own: which arguments are secret
// (secret-arguments.ts).

import type { Answer, Exchange } from "../../core/contract/index.ts";
import { cutText } from "../../core/contract/internal.ts";
import { sessionName } from "../../mcp/gateway/session-name.ts";

export const HIDDEN = "[hidden]";
/** Characters of one message that are stored. */
const MAX_TEXT = 65_536;
const MAX_HEADERS = 64;
const MAX_VALUE = 1_024;

/** A text as it is stored. */
export interface StoredText {
  readonly text: string;
  /** In bytes, before it was cut. */
  readonly bytes: number;
  readonly isCut: boolean;
}

const decoder = new TextDecoder();

export function storedText(given: string | Uint8Array): StoredText {
  if (typeof given === "string")
    return { text: withoutToken(cutText(given, MAX_TEXT)), bytes: Buffer.byteLength(given), isCut: given.length > MAX_TEXT };
  const bytes = given.byteLength;
  const text = decoder.decode(bytes > MAX_TEXT ? given.subarray(0, MAX_TEXT) : given);
  return { text: withoutToken(text), bytes, isCut: bytes > MAX_TEXT };
}

/** A token within a message, whose text may be cut. JSON may be written with escaped slashes. */
const TOKEN = /("troupe\\?\/authorization"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)/g;

/** TCP takes the token from the first message only, and only where callers sign in; a client may send it with each. */
const withoutToken = (text: string): string => (text.includes("authorization") ? text.replaceAll(TOKEN, `$1"${HIDDEN}"`) : text);

/** An answer's body, which may be in pieces. */
export function storedBody(body: NonNullable<Answer["body"]>): StoredText {
  if (typeof body === "string" || body instanceof Uint8Array) return storedText(body);
  let [text, bytes, isCut] = ["", 0, false];
  for (const piece of body) {
    const left = MAX_TEXT - text.length;
    const stored = storedText(piece);
    bytes += stored.bytes;
    isCut ||= stored.isCut || stored.text.length > left;
    if (left > 0) text += cutText(stored.text, left);
  }
  return { text, bytes, isCut };
}

const SECRET_HEADER = /authori[sz]ation|cookie|token|secret|password|api-?key|credential/;
const SESSION = "mcp-session-id";

const shown = (name: string, value: string): string =>
  SECRET_HEADER.test(name) ? HIDDEN : name === SESSION ? sessionName(value) : cutText(value, MAX_VALUE);

export function requestHeaders(exchange: Exchange): Readonly<Record<string, string>> {
  const names = (exchange.headerNames ?? [SESSION, "mcp-protocol-version", "accept", "content-type"]).slice(0, MAX_HEADERS);
  return Object.fromEntries(names.map((name) => [name, shown(name, exchange.header(name) ?? HIDDEN)]));
}

export const responseHeaders = (headers: Answer["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, shown(name.toLowerCase(), value)]));
