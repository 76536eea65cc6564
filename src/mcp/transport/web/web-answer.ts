import type { Answer } from "../../../core/contract/index.ts";
import { wellFormed } from "../../../core/contract/internal.ts";
import { joined } from "../pieces.ts";

type Headers = Readonly<Record<string, string>>;

const encoder = new TextEncoder();

function bytesOf(body: NonNullable<Answer["body"]>): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return encoder.encode(wellFormed(body));
  return joined(
    (body instanceof Uint8Array ? [body] : body).map((piece) => (typeof piece === "string" ? encoder.encode(wellFormed(piece)) : piece)),
  );
}

/** A whole answer as a web response. `also`: headers of the door. */
export function responseOf({ status, headers, body }: Answer, also: Headers, head: boolean): Response {
  if (body === undefined) return new Response(null, { status, headers: { ...headers, ...also } });
  const bytes = bytesOf(body);
  const about = { "content-type": "application/json", "content-length": String(bytes.byteLength) };
  return new Response(head ? null : bytes, { status, headers: { ...about, ...headers, ...also } });
}
