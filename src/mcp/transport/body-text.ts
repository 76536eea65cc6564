import type { Answer } from "../../core/contract/index.ts";

const decoder = new TextDecoder();

/** An answer's body as one text: the last message of a stream. */
export function textOf(body: NonNullable<Answer["body"]>): string {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return decoder.decode(body);
  return body.map((piece) => textOf(piece)).join("");
}
