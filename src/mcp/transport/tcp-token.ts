import { isBag } from "../../core/contract/index.ts";
import type { Line } from "./lines.ts";

/** Where the token is: `params._meta["troupe/authorization"]` of a request, `metadata["troupe/authorization"]` of a packet, as in the HTTP header. */
export const AUTHORIZATION_KEY = "troupe/authorization";
const KEY_BYTES = Buffer.from(AUTHORIZATION_KEY);
const PLACES = [`params\n_meta\n${AUTHORIZATION_KEY}`, `metadata\n${AUTHORIZATION_KEY}`];
const DEEPEST = 3;

export interface FirstRequest {
  readonly id: string | number | null;
  readonly authorization?: string;
  /** The same message without the token: otherwise as the client wrote it, so that whoever reads it next can judge it. */
  readonly frame: Line;
}

/** Takes the token out of a message, so that nothing behind the door ever holds it. Undefined: this is not a JSON object. `twice`: one place has two tokens. */
export function takeToken(line: Line): FirstRequest | "twice" | undefined {
  let message: unknown;
  let text: string;
  try {
    text = typeof line === "string" ? line : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
    if (text.startsWith("\ufeff")) text = text.slice(1);
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isBag(message)) return undefined;
  const { id } = message;
  const named = { id: typeof id === "string" || typeof id === "number" ? id : null };
  const found = tokensIn(text);
  if (found.length === 0) return { ...named, frame: line };
  if (new Set(found.map(({ place }) => place)).size < found.length) return "twice";
  const frame = found.reduceRight(without, text);
  const [first] = found.toSorted((one, other) => one.place - other.place);
  const token: unknown = first === undefined ? undefined : JSON.parse(text.slice(first.value, first.end));
  return { ...named, ...(typeof token === "string" ? { authorization: token } : undefined), frame };
}

interface Member {
  /** Of `PLACES`. */
  readonly place: number;
  /** Where its name begins, where its value does, and where that ends. */
  readonly name: number;
  readonly value: number;
  readonly end: number;
}

/** The members that hold a token, in text that is valid JSON. */
function tokensIn(text: string): readonly Member[] {
  const found: Member[] = [];
  const names: string[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text[at];
    if (unit === "{" || unit === "[") {
      depth += 1;
      if (depth <= DEEPEST) names[depth - 1] = "";
    } else if (unit === "}" || unit === "]") depth -= 1;
    else if (unit === '"') {
      const end = endOfString(text, at);
      const colon = afterBlanks(text, end);
      if (depth <= DEEPEST && text[colon] === ":") {
        names[depth - 1] = String(JSON.parse(text.slice(at, end)));
        const place = PLACES.indexOf(names.slice(0, depth).join("\n"));
        const value = afterBlanks(text, colon + 1);
        if (place !== -1) found.push({ place, name: at, value, end: endOfValue(text, value) });
      }
      at = end - 1;
    }
  }
  return found;
}

const BLANKS = /[ \t\r\n]*/y;

function afterBlanks(text: string, at: number): number {
  BLANKS.lastIndex = at;
  BLANKS.test(text);
  return BLANKS.lastIndex;
}

/** Behind the closing quote of the string that begins there. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  for (; at < text.length; at += 1) {
    const unit = text[at];
    if (unit === '"') at = endOfString(text, at) - 1;
    else if (unit === "{" || unit === "[") depth += 1;
    else if (depth === 0 && (unit === "," || unit === "}" || unit === "]")) break;
    else if (unit === "}" || unit === "]") depth -= 1;
  }
  return at;
}

/** Cuts a member with the comma behind it, or before it where it is the last. */
function without(text: string, { name, end }: Member): string {
  const next = afterBlanks(text, end);
  if (text[next] === ",") return text.slice(0, name) + text.slice(next + 1);
  return text.slice(0, name).replace(/,[ \t\r\n]*$/, "") + text.slice(end);
}

/** Some clients put the same `_meta` on each request: a cheap look says whether a line must be cleaned. */
export const mayHoldToken = (line: Line): boolean =>
  typeof line === "string"
    ? line.includes(AUTHORIZATION_KEY)
    : Buffer.from(line.buffer, line.byteOffset, line.byteLength).includes(KEY_BYTES);
