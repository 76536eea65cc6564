import type { Json } from "../contract/index.ts";

/** Where the token is in a request: `params._meta["troupe/authorization"]`, as in the HTTP header. */
export const AUTHORIZATION_KEY = "troupe/authorization";
const KEY_BYTES = Buffer.from(AUTHORIZATION_KEY);

export interface FirstRequest {
  readonly id: string | number | null;
  readonly authorization?: string;
  /** The same message without the token. */
  readonly frame: string;
}

const isBag = (value: unknown): value is Record<string, Json> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Takes the token out of a message, so that nothing behind the door ever holds it. Undefined: this is not a JSON object. */
export function takeToken(line: Uint8Array): FirstRequest | undefined {
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
  } catch {
    return undefined;
  }
  if (!isBag(message)) return undefined;
  const id = typeof message.id === "string" || typeof message.id === "number" ? message.id : null;
  const { params } = message;
  if (!isBag(params) || !isBag(params._meta)) return { id, frame: JSON.stringify(message) };
  const { [AUTHORIZATION_KEY]: authorization, ..._meta } = params._meta;
  const frame = JSON.stringify({ ...message, params: { ...params, _meta } });
  return typeof authorization === "string" ? { id, authorization, frame } : { id, frame };
}

/** Some clients put the same `_meta` on each request: a cheap look says whether a line must be cleaned. */
export const mayHoldToken = (line: Uint8Array): boolean => Buffer.from(line.buffer, line.byteOffset, line.byteLength).includes(KEY_BYTES);
