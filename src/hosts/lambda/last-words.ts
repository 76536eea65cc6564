import { isBag } from "../../core/contract/index.ts";
import type { Arrived } from "./arrived.ts";
import { type LambdaRefusal, REFUSALS } from "./refusal.ts";

/** Longer requests are not read again to find the id. */
const READ_MAX = 1_048_576;
const BLANK_LINE = [10, 10];
/** Numbers of our own end in the HTTP status they stand for, as the gateway's do. */
const OWN = 31_000;

/** Whether events that were written end with one that is whole. */
export const endsWhole = (tail: Uint8Array | undefined): boolean =>
  tail === undefined || tail.byteLength === 0 || BLANK_LINE.every((byte, at) => tail.at(at - 2) === byte);

/**
 * What a client that waits on an event stream for its reply is told where there will be none: an error for its request, as the last
 * event. Undefined where no request can be named.
 */
export function lastWords(arrived: Arrived | undefined, response: Response, refusal: LambdaRefusal): string | undefined {
  if (response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") !== true) return undefined;
  const id = requestIdOf(arrived);
  if (id === undefined) return undefined;
  const error = { code: -(OWN + REFUSALS[refusal.code]), message: refusal.message, data: { error: refusal.code } };
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`;
}

function requestIdOf(arrived: Arrived | undefined): string | number | undefined {
  const { body, base64, method } = arrived ?? {};
  if (method !== "POST" || body === undefined || body.length > READ_MAX) return undefined;
  try {
    const message: unknown = JSON.parse(base64 === true ? Buffer.from(body, "base64").toString("utf8") : body);
    if (!isBag(message) || typeof message["method"] !== "string") return undefined;
    const { id } = message;
    return typeof id === "number" || (typeof id === "string" && id.isWellFormed()) ? id : undefined;
  } catch {
    return undefined;
  }
}
