// Owns: answers of the function itself, as responses and as last events of a stream.
import { isJsonObject } from "../../core/contract/index.ts";
import type { HttpEvent } from "./event.ts";

/** Status codes of errors that the function itself answers. */
export const REFUSALS = {
  BAD_EVENT: 400,
  NOT_AUTHORIZED: 401,
  HOST_UNKNOWN: 403,
  NO_STREAMS: 405,
  ANSWER_TOO_LARGE: 500,
  FUNCTION_FAILED: 500,
  FUNCTION_DEADLINE: 504,
} as const;

/** Why an event was not served. */
export type LambdaRefusalCode = keyof typeof REFUSALS;

/** Thrown while an event is handled; answered as JSON: `{ error: code, message }`. */
export class LambdaRefusal extends Error {
  override readonly name = "LambdaRefusal";
  readonly code: LambdaRefusalCode;

  constructor(code: LambdaRefusalCode, message: string) {
    super(message);
    this.code = code;
  }

  response(): Response {
    const headers = { "content-type": "application/json", ...(this.code === "NO_STREAMS" ? { allow: "POST, DELETE, OPTIONS" } : {}) };
    return new Response(JSON.stringify({ error: this.code, message: this.message }), { status: REFUSALS[this.code], headers });
  }
}

export const badEvent = (message: string): LambdaRefusal => new LambdaRefusal("BAD_EVENT", message);

/** Longer requests are not parsed again to find their ids. */
const READ_MAX = 1_048_576;
const BLANK_LINE = [10, 10];
/** Error codes of our own end with the HTTP status, as those of the gateway do. */
const OWN = 31_000;

/** Whether the last event that was written is complete. */
export const endsWhole = (tail: Uint8Array | undefined): boolean =>
  tail === undefined || tail.byteLength === 0 || BLANK_LINE.every((byte, at) => tail.at(at - 2) === byte);

/** The last event of a stream whose request will get no reply: an error for it. Undefined if the request has no readable id. */
export function lastEvent(httpEvent: HttpEvent | undefined, response: Response, refusal: LambdaRefusal): string | undefined {
  if (response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") !== true) return undefined;
  const id = requestIdOf(httpEvent);
  if (id === undefined) return undefined;
  const error = { code: -(OWN + REFUSALS[refusal.code]), message: refusal.message, data: { error: refusal.code } };
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`;
}

function requestIdOf(httpEvent: HttpEvent | undefined): string | number | undefined {
  const { body, base64, method } = httpEvent ?? {};
  if (method !== "POST" || body === undefined || body.length > READ_MAX) return undefined;
  try {
    const message: unknown = JSON.parse(base64 === true ? Buffer.from(body, "base64").toString("utf8") : body);
    if (!isJsonObject(message) || typeof message["method"] !== "string") return undefined;
    const { id } = message;
    return typeof id === "number" || (typeof id === "string" && id.isWellFormed()) ? id : undefined;
  } catch {
    return undefined;
  }
}
