// Owns: writing an answer to node:http, to a bare socket, and as a web response. Does not own: what is answered.
import type { Answer, Clock } from "../../core/contract/index.ts";
import type { ServerResponse } from "node:http";
import { wellFormed } from "../../core/contract/internal.ts";
import { type BodyRequest, STATUS_CODES, joined } from "./http-body.ts";

const decoder = new TextDecoder();

/** An answer's body as one text, as the last message of a stream. */
export function textOf(body: NonNullable<Answer["body"]>): string {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return decoder.decode(body);
  return body.map((piece) => textOf(piece)).join("");
}

const JSON_TYPE = "application/json";

const written = (piece: string | Uint8Array): string | Uint8Array => (typeof piece === "string" ? wellFormed(piece) : piece);

function lengthOf(piece: string | Uint8Array): number {
  return typeof piece === "string" ? Buffer.byteLength(piece) : piece.byteLength;
}

function writtenBody({ body }: Answer): Answer["body"] {
  if (body === undefined) return undefined;
  return typeof body === "string" || body instanceof Uint8Array ? written(body) : body.map(written);
}

/** Writes a complete answer. The parts of a body are written as they are, since they may be cached. */
export function writeAnswer(response: ServerResponse, answer: Answer): void {
  const { headers } = answer;
  const body = writtenBody(answer);
  const head: string[] = [];
  if (body !== undefined && headers?.["content-type"] === undefined) head.push("content-type", JSON_TYPE);
  for (const name in headers) head.push(name, headers[name] ?? "");
  if (body === undefined) {
    if (answer.status !== 204) head.push("content-length", "0");
    response.writeHead(answer.status, head);
    response.end();
  } else if (typeof body === "string" || body instanceof Uint8Array) {
    head.push("content-length", String(lengthOf(body)));
    response.writeHead(answer.status, head);
    response.end(body);
  } else {
    let size = 0;
    for (const piece of body) size += lengthOf(piece);
    head.push("content-length", String(size));
    response.writeHead(answer.status, head);
    response.cork();
    const last = body.length - 1;
    for (let at = 0; at < last; at += 1) response.write(body[at] ?? "");
    // `end()` without data would write an empty chunk more.
    response.end(body[last]);
  }
}

/** An answer as text for a bare socket; the connection ends with it. */
export function lastAnswer({ status, headers, body }: Answer): string {
  const text = typeof body === "string" ? wellFormed(body) : "";
  const all = { "content-type": JSON_TYPE, "content-length": String(lengthOf(text)), ...headers, connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n${text}`;
}

const LINGER_BYTES = 16 * 1_048_576;
// The least a chunk counts: even a small one costs a call.
const LINGER_PIECE_BYTES = 1_024;

/**
 * Refuses an upload that is still being sent. Closing a socket with unread bytes resets it, and the client would lose the answer, so
 * the rest is read and discarded for a moment first.
 */
export function refuseUpload(request: BodyRequest, response: ServerResponse, answer: Answer, lingerMs: number, clock: Clock): void {
  const body = typeof answer.body === "string" ? wellFormed(answer.body) : "";
  const headers = { "content-type": JSON_TYPE, "content-length": Buffer.byteLength(body), ...answer.headers, connection: "close" };
  response.writeHead(answer.status, headers);
  response.write(body);
  let thrownAway = 0;
  let over = false;
  const finish = (): void => {
    if (over) return;
    over = true;
    undo();
    response.end();
  };
  const undo = clock.after(lingerMs, finish);
  request.throwAway((bytes) => {
    thrownAway += Math.max(bytes, LINGER_PIECE_BYTES);
    if (thrownAway > LINGER_BYTES) finish();
  }, finish);
  response.once("close", finish);
}

type Headers = Readonly<Record<string, string>>;

const encoder = new TextEncoder();

function bytesOf(body: NonNullable<Answer["body"]>): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return encoder.encode(wellFormed(body));
  return joined(
    (body instanceof Uint8Array ? [body] : body).map((piece) => (typeof piece === "string" ? encoder.encode(wellFormed(piece)) : piece)),
  );
}

/** A complete answer as a web response. `also`: headers of the transport. */
export function responseOf({ status, headers, body }: Answer, also: Headers, head: boolean): Response {
  if (body === undefined) return new Response(null, { status, headers: { ...headers, ...also } });
  const bytes = bytesOf(body);
  const about = { "content-type": "application/json", "content-length": String(bytes.byteLength) };
  return new Response(head ? null : bytes, { status, headers: { ...about, ...headers, ...also } });
}
