import { type Bag, isBag, type Json } from "../contract/index.ts";
import type { Line } from "./line-splitter.ts";

/** Where the token is: `params._meta["troupe/authorization"]` of a request, `metadata["troupe/authorization"]` of a packet, as in the HTTP header. */
export const AUTHORIZATION_KEY = "troupe/authorization";
const KEY_BYTES = Buffer.from(AUTHORIZATION_KEY);

export interface FirstRequest {
  readonly id: string | number | null;
  readonly authorization?: string;
  /** The same message without the token. */
  readonly frame: string;
}

/** Takes the token out of a message, so that nothing behind the door ever holds it. Undefined: this is not a JSON object, or one too deep to write again. */
export function takeToken(line: Line): FirstRequest | undefined {
  try {
    const message: unknown = JSON.parse(typeof line === "string" ? line : new TextDecoder("utf-8", { fatal: true }).decode(line));
    return isBag(message) ? withoutToken(message) : undefined;
  } catch {
    return undefined;
  }
}

function withoutToken(message: Bag): FirstRequest {
  const { id, params } = message;
  const meta = isBag(params) ? params["_meta"] : undefined;
  const inRequest = without(meta);
  const inPacket = without(message["metadata"]);
  const frame = JSON.stringify({
    ...message,
    ...(isBag(params) && inRequest !== undefined ? { params: { ...params, _meta: inRequest.rest } } : undefined),
    ...(inPacket === undefined ? undefined : { metadata: inPacket.rest }),
  });
  const authorization = inRequest?.token ?? inPacket?.token;
  return {
    id: typeof id === "string" || typeof id === "number" ? id : null,
    ...(typeof authorization === "string" ? { authorization } : undefined),
    frame,
  };
}

function without(place: Json | undefined): { readonly token?: Json; readonly rest: Bag } | undefined {
  if (!isBag(place)) return undefined;
  const { [AUTHORIZATION_KEY]: token, ...rest } = place;
  return token === undefined ? { rest } : { token, rest };
}

/** Some clients put the same `_meta` on each request: a cheap look says whether a line must be cleaned. */
export const mayHoldToken = (line: Line): boolean =>
  typeof line === "string"
    ? line.includes(AUTHORIZATION_KEY)
    : Buffer.from(line.buffer, line.byteOffset, line.byteLength).includes(KEY_BYTES);
